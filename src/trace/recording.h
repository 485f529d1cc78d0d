// SPDX-License-Identifier: Apache-2.0
// Recording: what `deadheat record` kept of one run of an unmodified program: samples of its
// registers, the control flow in between where the machine could tell it, and everything that
// orders its threads. The accesses themselves are rebuilt from it later (src/replay).
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW, in samples and in logs. They place a sample
// between two log entries of its *own* thread, and nothing else: a thread cannot log while it
// is interrupted, so that is exact. Samples of different threads are never ordered by time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/event.h"

namespace deadheat {

// General registers in the order of their numbers in instructions.
enum class Register : std::uint8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15
};
inline constexpr int kRegisterCount = 16;

struct RegisterFile {
  std::array<std::uint64_t, kRegisterCount> general{};
  std::uint64_t ip = 0;  // of the next instruction to be executed
  std::uint64_t flags = 0;

  [[nodiscard]] std::uint64_t operator[](Register name) const { return general[static_cast<std::size_t>(name)]; }
  friend bool operator==(const RegisterFile&, const RegisterFile&) = default;
};

// The state of one thread at one moment.
struct RegisterSample {
  std::uint64_t time = 0;
  RegisterFile registers;
  std::vector<std::byte> stack;  // the bytes from rsp on; may be empty
  // Of the backends that know the path: how many instructions of the thread's path came before.
  std::optional<std::uint64_t> position;
};

// A file with code that was mapped. Code that was made at run time has no path, and cannot be replayed.
struct CodeMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  // of `begin`
  std::uint64_t from_time = 0;    // 0: since before the recording
  std::uint64_t until_time = ~0ULL;
  std::string path;
  std::vector<std::byte> build_id;  // empty: the file has none
};

// An entry of a thread's log: an event of model/event.h that orders threads or changes what memory is
// (never an access), with its time: after the operation for what acquires, before it for what releases.
struct LoggedEvent {
  std::uint64_t time = 0;
  // Position among all logged events that concern the same object, where the agent could tell;
  // the order of a stream of events must respect it. 0: not told.
  std::uint64_t ticket = 0;
  Event event;
  std::uint64_t code = 0;  // return address of the call, for its site; 0: unknown
};

// Tags of HappensBefore and HappensAfter that the agent has no object for.
// What every other thread may rely on from then on, without an entry in its own log.
inline constexpr SyncId kEverybodyTag{~0ULL};
// Behind any descriptor: a wait for several does not tell which.
inline constexpr SyncId kDescriptorsTag{~0ULL - 1};

// A piece of a thread's path, instruction by instruction.
struct PathPiece {
  std::uint64_t first_position = 0;  // in the thread's path
  std::vector<std::uint64_t> code;   // addresses of executed instructions, in order
  bool is_after_gap = false;         // something was lost before it
};

// The thread was at that place of its path, just before that instruction, not before `from` and not after `until`.
struct PathMark {
  std::uint64_t position = 0;
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};

struct RecordedThread {
  ThreadId id{};
  std::uint32_t system_id = 0;  // gettid()
  std::string name;
  bool is_root = false;                 // nobody logged its creation
  std::vector<LoggedEvent> log;         // by time
  std::vector<RegisterSample> samples;  // by time
  std::vector<PathPiece> path;          // empty without control flow
  std::vector<PathMark> marks;          // by position; samples with a position are marks as well
};

// One moment in both clocks: ticks of the processor's counter, nanoseconds of CLOCK_MONOTONIC_RAW.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::uint64_t time = 0;
};

// Bytes of Intel PT as a processor wrote them.
struct TraceBytes {
  std::uint32_t processor = 0;
  std::uint64_t offset = 0;  // of the first, in all that this processor wrote
  std::vector<std::byte> bytes;
};

// A stretch of a processor's trace in which it ran one thread: from the moment that the thread was put on the
// processor, or the last range ended, until it was taken off or the system looked.
struct TraceRange {
  std::uint32_t processor = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t system_id = 0;
  std::uint64_t time = 0;  // when it ended
  bool has_loss = false;   // bytes of it were lost
};

// How the times in a processor's trace are to be read; zeros: from its full time stamps alone.
struct TraceTiming {
  std::uint64_t mtc_period = 0;         // log2, in ticks of the crystal clock
  std::uint64_t nominal_frequency = 0;  // the processor's, in units of 100 MHz
  std::uint64_t counter_ratio = 0;      // ticks of the processor's counter per ratio_divisor of the crystal's
  std::uint64_t ratio_divisor = 0;
};

struct Recording {
  std::string program;
  std::vector<std::string> arguments;
  std::string backend;  // "intel", "clock", "step"
  double seconds = 0;   // that the program ran
  std::uint64_t process = 0;
  std::vector<CodeMapping> mappings;
  std::vector<RecordedThread> threads;
  std::vector<ClockPair> clocks;         // in the order of the recording
  std::vector<TraceBytes> trace;         // of a processor in order; becomes paths by replay/trace_paths.h
  std::vector<TraceRange> trace_ranges;  // likewise
  TraceTiming trace_timing;
  std::uint64_t lost_samples = 0;
  std::uint64_t lost_log_entries = 0;
  std::uint64_t foreign_samples = 0;  // of threads that have no log
  bool has_log = false;               // without one nothing is known of what orders the threads
  bool has_unlogged_order = false;    // futexes by hand
  bool are_locks_known = true;        // every lock is in the log, so it tells which were held
  // Set when it ends early: one sentence that says why.
  std::optional<std::string> incomplete;
};

}  // namespace deadheat
