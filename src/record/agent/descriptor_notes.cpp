// SPDX-License-Identifier: Apache-2.0
#include "record/agent/descriptor_notes.h"

namespace deadheat::record {

DEADHEAT_TOGETHER constinit std::uint32_t writers = 0;
thread_local constinit std::uint32_t own_place = kNoPlaceYet;

namespace {

constexpr std::size_t kPlaces = 4096;
// By writers, then by things: what one thread writes is in as few pages as can be.
//   Written: by the writer.
//   Read:    by who got bytes, after those were written.
alignas(4096) constinit std::uint64_t written[kMostWriters][kPlaces] = {};

// A line for each writer, written all the time.
struct alignas(64) LatestWrite {
  std::uint64_t time;
};
DEADHEAT_TOGETHER constinit LatestWrite latest_writes[kMostWriters] = {};
// Of the writers; set once, before the first time.
alignas(64) DEADHEAT_TOGETHER constinit std::uint64_t writer_marks[kMostWriters] = {};
// Counts writes; volatile, for signal handlers of the thread.
thread_local constinit volatile std::uint32_t own_writes __attribute__((tls_model("initial-exec"))) = 0;

std::size_t place_of(std::uint64_t thing) { return (thing ^ thing >> 32U) % kPlaces; }
// What a place is called in the log: far from addresses, which name other objects.
std::uint64_t object_of(std::size_t place) { return 1ULL << 63U | place; }

void take_place() {
  const std::uint32_t place = __atomic_fetch_add(&writers, 1U, __ATOMIC_RELAXED);
  if (place < kMostWriters) {
    __atomic_store_n(&writer_marks[place], own_release_mark, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_sub(&writers, place - kMostWriters, __ATOMIC_RELAXED);  // stays at one more than there are places
  }
  own_place = place + 1;
}

bool are_too_many() { return __atomic_load_n(&writers, __ATOMIC_RELAXED) > kMostWriters; }

// time_of(writer): of its latest write.
template <class TimeOf>
void take_notes(std::uint64_t object, const TimeOf& time_of) {
  const std::uint32_t count = __atomic_load_n(&writers, __ATOMIC_RELAXED);
  for (std::uint32_t writer = 0; writer < count && writer < kMostWriters; ++writer) {
    if (writer + 1 == own_place) continue;
    const std::uint64_t time = __atomic_load_n(&time_of(writer), __ATOMIC_RELAXED);
    if (time != 0) log_hand_over(object, {__atomic_load_n(&writer_marks[writer], __ATOMIC_RELAXED), time});
  }
}

}  // namespace

void note_written(std::uint64_t thing, const void* code) {
  if (own_place == kNoPlaceYet) take_place();
  const std::size_t place = place_of(thing);
  if (own_place > kMostWriters) return append(LogKind::kWritten, 0, object_of(place), 0, code, time_before());
  const std::size_t writer = own_place - 1;
  std::uint32_t turn = 0;
  // A signal handler that writes in the middle has a later time, which must not be overwritten.
  do {
    turn = own_writes;
    const std::uint64_t time = time_before();
    __atomic_store_n(&latest_writes[writer].time, time, __ATOMIC_RELAXED);
    __atomic_store_n(&written[writer][place], time, __ATOMIC_RELAXED);
  } while (own_writes != turn);
  own_writes = turn + 1;
}

void note_read(std::uint64_t thing, const void* code) {
  if (!has_log() || nobody_else_writes()) return;
  const std::size_t place = place_of(thing);
  take_notes(object_of(place), [place](std::uint32_t writer) -> auto& { return written[writer][place]; });
  if (are_too_many()) append(LogKind::kRead, 0, object_of(place), 0, code, time_after());
}

void note_waited(const void* code) {
  if (!has_log() || nobody_else_writes()) return;
  take_notes(kAnyDescriptor, [](std::uint32_t writer) -> auto& { return latest_writes[writer].time; });
  if (are_too_many()) append(LogKind::kPolled, 0, 0, 0, code, time_after());
}

}  // namespace deadheat::record
