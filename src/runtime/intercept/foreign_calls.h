// SPDX-License-Identifier: Apache-2.0
// Wrappers of libraries that were not built with detection, as rows.
//
//   DEADHEAT_FOREIGN("libglib-2", g_mutex_lock, , lock(a))
//
// names what is done before the call and after it, in terms of the parameters a to f and the `result`. All are
// passed on as words, which is right for every function whose parameters and result are whole
// numbers and pointers. Nothing with a destructor lives across the call.
#pragma once

#include <cstdint>

#include "runtime/intercept/library_calls.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {

// The work that one call does for the order of threads.
class ForeignOrder {
 public:
  explicit ForeignOrder(Address code) : code_(code) {}

  void give(Address tag) const {
    if (tag != 0 && is_observing()) on_happens_before(self(), tag, code_);
  }
  void take(Address tag) const {
    if (tag != 0 && is_observing()) on_happens_after(self(), tag, code_);
  }
  void lock(Address lock) const { lock_in(lock, LockMode::kExclusive, LockAttempt::kBlocking); }
  void try_lock(Address lock, bool has_succeeded) const {
    if (has_succeeded) lock_in(lock, LockMode::kExclusive, LockAttempt::kTry);
  }
  void lock_shared(Address lock) const { lock_in(lock, LockMode::kShared, LockAttempt::kBlocking); }
  void try_lock_shared(Address lock, bool has_succeeded) const {
    if (has_succeeded) lock_in(lock, LockMode::kShared, LockAttempt::kTry);
  }
  void unlock(Address lock) const {
    if (is_observing()) on_lock_releasing(self(), lock, code_);
  }
  void end_lock(Address lock) const {
    if (is_observing()) on_lock_destroyed(self(), lock, code_);
  }

 private:
  void lock_in(Address lock, LockMode mode, LockAttempt attempt) const {
    if (is_observing()) on_lock_acquired(self(), lock, mode, attempt, code_);
  }

  Address code_;
};

using ForeignWord = std::uint64_t;

[[nodiscard]] inline bool is_true_int(ForeignWord result) { return static_cast<std::uint32_t>(result) != 0; }
[[nodiscard]] inline bool is_true(ForeignWord result) { return static_cast<std::uint8_t>(result) != 0; }

}  // namespace deadheat::runtime

#define DEADHEAT_FOREIGN(library, name, before, after)                                                     \
  DEADHEAT_LIBRARY_CALL(library, ::deadheat::runtime::ForeignWord, name, [[maybe_unused]] std::uint64_t a, \
                        [[maybe_unused]] std::uint64_t b, [[maybe_unused]] std::uint64_t c,                \
                        [[maybe_unused]] std::uint64_t d, [[maybe_unused]] std::uint64_t e,                \
                        [[maybe_unused]] std::uint64_t f) {                                                \
    DEADHEAT_BEHIND(name);                                                                                 \
    [[maybe_unused]] const ::deadheat::runtime::ForeignOrder order(DEADHEAT_CALLER);                       \
    before;                                                                                                \
    [[maybe_unused]] const std::uint64_t result = behind(a, b, c, d, e, f);                                \
    after;                                                                                                 \
    return result;                                                                                         \
  }
