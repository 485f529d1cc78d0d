// SPDX-License-Identifier: Apache-2.0
#include "record/agent/lock_notes.h"

#include <gnu/libc-version.h>
#include <sys/syscall.h>

#include "base/raw_call.h"

namespace deadheat::record {

constinit bool note_locks = false;

namespace {

// Of the C library (pthreadP.h), which has no public names for them: two bits of the kind are the type, 16 robust, 32
// and 64 priorities, 128 shared by processes; those above are for locks by transactional memory.
constexpr int kTypeBits = 3;
constexpr int kUnnotedBits = 16 | 32 | 64 | 128;

int kind_of(const pthread_mutex_t* mutex) { return __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED); }

bool keeps_note(const pthread_mutex_t* mutex) { return note_locks && (kind_of(mutex) & kUnnotedBits) == 0; }

// Such a call fails, and must not touch the note of who holds the mutex. The other types do not look.
bool will_be_refused(const pthread_mutex_t* mutex) {
  const int type = kind_of(mutex) & kTypeBits;
  if (type != PTHREAD_MUTEX_RECURSIVE && type != PTHREAD_MUTEX_ERRORCHECK) return false;
  return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) != raw_call(SYS_gettid);
}

ReleaseNote load_note(pthread_mutex_t* mutex) {
  const ReleaseNote& note = note_in(mutex);
  return {__atomic_load_n(&note.by, __ATOMIC_RELAXED), __atomic_load_n(&note.time, __ATOMIC_RELAXED)};
}

void store_note(pthread_mutex_t* mutex, std::uint64_t time) {
  ReleaseNote& note = note_in(mutex);
  __atomic_store_n(&note.by, own_release_mark, __ATOMIC_RELAXED);
  __atomic_store_n(&note.time, time, __ATOMIC_RELAXED);
}

// False: it has none.
bool note_acquired(pthread_mutex_t* mutex) {
  if (!keeps_note(mutex)) return false;
  log_hand_over(number_of(mutex), load_note(mutex));
  store_note(mutex, 0);
  return true;
}

bool note_release(pthread_mutex_t* mutex) {
  if (!keeps_note(mutex)) return false;
  if (will_be_refused(mutex)) return true;
  log_hand_over(number_of(mutex), load_note(mutex));
  store_note(mutex, time_before());
  return true;
}

bool is_at_most(const char* version, long major, long minor) {
  long numbers[2] = {0, 0};
  int place = 0;
  for (; *version != 0; ++version) {
    if (*version == '.') {
      if (++place == 2) break;
    } else if (*version >= '0' && *version <= '9') {
      numbers[place] = numbers[place] * 10 + (*version - '0');
    } else {
      break;
    }
  }
  return numbers[0] < major || (numbers[0] == major && numbers[1] <= minor);
}

}  // namespace

bool can_note_locks() { return is_at_most(gnu_get_libc_version(), 2, 42); }

void acquire_slowly(pthread_mutex_t* mutex, const void* code, std::uint8_t detail) {
  if (!has_log() || note_acquired(mutex)) return;
  append(log_kind(EventKind::kLockAcquire), detail, number_of(mutex), 0, code, time_after());
}

void release_slowly(pthread_mutex_t* mutex, const void* code) {
  if (!has_log() || note_release(mutex)) return;
  append(log_kind(EventKind::kLockRelease), lock_detail(LockMode::kExclusive), number_of(mutex), 0, code,
         time_before());
}

void wait_begins_slowly(pthread_mutex_t* mutex, const void* condition, const void* code) {
  if (!has_log() || note_release(mutex)) return;
  append(log_kind(EventKind::kCondWaitBegin), 0, number_of(condition), number_of(mutex), code, time_before());
}

void wait_ends_slowly(pthread_mutex_t* mutex, const void* condition, const void* code) {
  if (!has_log() || note_acquired(mutex)) return;
  append(log_kind(EventKind::kCondWaitEnd), 0, number_of(condition), number_of(mutex), code, time_after());
}

}  // namespace deadheat::record
