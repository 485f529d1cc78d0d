// SPDX-License-Identifier: Apache-2.0
// Notes of releases (hand_over.h) for descriptors. Who writes bytes leaves its mark and the time at two places before
// the bytes are there for anybody:
//   - at what it writes to (`written`, by a hash; things that share a place count as one), for who reads from it.
//   Servers
//     write and read each connection by one thread, which logs nothing then;
//   - at a place of its own (`latest_writes`), for who waits for any descriptor at all: such a wait does not tell
//   which.
//
// No lock protects these, as the mutex does its note. A place of a thing therefore belongs to the first thread that
// writes there. When a second one comes it is nobody's for ever, and each write and read there is logged as kWritten
// and kRead. The change loses nothing: the owner stores its time, then looks whether the place is still its own; the
// second thread makes it nobody's, then takes the time that it finds into its own log (kReleasedBy). The first step of
// each is a full barrier, so the owner sees that it lost the place and logs its write, or the second thread sees the
// owner's time.
//
// Places for waits are enough for kMostWriters threads. Once there are more, everybody logs kWritten, and who waits
// logs kPolled, besides what the places had until then.
//
// A thread takes its place before its first write. Who reads or waits while nobody but itself has a place gets nothing
// that another thread wrote, and need not look for notes at all: most servers of one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/agent/hand_over.h"

namespace deadheat::record {

inline constexpr std::uint32_t kMostWriters = 8;
extern constinit std::uint32_t writers;  // that have a place, or found none
inline constexpr std::uint32_t kNoPlaceYet = 0;
extern thread_local constinit std::uint32_t own_place  // plus 1
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// After bytes came, or a wait. The count is raised before a first write of bytes, and who has got those sees it.
[[nodiscard]] inline bool nobody_else_writes() {
  const std::uint32_t count = __atomic_load_n(&writers, __ATOMIC_RELAXED);
  return count == own_place && count <= 1;
}

// Before bytes go there. `thing`: what is behind a descriptor.
void note_written(std::uint64_t thing, const void* code);
// After bytes came from there.
void note_read(std::uint64_t thing, const void* code);
// After a wait for any descriptor.
void note_waited(const void* code);

}  // namespace deadheat::record
