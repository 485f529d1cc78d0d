// SPDX-License-Identifier: Apache-2.0
// libgomp's locks and what hands on order between iterations: critical sections, atomic sections,
// locks of the program, ordered sections, and loops whose iterations wait for others.
//
// Which iteration a wait is for is not looked at: all that was posted in the team before
// counts. That can hide a race between iterations, and makes none up.
#include <cstdarg>

#include "runtime/intercept/gomp_team.h"
#include "runtime/intercept/library_calls.h"

namespace deadheat::runtime {
namespace {

// The sections without a name are one lock, and the atomic sections another.
constinit char unnamed_section = 0;
constinit char atomic_section = 0;

void locked(const volatile void* lock, LockAttempt attempt, Address code) {
  if (is_observing()) on_lock_acquired(self(), address_of(lock), LockMode::kExclusive, attempt, code);
}
void unlocking(const volatile void* lock, Address code) {
  if (is_observing()) on_lock_releasing(self(), address_of(lock), code);
}
void lock_begins(const volatile void* lock, Address code) {
  if (is_observing()) on_lock_created(self(), address_of(lock), code);
}
void lock_ends(const volatile void* lock, Address code) {
  if (is_observing()) on_lock_destroyed(self(), address_of(lock), code);
}

OrderTag* tag_of_team(OrderTag GompTeam::* member) {
  GompTask* const task = current_gomp_task();
  return task != nullptr ? &(task->team->*member) : nullptr;
}

void post(Address code) {
  if (OrderTag* const posts = tag_of_team(&GompTeam::loop_posts)) posts->give(code);
}
void waited(Address code) {
  if (OrderTag* const posts = tag_of_team(&GompTeam::loop_posts)) posts->take(code);
}

// The further arguments of a wait, as many as loops are nested. How many that is was said elsewhere, so
// as many are handed on as anybody writes; what is too much is not looked at.
constexpr int kNestedLoops = 12;
template <class Number>
struct Iterations {
  Number of[kNestedLoops];
  explicit Iterations(std::va_list list) {
    for (Number& each : of) each = va_arg(list, Number);
  }
};

template <class Number, class Behind>
void wait_for_iteration(Behind behind, Number first, const Iterations<Number>& more, Address code) {
  const Number* const at = more.of;
  behind(first, at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9], at[10], at[11]);
  waited(code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;
using deadheat::LockAttempt;

#define GOMP_CALL(result, name, ...) DEADHEAT_LIBRARY_CALL("libgomp", result, name, __VA_ARGS__)

GOMP_CALL(void, GOMP_critical_start) {
  DEADHEAT_BEHIND(GOMP_critical_start);
  behind();
  locked(&unnamed_section, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
GOMP_CALL(void, GOMP_critical_end) {
  DEADHEAT_BEHIND(GOMP_critical_end);
  unlocking(&unnamed_section, DEADHEAT_CALLER);
  behind();
}
GOMP_CALL(void, GOMP_critical_name_start, void** section) {
  DEADHEAT_BEHIND(GOMP_critical_name_start);
  behind(section);
  locked(section, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
GOMP_CALL(void, GOMP_critical_name_end, void** section) {
  DEADHEAT_BEHIND(GOMP_critical_name_end);
  unlocking(section, DEADHEAT_CALLER);
  behind(section);
}
GOMP_CALL(void, GOMP_atomic_start) {
  DEADHEAT_BEHIND(GOMP_atomic_start);
  behind();
  locked(&atomic_section, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
GOMP_CALL(void, GOMP_atomic_end) {
  DEADHEAT_BEHIND(GOMP_atomic_end);
  unlocking(&atomic_section, DEADHEAT_CALLER);
  behind();
}

GOMP_CALL(void, GOMP_ordered_start) {
  DEADHEAT_BEHIND(GOMP_ordered_start);
  behind();
  if (OrderTag* const ordered = tag_of_team(&GompTeam::ordered)) ordered->take(DEADHEAT_CALLER);
}
GOMP_CALL(void, GOMP_ordered_end) {
  DEADHEAT_BEHIND(GOMP_ordered_end);
  if (OrderTag* const ordered = tag_of_team(&GompTeam::ordered)) ordered->give(DEADHEAT_CALLER);
  behind();
}

GOMP_CALL(void, GOMP_doacross_post, long* counts) {
  DEADHEAT_BEHIND(GOMP_doacross_post);
  post(DEADHEAT_CALLER);
  behind(counts);
}
GOMP_CALL(void, GOMP_doacross_ull_post, unsigned long long* counts) {
  DEADHEAT_BEHIND(GOMP_doacross_ull_post);
  post(DEADHEAT_CALLER);
  behind(counts);
}
GOMP_CALL(void, GOMP_doacross_wait, long first, ...) {
  DEADHEAT_BEHIND(GOMP_doacross_wait);
  std::va_list list;
  va_start(list, first);
  wait_for_iteration(behind, first, Iterations<long>(list), DEADHEAT_CALLER);
  va_end(list);
}
GOMP_CALL(void, GOMP_doacross_ull_wait, unsigned long long first, ...) {
  DEADHEAT_BEHIND(GOMP_doacross_ull_wait);
  std::va_list list;
  va_start(list, first);
  wait_for_iteration(behind, first, Iterations<unsigned long long>(list), DEADHEAT_CALLER);
  va_end(list);
}

#define GOMP_LOCK_CALLS(kind)                                          \
  GOMP_CALL(void, omp_init_##kind, void* lock) {                       \
    DEADHEAT_BEHIND(omp_init_##kind);                                  \
    behind(lock);                                                      \
    lock_begins(lock, DEADHEAT_CALLER);                                \
  }                                                                    \
  GOMP_CALL(void, omp_destroy_##kind, void* lock) {                    \
    DEADHEAT_BEHIND(omp_destroy_##kind);                               \
    lock_ends(lock, DEADHEAT_CALLER);                                  \
    behind(lock);                                                      \
  }                                                                    \
  GOMP_CALL(void, omp_set_##kind, void* lock) {                        \
    DEADHEAT_BEHIND(omp_set_##kind);                                   \
    behind(lock);                                                      \
    locked(lock, LockAttempt::kBlocking, DEADHEAT_CALLER);             \
  }                                                                    \
  GOMP_CALL(void, omp_unset_##kind, void* lock) {                      \
    DEADHEAT_BEHIND(omp_unset_##kind);                                 \
    unlocking(lock, DEADHEAT_CALLER);                                  \
    behind(lock);                                                      \
  }                                                                    \
  GOMP_CALL(int, omp_test_##kind, void* lock) {                        \
    DEADHEAT_BEHIND(omp_test_##kind);                                  \
    const int result = behind(lock);                                   \
    if (result != 0) locked(lock, LockAttempt::kTry, DEADHEAT_CALLER); \
    return result;                                                     \
  }
GOMP_LOCK_CALLS(lock)
GOMP_LOCK_CALLS(nest_lock)
