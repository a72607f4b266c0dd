#include <holdfast/error.hpp>

#include <boost/system/error_category.hpp>

#include <string>
#include <utility>

namespace holdfast {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor" // Boost's own: categories are never destroyed

struct category final : boost::system::error_category {
    constexpr category() noexcept : error_category{0x686f6c6466617374} {}
    const char* name() const noexcept override { return "holdfast"; }
    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
        case errc::timed_out:
            return "waited as long as allowed, and somebody else still holds it";
        case errc::lost:
            return "the lease ended without our release";
        case errc::not_held:
            return "not held";
        case errc::outcome_unknown:
            return "the engine did not answer; the claim is being withdrawn";
        case errc::backend_unavailable:
            return "the engine cannot be reached or cannot work now";
        case errc::backend_refused:
            return "the engine refused";
        case errc::bad_name:
            return "a name is 1 to 1024 bytes of UTF-8 without control characters";
        case errc::bad_option:
            return "an option makes no sense";
        case errc::unsupported:
            return "not supported here";
        case errc::cancelled:
            return "cancelled";
        }
        return "unknown holdfast error";
    }
};

struct condition_category final : boost::system::error_category {
    constexpr condition_category() noexcept : error_category{0x686f6c64636f6e64} {}
    const char* name() const noexcept override { return "holdfast condition"; }
    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
        case condition::try_again:
            return "the same call may succeed later";
        case condition::may_be_held:
            return "the engine may believe that we hold it";
        case condition::bad_input:
            return "the same call can never succeed";
        }
        return "unknown holdfast condition";
    }
    bool equivalent(const error_code& ec, int value) const noexcept override;
};

#pragma GCC diagnostic pop

constexpr category errors;
constexpr condition_category conditions;

bool condition_category::equivalent(const error_code& ec, int value) const noexcept {
    if (ec.category() != errors)
        return false;
    const auto e = static_cast<errc>(ec.value());
    switch (static_cast<condition>(value)) {
    case condition::try_again:
        return e == errc::timed_out || e == errc::outcome_unknown || e == errc::backend_unavailable;
    case condition::may_be_held:
        return e == errc::outcome_unknown;
    case condition::bad_input:
        return e == errc::bad_name || e == errc::bad_option || e == errc::unsupported;
    }
    return false;
}

} // namespace

error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), errors}; }

error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), conditions};
}

error::error(error_code code, std::string sentence)
    : std::system_error{static_cast<std::error_code>(code)}, sentence_{sentence.empty()
                                                                           ? code.message()
                                                                           : std::move(sentence)} {}

void throw_error(error_code code, const std::string& sentence) { throw error{code, sentence}; }

} // namespace holdfast
