#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <string>
#include <system_error>
#include <type_traits>

namespace holdfast {

using boost::system::error_code;
using boost::system::error_condition;

/// What pure code returns when it may fail: a value, or why not.
template <class T> using result = boost::system::result<T>;

/// Why an operation failed. "Contended" is not here: it is an ordinary answer.
enum class errc {
    timed_out = 1,       ///< waited as long as allowed; somebody else holds it
    lost,                ///< the lease ended without our release
    not_held,            ///< released or used what we do not hold
    outcome_unknown,     ///< asked and got no answer; it is being withdrawn in the background
    backend_unavailable, ///< the engine could not be reached, or cannot work now
    backend_refused,     ///< the engine said no: password, rights, a file that is not ours
    bad_name,            ///< not 1 to 1024 bytes of UTF-8 without control characters
    bad_option,          ///< a URL, time or other option that makes no sense
    unsupported,         ///< this engine, or this process after fork(), cannot do it
    cancelled,           ///< the caller cancelled the wait
};

/// What a caller may want to know about an error: test `ec == condition::try_again`.
enum class condition {
    try_again = 1, ///< the same call may succeed later
    may_be_held,   ///< the engine may believe that we hold it, for at most one ttl
    bad_input,     ///< the same call can never succeed
};

[[nodiscard]] error_code make_error_code(errc) noexcept;
[[nodiscard]] error_condition make_error_condition(condition) noexcept;

/// What is thrown: a std::system_error whose what() is one sentence about this very case.
class error : public std::system_error {
public:
    error(error_code code, std::string sentence);
    [[nodiscard]] const char* what() const noexcept override { return sentence_.c_str(); }

private:
    std::string sentence_;
};

/// Throws error; without a sentence of its own, with that of the code.
[[noreturn]] void throw_error(error_code, const std::string& sentence = {});

} // namespace holdfast

template <> struct boost::system::is_error_code_enum<holdfast::errc> : std::true_type {};
template <> struct boost::system::is_error_condition_enum<holdfast::condition> : std::true_type {};

// What is caught has a std::error_code; it is compared in the same words.
template <> struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
template <> struct std::is_error_condition_enum<holdfast::condition> : std::true_type {};
