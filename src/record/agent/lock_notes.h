// SPDX-License-Identifier: Apache-2.0
// Notes of releases (hand_over.h) of mutexes: in the mutex itself. The C library has two words there for its list of
// robust mutexes that a thread holds; for all other kinds they are zeros that it neither reads nor writes. So a note is
// in a line of memory that the caller has at hand anyway, needs no lock but the mutex, and goes when the mutex is
// initialised anew.
//
//   Written: before the mutex is released, by who releases it; after it was acquired, by who acquired it.
//   Read:    by who holds the mutex, and by who is about to release it.
//
// A mutex that was initialised anew while nobody held it has no note: whoever uses it from then on has been ordered
// after that by something else. A copy of a mutex has the note of the original, which orders more than is true, never
// less.
//
// A mutex may be released by a thread that did not acquire it here: some programs unlock what another thread locked.
// Who releases and does not find its own mark therefore logs an acquire first.
//
// What has no note is logged call by call: robust mutexes and those of priority protocols, whose words the C library
// uses; mutexes that processes share; rwlocks and spin locks; everything with `record --held-locks`, and
// with a C library newer than those whose code was looked at.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "record/agent/hand_over.h"

namespace deadheat::record {

extern constinit bool note_locks;
// By the version of the C library.
bool can_note_locks();

static_assert(sizeof(ReleaseNote) == sizeof(pthread_mutex_t::__data.__list));
inline ReleaseNote& note_in(pthread_mutex_t* mutex) {
  return *reinterpret_cast<ReleaseNote*>(reinterpret_cast<char*>(mutex) + offsetof(pthread_mutex_t, __data.__list));
}

// Where the note has another mark than the caller's. `detail`: of the record, if every call is logged.
void acquire_slowly(pthread_mutex_t* mutex, const void* code, std::uint8_t detail);
void release_slowly(pthread_mutex_t* mutex, const void* code);
// Of a wait for a condition: the same, except for what is logged call by call.
void wait_begins_slowly(pthread_mutex_t* mutex, const void* condition, const void* code);
void wait_ends_slowly(pthread_mutex_t* mutex, const void* condition, const void* code);

// No thread has the mark kNoReleaseMark in a note: without a log nobody stays here.
inline bool has_own_note(pthread_mutex_t* mutex) {
  return __atomic_load_n(&note_in(mutex).by, __ATOMIC_RELAXED) == own_release_mark;
}
inline void renew_note(pthread_mutex_t* mutex) {
  __atomic_store_n(&note_in(mutex).time, time_before(), __ATOMIC_RELAXED);
}

// After it.
inline void on_acquired(pthread_mutex_t* mutex, const void* code, std::uint8_t detail) {
  if (!has_own_note(mutex)) acquire_slowly(mutex, code, detail);
}
// Before it. A caller who has no right to release does no harm: the note is of its own thread, and later than true.
inline void on_release(pthread_mutex_t* mutex, const void* code) {
  if (!has_own_note(mutex)) return release_slowly(mutex, code);
  renew_note(mutex);
}
inline void on_wait_begin(pthread_mutex_t* mutex, const void* condition, const void* code) {
  if (!has_own_note(mutex)) return wait_begins_slowly(mutex, condition, code);
  renew_note(mutex);
}
inline void on_wait_end(pthread_mutex_t* mutex, const void* condition, const void* code) {
  if (!has_own_note(mutex)) wait_ends_slowly(mutex, condition, code);
}

}  // namespace deadheat::record
