// SPDX-License-Identifier: Apache-2.0
// When code may run that does not check its accesses (pass/two_versions.h): while
// nothing is recorded, and nothing is about to be. Then no access can race with anything that is
// known.
//
// Threads notice when it is over at their next loop, call or function. Who takes it
// back waits kGrace before anything is recorded. A thread that the system has stopped between two
// places where it would notice, and lets go on later, makes the accesses up to the next
// place unseen: a few instructions, at the beginning of a period.
//
// Synchronisation. What threads hand on then is of no use either. Clocks are asked about epochs of
// records only. Every record that will ever be made has an epoch that its thread begins
// after this is over (core/pacer.h), which no clock has now; so a join that is left
// out now would have brought nothing that anybody will ask for, and clocks that are out of date
// order nothing that is recorded. But an operation that was let pass and reads what was released
// in a period would look as if there were no order. When is it known that it does not?
//
// - What gives order away (unlocking, a store) asks before it acts. The word is taken back, and all threads
//   pass a barrier (membarrier(2)), before a period opens. So who has found it set has recorded nothing, and
//   got hold of nothing that was recorded, which others could learn from it, however late it acts.
// - What gets order (a lock, a load) acts first, and asks afterwards. If it has read what was released in a
//   period, the word was taken back before that period began: before the release, hence before what it
//   does next. It finds the word reset, and joins what it has read, or reads again. If the word is still
//   set, whatever it has read is older than any record. What was missed when the system stops the thread
//   between the two is nothing that this operation has read.
// - An operation that does both and cannot be done again (a read-modify-write) is marked instead
//   (UncheckedEvent here, pass/unseen_atomics.h in the program's own code): after the word was taken back, and the
//   barrier, a period begins when no mark is seen.
//
// A store that comes late, in a period that its thread knows nothing of, may leave a variable with the clock of an
// older value: an order too many, which can hide a race of that moment, and never makes one up.
#pragma once

#include <cstdint>

#include "runtime/sampling.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

inline constexpr std::uint64_t kGraceOfUncheckedCode = 50'000;  // nanoseconds

// Before there are threads: whether it may run until somebody says otherwise.
void begin_unchecked_code(bool may_run);
[[nodiscard]] bool may_run_unchecked();
// How often that was changed.
[[nodiscard]] std::uint64_t unchecked_changes();
// Take the registry's lock.
void allow_unchecked_code();
void forbid_unchecked_code();
// The current thread has become known to the registry.
void follow_unchecked_code(ThreadLocal& local);

// An operation of the current thread that hands on order. If is_on(), nobody needs to know;
// nobody begins a period before it is done.
class UncheckedEvent {
 public:
  [[gnu::always_inline]] UncheckedEvent() {
    if (peek(current.runs_unchecked) == 0 || current.inside != 0) [[likely]]
      return;
    ++current.inside;
    ++current.unseen;
    __asm__ volatile("" ::: "memory");  // and the controller's membarrier(2)
    is_on_ = peek(current.runs_unchecked) != 0;
    if (!is_on_) [[unlikely]]
      end();
  }
  [[gnu::always_inline]] ~UncheckedEvent() {
    if (is_on_) end();
  }
  UncheckedEvent(const UncheckedEvent&) = delete;
  UncheckedEvent& operator=(const UncheckedEvent&) = delete;

  [[nodiscard]] bool is_on() const { return is_on_; }

 private:
  [[gnu::always_inline]] void end() {
    __asm__ volatile("" ::: "memory");
    --current.unseen;
    if (--current.inside == 0 && current.pending_signals != 0) [[unlikely]]
      deliver_pending_signals();
  }

  bool is_on_ = false;
};

}  // namespace deadheat::runtime
