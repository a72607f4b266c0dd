#pragma once

// A JSON text, written from left to right. Commas are its business, balance is the caller's.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

class json {
public:
    json& begin_object() { return open('{'); }
    json& end_object() { return close('}'); }
    json& begin_array() { return open('['); }
    json& end_array() { return close(']'); }

    json& key(std::string_view);

    json& value(std::string_view);
    json& value(const char* text) { return value(std::string_view{text}); }
    json& value(std::nullptr_t);
    template <std::same_as<bool> Bool> json& value(Bool truth) {
        return literal(truth ? "true" : "false");
    }
    template <std::signed_integral Number> json& value(Number number) {
        return literal(std::to_string(number));
    }

    template <class Value> json& member(std::string_view name, const Value& content) {
        return key(name).value(content);
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    json& open(char bracket);
    json& close(char bracket);
    json& literal(std::string_view);
    void separate();

    std::string text_;
    bool first_ = true; // whether the next thing is the first of its kind: no comma before it
};

} // namespace holdfast::cli
