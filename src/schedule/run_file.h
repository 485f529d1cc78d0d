// SPDX-License-Identifier: Apache-2.0
// The file that a scheduled run leaves behind: what it learned, what it decided, how
// it went. The runtime maps it and writes in place, so that all of it survives a
// crash of the program; `deadheat hunt` makes it, gives it to the next run, and reads it.
//
//   header, a page       counters, and the deadlock that ended the run
//   relations            a hash set: 0 is an empty place
//   acquisitions         in the order in which they were made; a prefix of the whole run
//
// Files have their full size from the beginning and are mostly holes.
#pragma once

#include <cstdint>

#include "base/flat_map.h"

namespace deadheat::schedule {

// Both are the same in every run of a program: made of modules, offsets and stacks, not of
// addresses. 0 is none.
enum class FunctionId : std::uint64_t { kNone = 0 };
enum class LockClass : std::uint64_t { kNone = 0 };

// mt(f, c) of the paper: below a call of f a lock of class c was taken. Never 0.
[[nodiscard]] constexpr std::uint64_t relation(FunctionId function, LockClass lock_class) {
  return spread(static_cast<std::uint64_t>(function) ^ (static_cast<std::uint64_t>(lock_class) * 3)) | 1;
}

inline constexpr std::uint32_t kRunFileMagic = 0x48484431;  // "1DHH"
inline constexpr std::uint32_t kRunFileVersion = 1;
inline constexpr std::uint32_t kRelationPlaces = 1U << 16;  // a power of two; half of it is used at most
inline constexpr std::uint32_t kAcquisitionPlaces = 1U << 20;
inline constexpr std::uint32_t kDeadlockThreads = 8;
inline constexpr std::uint32_t kDeadlockFrames = 24;

// One thread of a cycle: it holds the lock that the one before it waits for.
struct DeadlockedThread {
  std::uint32_t number = 0;  // as in reports
  std::uint32_t frame_count = 0;
  std::uint64_t wanted = 0;                    // address of the lock
  std::uint64_t frames[kDeadlockFrames] = {};  // addresses of code, innermost first
};

// Written by the runtime with relaxed stores.
struct RunCounters {
  std::uint64_t requests = 0;      // for locks, that a strategy was asked about
  std::uint64_t suspensions = 0;   // threads made to wait
  std::uint64_t resumed = 0;       // of them, by what they waited for
  std::uint64_t thrashings = 0;    // nobody could run, so one was chosen at random
  std::uint64_t timeouts = 0;      // waited as long as they may
  std::uint64_t suspended_ns = 0;  // all waiting, of all threads
  std::uint64_t steps = 0;         // synchronisation points
  std::uint64_t threads = 0;
  std::uint64_t diverged = 0;           // acquisitions that were not those of the run that is repeated
  std::uint64_t lost_relations = 0;     // no place
  std::uint64_t lost_acquisitions = 0;  // no place
};

struct RunFileHeader {
  std::uint32_t magic = kRunFileMagic;
  std::uint32_t version = kRunFileVersion;
  std::uint32_t relation_count = 0;
  std::uint32_t acquisition_count = 0;
  RunCounters counters;
  std::uint32_t deadlocked = 0;  // threads of the cycle; 0: there was none
  std::uint32_t process = 0;     // that writes the file: the first one that finds a 0 here
  DeadlockedThread cycle[kDeadlockThreads];
};

// A thread took a lock. The thread is a hash of its ancestry: the how manieth child of
// whom.
struct Acquisition {
  std::uint32_t thread = 0;
  std::uint32_t lock_class = 0;  // the upper half
};

struct RunFile {
  RunFileHeader header;
  alignas(4096) std::uint64_t relations[kRelationPlaces];
  Acquisition acquisitions[kAcquisitionPlaces];
};
static_assert(sizeof(RunFileHeader) <= 4096);

}  // namespace deadheat::schedule
