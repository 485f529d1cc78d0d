// SPDX-License-Identifier: Apache-2.0
// What the agent of `deadheat record` leaves on disk: plain structures in files that it maps.
// Written inside of the recorded program, so nothing here needs more than the language.
//
// A directory has one `agent` (AgentState). The log of thread N is a row of pieces of equal size, each
// of which begins with a record that has its number; the first goes on with a LogHeader, and
// all else are LogRecords. Pieces 0, 1, ... are in `log.N` as far as they were written there, the
// latest two in `tail.N`, which the thread has mapped (a thread that ended has none). A
// piece may be in both, and is the same there or newer in the tail. Behind the two the tail has kRecentBlocks slots:
// records of blocks that the thread freed and that are not in the log yet, or are since just now (the same
// record twice); their `extent` means nothing, and those whose last word is zero are none. What was not written yet is
// zero; the last word of a record is stored last, so one whose word is not zero is whole, also after SIGKILL. Gaps are
// records of zeros. Times are ticks of the agent's clock (AgentState::clock).
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/event.h"

namespace deadheat {

inline constexpr std::uint32_t kAgentMagic = 0x41524844;  // "DHRA"
inline constexpr std::uint32_t kLogMagic = 0x4c524844;    // "DHRL"
// Version 1 had no slots in its tails, version 2 a record for every acquire and release.
inline constexpr std::uint32_t kLogVersion = 3;
inline constexpr std::uint32_t kOldestLogVersion = 1;

enum class LogClock : std::uint32_t {
  kNanoseconds,  // of CLOCK_MONOTONIC_RAW
  kTicks,        // of the processor's time stamp counter
};

enum class LoggedLocks : std::uint32_t {
  kAll,       // so it is known which were held
  kHandedOn,  // those that another thread had before (record/agent/hand_over.h)
};

// Why the log ends before the program does.
enum class LogStop : std::uint32_t { kNone, kLimit, kDisk, kAddressSpace, kConfined };

// Entries are events of model/event.h, numbered from 1, or one of these.
enum class LogKind : std::uint8_t {
  kNone = 0,
  // Of the thread itself: pthread_self(), and the lowest address and size of its stack.
  kBegin = 200,
  kStack,
  kForked,       // after pthread_create: pthread_t, number of the thread
  kJoined,       // pthread_t; the time before the call
  kDetached,     // pthread_t
  kBarrierInit,  // barrier, its count
  // A static local variable is initialised. Whoever uses it later looks at its guard by an
  // ordinary load that nobody logs.
  kGuard,
  kWritten,  // before bytes go into a descriptor: what is behind it
  kRead,     // after bytes came out of it
  kPolled,   // after a wait for any descriptor
  kFutex,    // a futex by hand: something orders threads that is not logged
  kPiece,    // the first record of a piece: its number
  // The thread acquired `object`, which the thread whose number is in the place of the code released at the time
  // `extent` (ticks). That thread has no record of it.
  kHandedOver,
  // Nothing but such a release of another thread, at the record's own time.
  kReleasedBy,
};
// Instead of an object: any descriptor that can be waited for.
inline constexpr std::uint64_t kAnyDescriptor = 0;
[[nodiscard]] constexpr LogKind log_kind(EventKind kind) { return static_cast<LogKind>(raw(kind) + 1); }
static_assert(kEventKindCount < 200);

struct LogRecord {
  std::uint64_t time = 0;
  std::uint64_t object = 0;
  std::uint64_t extent = 0;
  std::uint64_t where = 0;  // code in 48 bits, kind in 8, detail in 8
};
static_assert(sizeof(LogRecord) == 32);

[[nodiscard]] constexpr std::uint64_t log_where(LogKind kind, std::uint8_t detail, std::uint64_t code) {
  return (code & 0xffffffffffffULL) | static_cast<std::uint64_t>(kind) << 48U |
         static_cast<std::uint64_t>(detail) << 56U;
}

struct LogHeader {
  std::uint32_t magic = kLogMagic;
  std::uint32_t version = kLogVersion;
  std::uint32_t thread = 0;
  std::uint32_t system_id = 0;
  std::uint32_t is_root = 0;  // nobody logged its creation
  std::uint32_t reserved[11] = {};
};
static_assert(sizeof(LogHeader) == 2 * sizeof(LogRecord));

// Pieces of a log file: each ends with room that is left free, for signal handlers that log
// while a record is begun.
inline constexpr std::size_t kLogPiece = 64 * 1024;
inline constexpr std::size_t kLogSlack = 4096;
inline constexpr std::size_t kRecentBlocks = 128;
inline constexpr std::size_t kTailSize = 2 * kLogPiece + kRecentBlocks * sizeof(LogRecord);
static_assert(kTailSize % 4096 == 0);

struct AgentState {
  std::uint32_t magic = kAgentMagic;
  std::uint32_t version = kLogVersion;
  std::uint32_t process = 0;
  LogClock clock = LogClock::kNanoseconds;
  std::uint64_t stopped_at = 0;  // ticks; nothing is complete from then on. 0: not stopped
  LogStop stop = LogStop::kNone;
  std::uint32_t threads = 0;      // begun so far
  std::uint64_t bytes = 0;        // of logs, as far as mapped
  std::uint64_t unlogged = 0;     // calls that found no log
  std::uint32_t is_finished = 0;  // the program ended in order
  LoggedLocks locks = LoggedLocks::kAll;
};

}  // namespace deadheat
