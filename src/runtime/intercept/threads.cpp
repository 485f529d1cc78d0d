// SPDX-License-Identifier: Apache-2.0
// Threads: creation, join, detach and names, of POSIX and of C11.
//
// The creator announces the child before the real creation and opens no scope
// across anything that blocks: a thread that is cancelled in pthread_join leaves
// nothing behind. Creation itself does not block, so all of it is one scope; a
// signal handler of the program cannot run between the real creation and the
// registration of the handle, on which the child waits.
//
// pthread_exit and thrd_exit are not intercepted: see thread_ends.cpp. A cancelled
// thread unwinds out of a real function that was called outside of any scope;
// conditions.cpp shows the one case with state, cancellation.cpp what is done for
// threads that may be cancelled at any time.
#include <pthread.h>
#include <threads.h>

#include "runtime/intercept/replace.h"
#include "runtime/intercept/scheduled.h"
#include "runtime/intercept/signal_mask.h"
#include "runtime/intercept/thread_start.h"
#include "runtime/on_thread.h"

namespace deadheat::runtime {
namespace {

void* run_posix_thread(void* start) {
  const ThreadStart::Call call = static_cast<ThreadStart*>(start)->begin();
  schedule_here();
  return call.function.posix(call.argument);
}

int run_c11_thread(void* start) {
  const ThreadStart::Call call = static_cast<ThreadStart*>(start)->begin();
  schedule_here();
  return call.function.c11(call.argument);
}

Detached detached_state(const pthread_attr_t* attributes) {
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
  return state == PTHREAD_CREATE_DETACHED ? Detached::kYes : Detached::kNo;
}

bool has_own_mask(const pthread_attr_t* attributes) {
  sigset_t mask;
  return attributes != nullptr && pthread_attr_getsigmask_np(attributes, &mask) == 0;
}

// Runs the real creation with all signals blocked, so that the child begins so;
// see thread_start.cpp.
template <class RealCreate>
int create_blocked(ThreadStart* start, const pthread_attr_t* attributes, RealCreate real_create) {
  const AllSignalsBlocked blocked;
  start->note_stack(attributes);
  if (!has_own_mask(attributes)) start->unblock_in_child(blocked.before());
  return real_create();
}

// A join in three steps: who is it, the real join, what it orders. The handle may
// name another thread as soon as the real join has returned.
template <class RealJoin>
int join_thread(pthread_t handle, Address code, RealJoin real_join) {
  if (!is_observing()) return real_join();
  ThreadState* const child = find_thread(handle);
  const int result = real_join();
  if (result == 0 && child != nullptr) on_joined(self(), child, handle, code);
  return result;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                 void* argument) {
  DEADHEAT_ORIGINAL(pthread_create);
  if (!is_observing()) return original(thread, attributes, function, argument);
  const RuntimeScope scope;
  ThreadStart::Function start_function;
  start_function.posix = function;
  ThreadStart* const start =
      ThreadStart::announce(self(), detached_state(attributes), start_function, argument, DEADHEAT_CALLER);
  if (start == nullptr) return original(thread, attributes, function, argument);
  const int result =
      create_blocked(start, attributes, [&] { return original(thread, attributes, run_posix_thread, start); });
  if (result == 0) {
    start->created(self(), *thread);
  } else {
    start->abandon(self());
  }
  return result;
}

DEADHEAT_REPLACE(int, thrd_create, thrd_t* thread, thrd_start_t function, void* argument) {
  DEADHEAT_ORIGINAL(thrd_create);
  if (!is_observing()) return original(thread, function, argument);
  const RuntimeScope scope;
  ThreadStart::Function start_function;
  start_function.c11 = function;
  ThreadStart* const start = ThreadStart::announce(self(), Detached::kNo, start_function, argument, DEADHEAT_CALLER);
  if (start == nullptr) return original(thread, function, argument);
  const int result = create_blocked(start, nullptr, [&] { return original(thread, run_c11_thread, start); });
  if (result == thrd_success) {
    start->created(self(), *thread);
  } else {
    start->abandon(self());
  }
  return result;
}

DEADHEAT_REPLACE(int, pthread_join, pthread_t thread, void** value) {
  DEADHEAT_ORIGINAL(pthread_join);
  return join_thread(thread, DEADHEAT_CALLER, [&] { return wait_for_others([&] { return original(thread, value); }); });
}

DEADHEAT_REPLACE(int, pthread_tryjoin_np, pthread_t thread, void** value) {
  DEADHEAT_ORIGINAL(pthread_tryjoin_np);
  return join_thread(thread, DEADHEAT_CALLER, [&] { return original(thread, value); });
}

DEADHEAT_REPLACE(int, pthread_timedjoin_np, pthread_t thread, void** value, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_timedjoin_np);
  return join_thread(thread, DEADHEAT_CALLER,
                     [&] { return wait_for_others([&] { return original(thread, value, deadline); }); });
}

DEADHEAT_REPLACE(int, pthread_clockjoin_np, pthread_t thread, void** value, clockid_t clock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_clockjoin_np);
  return join_thread(thread, DEADHEAT_CALLER,
                     [&] { return wait_for_others([&] { return original(thread, value, clock, deadline); }); });
}

DEADHEAT_REPLACE(int, thrd_join, thrd_t thread, int* value) {
  DEADHEAT_ORIGINAL(thrd_join);
  return join_thread(thread, DEADHEAT_CALLER, [&] { return wait_for_others([&] { return original(thread, value); }); });
}

// Before the real function: a thread that has finished is gone with it, and its
// handle may be another's. Detaching fails only for threads that are detached,
// joined or unknown, none of which the announcement changes.
DEADHEAT_REPLACE(int, pthread_detach, pthread_t thread) {
  DEADHEAT_ORIGINAL(pthread_detach);
  if (is_observing()) on_detached(self(), thread, DEADHEAT_CALLER);
  return original(thread);
}

DEADHEAT_REPLACE(int, thrd_detach, thrd_t thread) {
  DEADHEAT_ORIGINAL(thrd_detach);
  if (is_observing()) on_detached(self(), thread, DEADHEAT_CALLER);
  return original(thread);
}

DEADHEAT_REPLACE(int, pthread_setname_np, pthread_t thread, const char* name) {
  DEADHEAT_ORIGINAL(pthread_setname_np);
  const int result = original(thread, name);
  if (result == 0 && is_observing()) on_thread_named(pthread_equal(thread, pthread_self()) != 0 ? 0 : thread, name);
  return result;
}
