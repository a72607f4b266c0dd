#include "vault.hpp"

namespace holdfast::cli::ordeal {

vault_answer vault::ask(const vault_question& question, std::uint32_t worker) {
    if (question.fence < highest_) {
        ++refused_;
        return {.accepted = 0, .value = 0};
    }
    highest_ = question.fence;
    if (question.what == vault_question::verb::write) {
        value_ = question.value;
        log_.push_back({.fence = question.fence, .value = value_, .worker = worker});
    }
    return {.accepted = 1, .value = value_};
}

} // namespace holdfast::cli::ordeal
