// SPDX-License-Identifier: Apache-2.0
#include "record/agent/descriptor_notes.h"

namespace deadheat::record {

constinit std::uint32_t writers = 0;
thread_local constinit std::uint32_t own_place = kNoPlaceYet;

namespace {

constexpr std::uint64_t kNobodys = 2;  // neither a mark nor "nobody yet"
constexpr std::size_t kPlaces = 4096;
constinit ReleaseNote written[kPlaces] = {};

// Lines of memory of their own: each is written all the time by one thread.
struct alignas(64) LatestWrite {
  ReleaseNote note;
};
constinit LatestWrite latest_writes[kMostWriters] = {};
// Counts writes; volatile, for signal handlers of the thread.
thread_local constinit volatile std::uint32_t own_writes __attribute__((tls_model("initial-exec"))) = 0;

std::size_t place_of(std::uint64_t thing) { return (thing ^ thing >> 32U) % kPlaces; }
// What a place is called in the log: far from addresses, which name other objects.
std::uint64_t object_of(std::size_t place) { return 1ULL << 63U | place; }

ReleaseNote load_note(const ReleaseNote& note) {
  // The mark first: who reads the owner's bytes finds at least the time of those bytes.
  const std::uint64_t by = __atomic_load_n(&note.by, __ATOMIC_RELAXED);
  return {by, __atomic_load_n(&note.time, __ATOMIC_RELAXED)};
}

void take_place() {
  const std::uint32_t place = __atomic_fetch_add(&writers, 1U, __ATOMIC_RELAXED);
  own_place = place + 1;
  if (place < kMostWriters) {
    __atomic_store_n(&latest_writes[place].note.by, own_release_mark, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_sub(&writers, place - kMostWriters, __ATOMIC_RELAXED);  // stays at one more than there are places
  }
}

bool are_too_many() { return __atomic_load_n(&writers, __ATOMIC_RELAXED) > kMostWriters; }

// For who waits. False: it must be logged.
bool note_latest(std::uint64_t time) {
  if (own_place == kNoPlaceYet) take_place();
  if (are_too_many()) return false;
  __atomic_store_n(&latest_writes[own_place - 1].note.time, time, __ATOMIC_RELAXED);
  return true;
}

// The owner's latest write goes into the caller's log: before others find the place changed, and again if there
// was one more until then.
void make_nobodys(ReleaseNote& note, std::uint64_t owner, std::uint64_t object) {
  const auto log_owners = [&](std::uint64_t time) {
    if (time == 0) return;
    append(LogKind::kReleasedBy, 0, object, 0, reinterpret_cast<const void*>(std::uint64_t{thread_of_mark(owner)}),
           time);
  };
  const std::uint64_t before = __atomic_load_n(&note.time, __ATOMIC_RELAXED);
  log_owners(before);
  __atomic_exchange_n(&note.by, kNobodys, __ATOMIC_SEQ_CST);  // pairs with the exchange of the owner
  const std::uint64_t after = __atomic_load_n(&note.time, __ATOMIC_SEQ_CST);
  if (after != before) log_owners(after);
}

// For who reads. False: it must be logged.
bool note_at(ReleaseNote& note, std::uint64_t object, std::uint64_t time) {
  std::uint64_t by = __atomic_load_n(&note.by, __ATOMIC_RELAXED);
  if (by == 0 &&
      __atomic_compare_exchange_n(&note.by, &by, own_release_mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    by = own_release_mark;
  }
  if (by == own_release_mark) {
    // Pairs with the exchange of make_nobodys(): see the header.
    __atomic_exchange_n(&note.time, time, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&note.by, __ATOMIC_SEQ_CST) == own_release_mark;
  }
  if (by != kNobodys) make_nobodys(note, by, object);
  return false;
}

}  // namespace

void note_written(std::uint64_t thing, const void* code) {
  if (!has_log()) return;
  const std::size_t place = place_of(thing);
  std::uint64_t time = 0;
  bool is_noted = false;
  std::uint32_t turn = 0;
  // A signal handler that writes in the middle has a later time, which must not be overwritten.
  do {
    turn = own_writes;
    time = time_before();
    const bool is_noted_for_waits = note_latest(time);
    is_noted = note_at(written[place], object_of(place), time) && is_noted_for_waits;
  } while (own_writes != turn);
  own_writes = turn + 1;
  if (!is_noted) append(LogKind::kWritten, 0, object_of(place), 0, code, time);
}

void note_read(std::uint64_t thing, const void* code) {
  if (!has_log() || nobody_else_writes()) return;
  const std::size_t place = place_of(thing);
  const ReleaseNote note = load_note(written[place]);
  if (note.by == kNobodys) return append(LogKind::kRead, 0, object_of(place), 0, code, time_after());
  log_hand_over(object_of(place), note);
}

void note_waited(const void* code) {
  if (!has_log() || nobody_else_writes()) return;
  const std::uint32_t count = __atomic_load_n(&writers, __ATOMIC_RELAXED);
  for (std::uint32_t at = 0; at < count && at < kMostWriters; ++at) {
    log_hand_over(kAnyDescriptor, load_note(latest_writes[at].note));
  }
  if (are_too_many()) append(LogKind::kPolled, 0, 0, 0, code, time_after());
}

}  // namespace deadheat::record
