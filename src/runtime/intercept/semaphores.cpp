// SPDX-License-Identifier: Apache-2.0
// Semaphores: a post happens before the waits that it, or a later one, lets
// through.
//
// sem_open and sem_close order nothing by themselves: a named semaphore has one
// address as long as anybody has it open, and begins with its first use. Other
// processes may see it (relatives.h).
#include <semaphore.h>

#include <cstdarg>

#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/scheduled.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {
namespace {

int semaphore_ended(int result, sem_t* semaphore, Address code) {
  if (result == 0 && is_observing()) on_sync_destroyed(self(), address_of(semaphore), code);
  return result;
}

int waited(int result, sem_t* semaphore, Address code) {
  if (result == 0 && is_observing()) {
    on_semaphore_waited(self(), address_of(semaphore), code);
    take_from_sharers(address_of(semaphore), code);
  }
  return result;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

// A semaphore that is made where another one was forgets it.
DEADHEAT_REPLACE(int, sem_init, sem_t* semaphore, int sharing, unsigned value) {
  DEADHEAT_ORIGINAL(sem_init);
  return semaphore_ended(original(semaphore, sharing, value), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(sem_t*, sem_open, const char* name, int flags, ...) {
  DEADHEAT_ORIGINAL(sem_open);
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, unsigned);  // rubbish if there is none, and then not looked at
  const auto value = va_arg(rest, unsigned);
  va_end(rest);
  sem_t* const semaphore = original(name, flags, mode, value);
  if (semaphore != SEM_FAILED) note_shared_memory(address_of(semaphore), sizeof(*semaphore));
  return semaphore;
}

DEADHEAT_REPLACE(int, sem_destroy, sem_t* semaphore) {
  DEADHEAT_ORIGINAL(sem_destroy);
  return semaphore_ended(original(semaphore), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, sem_wait, sem_t* semaphore) {
  DEADHEAT_ORIGINAL(sem_wait);
  schedule_here();
  return waited(wait_for_others([&] { return original(semaphore); }), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, sem_trywait, sem_t* semaphore) {
  DEADHEAT_ORIGINAL(sem_trywait);
  return waited(original(semaphore), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, sem_timedwait, sem_t* semaphore, const timespec* deadline) {
  DEADHEAT_ORIGINAL(sem_timedwait);
  return waited(wait_for_others([&] { return original(semaphore, deadline); }), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, sem_clockwait, sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  DEADHEAT_ORIGINAL(sem_clockwait);
  return waited(wait_for_others([&] { return original(semaphore, clock, deadline); }), semaphore, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, sem_post, sem_t* semaphore) {
  DEADHEAT_ORIGINAL(sem_post);
  if (is_observing()) {
    give_to_sharers(address_of(semaphore), DEADHEAT_CALLER);
    on_semaphore_posting(self(), address_of(semaphore), DEADHEAT_CALLER);
  }
  schedule_here();
  return original(semaphore);
}
