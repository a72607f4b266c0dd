#pragma once

#include <holdfast/backend.hpp>

#include <memory>

namespace holdfast::memory {

/// Locks that live in this process: the reference engine, and what unit tests want.
class store;

/// A store that several clients may share.
[[nodiscard]] std::shared_ptr<store> make_store();

/// An engine on a store; without one, on a store of its own.
[[nodiscard]] std::unique_ptr<backend> make(std::shared_ptr<store> on = {});

} // namespace holdfast::memory
