// SPDX-License-Identifier: Apache-2.0
// Scheduling: in a run of `deadheat hunt` a strategy (schedule/scheduler.h) decides who
// goes first where threads synchronise. Here is what it takes to ask it and to obey: which
// call and which lock it is, in names that the next run knows as well; the waiting; the
// end of a run that is deadlocked.
//
// A program that nobody schedules pays a flag per lock operation.
//
// Nobody waits longer than the option schedule_limit_us says, and less once much of the
// run was waited for nothing. Attempts that have a time limit of their own are not held up.
// Signal handlers run while a thread is suspended; what they do is
// not scheduled.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/event.h"
#include "model/identity.h"

namespace deadheat::runtime {

struct ThreadState;

// Of one thread.
struct ThreadSchedule {
  std::atomic<std::uint32_t> may_go{0};  // futex; written with the scheduler's lock held
  bool is_waiting = false;               // a signal handler that comes now is not asked about
  std::uint32_t ancestry = 0;            // the how manieth child of whom, as a hash
  std::uint32_t children = 0;
  std::uint64_t origin = 0;  // name of the calls that created it, and of what it runs
  // The calls that were open in its creator, innermost first: they trigger what it does.
  static constexpr std::uint32_t kCreatorCalls = 12;
  std::uint64_t creator_calls[kCreatorCalls] = {};  // names
  std::uint32_t creator_call_count = 0;
  Address wanted_at = 0;  // where it asked for a lock last; the scheduler's lock
};

// The program is scheduled. Changes only in the child of a fork, which is not.
[[gnu::visibility("hidden")]] extern bool is_scheduled;

// As the options say. The main thread is registered, and is alone.
void set_up_scheduling(ThreadState& main);
void forget_scheduling();

void schedule_new_thread(ThreadState& parent, ThreadState& child, Address function, const void* argument);
void schedule_end_of_thread(ThreadState& thread);

// Each is called only if the program is scheduled, outside of a RuntimeScope if it may wait.
// Before the real call for a lock: may wait. Ends the process if this completes a deadlock.
void schedule_request(ThreadState& self, Address lock, LockMode mode, LockAttempt attempt, Address code);
// The real call is over, and did not get the lock.
void schedule_no_lock(ThreadState& self);
void schedule_acquired(ThreadState& self, Address lock, LockMode mode);
void schedule_released(ThreadState& self, Address lock);
// The lock is made, or is no more: nobody holds it.
void schedule_new_lock(Address lock);
// Before any other synchronisation: may wait.
void schedule_point(ThreadState& self);

// Around a real call that waits for other threads.
class ScheduledWait {
 public:
  // `place`: lets all threads go at once that wait there; 0: it does not.
  explicit ScheduledWait(ThreadState& self, Address place = 0) : self_(self), place_(place) {
    if (is_scheduled) [[unlikely]]
      begin();
  }
  ~ScheduledWait() {
    if (is_scheduled) [[unlikely]]
      end();
  }
  ScheduledWait(const ScheduledWait&) = delete;
  ScheduledWait& operator=(const ScheduledWait&) = delete;

 private:
  void begin();
  void end();
  ThreadState& self_;
  Address place_;
};

}  // namespace deadheat::runtime
