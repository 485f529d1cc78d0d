// SPDX-License-Identifier: Apache-2.0
// Condition variables of POSIX and C11.
//
// A wait is a release of the mutex before the real call and an acquire after it,
// whatever it returned: libc does both inside, where nobody can intercept them.
// A wait is also a cancellation point, and a cancelled thread owns the mutex
// again when its cleanup handlers run. So the acquire is itself a cleanup
// handler. This file is compiled without exceptions, where pthread_cleanup_push
// is a setjmp to which libc returns in the course of its unwinding: no personality
// routine and no C++ library are needed.
//
// The real functions are those of version GLIBC_2.3.2; the older ones expect
// another layout of pthread_cond_t.
#include <pthread.h>
#include <threads.h>

#include "runtime/foreign_code.h"
#include "runtime/intercept/conditions.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/scheduled.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {
namespace {

// Signalling uses the object, so whoever frees its memory must know that it is over:
// a waiter that was only told by the mutex does not. One word stands for the object.
void report_used(const volatile void* condition, Address code) { report_read(condition, sizeof(Address), code); }

struct Wait {
  Address condition;
  Address mutex;
  Address code;
};

void finish_wait(void* wait) {
  const auto& done = *static_cast<const Wait*>(wait);
  on_wait_finished(self(), done.condition, done.mutex, done.code);
  take_from_sharers(done.mutex, done.code);
}

template <class RealWait>
int wait_on(const volatile void* condition, const volatile void* mutex, Address code, RealWait real_wait) {
  if (!is_observing()) return real_wait();
  Wait wait{address_of(condition), address_of(mutex), code};
  give_to_sharers(wait.mutex, code);
  on_wait_beginning(self(), wait.condition, wait.mutex, code);
  volatile int result = 0;  // survives the return of pthread_cleanup_push by longjmp
  pthread_cleanup_push(finish_wait, &wait);
  result = real_wait();
  pthread_cleanup_pop(1);
  return result;
}

int condition_ended(int result, const volatile void* condition, Address code) {
  if (result == 0 && is_observing()) on_sync_destroyed(self(), address_of(condition), code);
  return result;
}

}  // namespace
}  // namespace deadheat::runtime

// As DEADHEAT_ORIGINAL, for the version of today's pthread_cond_t.
#define DEADHEAT_ORIGINAL_CONDITION(name)                                   \
  DEADHEAT_LOOKED_UP(name, #name "@GLIBC_2.3.2");                           \
  static constinit RealFunction<decltype(replaced_##name)> original_##name; \
  auto* const original = original_##name.get(name_of_##name)

namespace deadheat::runtime {
namespace {

constinit char broadcasts = 0;

}  // namespace

Address foreign_broadcasts() { return address_of(&broadcasts); }

}  // namespace deadheat::runtime

using namespace deadheat::runtime;

// A condition that is made where another one was forgets it.
DEADHEAT_REPLACE(int, pthread_cond_init, pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_init);
  return condition_ended(original(condition, attributes), condition, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_cond_destroy, pthread_cond_t* condition) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_destroy);
  return condition_ended(original(condition), condition, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, pthread_cond_wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_wait);
  return wait_on(condition, mutex, DEADHEAT_CALLER,
                 [=] { return wait_for_others([=] { return original(condition, mutex); }); });
}

DEADHEAT_REPLACE(int, pthread_cond_timedwait, pthread_cond_t* condition, pthread_mutex_t* mutex,
                 const timespec* deadline) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_timedwait);
  return wait_on(condition, mutex, DEADHEAT_CALLER,
                 [=] { return wait_for_others([=] { return original(condition, mutex, deadline); }); });
}

DEADHEAT_REPLACE(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                 const timespec* deadline) {
  DEADHEAT_ORIGINAL(pthread_cond_clockwait);  // newer than the change of layout
  return wait_on(condition, mutex, DEADHEAT_CALLER,
                 [=] { return wait_for_others([=] { return original(condition, mutex, clock, deadline); }); });
}

DEADHEAT_REPLACE(int, pthread_cond_signal, pthread_cond_t* condition) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_signal);
  report_used(condition, DEADHEAT_CALLER);
  if (is_observing()) on_signalling(self(), address_of(condition), DEADHEAT_CALLER);
  schedule_here();
  return original(condition);
}

DEADHEAT_REPLACE(int, pthread_cond_broadcast, pthread_cond_t* condition) {
  DEADHEAT_ORIGINAL_CONDITION(pthread_cond_broadcast);
  if (is_of_ordering_library(DEADHEAT_CALLER) && is_observing()) [[unlikely]]
    on_happens_before(self(), foreign_broadcasts(), DEADHEAT_CALLER);
  report_used(condition, DEADHEAT_CALLER);
  if (is_observing()) on_broadcasting(self(), address_of(condition), DEADHEAT_CALLER);
  schedule_here();
  return original(condition);
}

DEADHEAT_REPLACE(int, cnd_init, cnd_t* condition) {
  DEADHEAT_ORIGINAL(cnd_init);
  return condition_ended(original(condition), condition, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void, cnd_destroy, cnd_t* condition) {
  DEADHEAT_ORIGINAL(cnd_destroy);
  original(condition);
  condition_ended(0, condition, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, cnd_wait, cnd_t* condition, mtx_t* mutex) {
  DEADHEAT_ORIGINAL(cnd_wait);
  return wait_on(condition, mutex, DEADHEAT_CALLER,
                 [=] { return wait_for_others([=] { return original(condition, mutex); }); });
}

DEADHEAT_REPLACE(int, cnd_timedwait, cnd_t* condition, mtx_t* mutex, const timespec* deadline) {
  DEADHEAT_ORIGINAL(cnd_timedwait);
  return wait_on(condition, mutex, DEADHEAT_CALLER,
                 [=] { return wait_for_others([=] { return original(condition, mutex, deadline); }); });
}

DEADHEAT_REPLACE(int, cnd_signal, cnd_t* condition) {
  DEADHEAT_ORIGINAL(cnd_signal);
  report_used(condition, DEADHEAT_CALLER);
  if (is_observing()) on_signalling(self(), address_of(condition), DEADHEAT_CALLER);
  schedule_here();
  return original(condition);
}

DEADHEAT_REPLACE(int, cnd_broadcast, cnd_t* condition) {
  DEADHEAT_ORIGINAL(cnd_broadcast);
  report_used(condition, DEADHEAT_CALLER);
  if (is_observing()) on_broadcasting(self(), address_of(condition), DEADHEAT_CALLER);
  schedule_here();
  return original(condition);
}
