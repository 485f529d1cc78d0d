// SPDX-License-Identifier: Apache-2.0
// Notes of releases (hand_over.h) for descriptors. Who writes bytes leaves the time at two places before the bytes are
// there for anybody:
//   - at what it writes to (`written`, by a hash; things that share a place count as one), for who reads from it.
//     Servers write and read each connection by one thread, which logs nothing then;
//   - at a place of its own (`latest_writes`), for who waits for any descriptor at all: such a wait does not tell
//     which.
//
// Both have a word for each thread that writes, and nobody else stores there: no lock is needed and no barrier, and no
// order of two writers matters. Who reads takes the words of all writers; what each wrote there before is before that
// in its own order. Whose bytes it has is unknown: also who wrote later counts, as with any channel. A writer only
// stores. It must not look at the line before: a server has as many as it has clients, so they are in no near cache,
// and waiting for one took most of the time of a write.
//
// Words are enough for kMostWriters threads. Those that come later log each write as kWritten, and from the first of
// them on who reads logs kRead, and who waits kPolled, besides what the words have.
//
// A thread takes its place before its first write. Who reads or waits while nobody but itself has a place gets nothing
// that another thread wrote, and need not look for notes at all: most servers of one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/agent/hand_over.h"

namespace deadheat::record {

inline constexpr std::uint32_t kMostWriters = 8;
// Threads that have a place; one more if some found none.
extern constinit std::uint32_t writers;
inline constexpr std::uint32_t kNoPlaceYet = 0;
extern thread_local constinit std::uint32_t own_place  // plus 1
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// After bytes came, or a wait. The count is raised before a first write of bytes, and who has got those sees it.
[[nodiscard]] inline bool nobody_else_writes() {
  const std::uint32_t count = __atomic_load_n(&writers, __ATOMIC_RELAXED);
  return count == own_place && count <= 1;
}

// Before bytes go there, by a thread that has a log. `thing`: what is behind a descriptor.
void note_written(std::uint64_t thing, const void* code);
// After bytes came from there.
void note_read(std::uint64_t thing, const void* code);
// After a wait for any descriptor.
void note_waited(const void* code);

}  // namespace deadheat::record
