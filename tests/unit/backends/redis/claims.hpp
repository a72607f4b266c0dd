#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <string>

namespace holdfast::redis::test {

[[nodiscard]] inline nonce nonce_of(unsigned char n) {
    nonce made;
    made.bytes.fill(n);
    return made;
}

[[nodiscard]] inline claim claim_of(std::string name, unsigned char n = 1) {
    claim made;
    made.name = std::move(name);
    made.ttl = std::chrono::seconds{30};
    made.nonce = nonce_of(n);
    return made;
}

[[nodiscard]] inline claim fair_claim(std::string name, unsigned char n = 1) {
    auto made = claim_of(std::move(name), n);
    made.kind = kind::fair;
    return made;
}

[[nodiscard]] inline claim writing(std::string name, unsigned char n = 1) {
    auto made = claim_of(std::move(name), n);
    made.kind = kind::read_write;
    return made;
}

[[nodiscard]] inline claim reading(std::string name, unsigned char n = 1) {
    auto made = writing(std::move(name), n);
    made.mode = mode::shared;
    return made;
}

[[nodiscard]] inline claim permit(std::string name, std::uint32_t of, unsigned char n = 1) {
    auto made = claim_of(std::move(name), n);
    made.kind = kind::permits;
    made.mode = mode::permit;
    made.permits = of;
    return made;
}

} // namespace holdfast::redis::test
