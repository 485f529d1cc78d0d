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

struct RecordedThread {
  ThreadId id{};
  std::uint32_t system_id = 0;  // gettid()
  std::string name;
  bool is_root = false;                 // nobody logged its creation
  std::vector<LoggedEvent> log;         // by time
  std::vector<RegisterSample> samples;  // by time
  std::vector<PathPiece> path;          // empty without control flow
};

struct Recording {
  std::string program;
  std::vector<std::string> arguments;
  std::string backend;  // "intel", "clock", "step"
  double seconds = 0;   // that the program ran
  std::uint64_t process = 0;
  std::vector<CodeMapping> mappings;
  std::vector<RecordedThread> threads;
  std::uint64_t lost_samples = 0;
  std::uint64_t lost_log_entries = 0;
  std::uint64_t foreign_samples = 0;  // of threads that have no log
  bool has_log = false;               // without one nothing is known of what orders the threads
  bool has_unlogged_order = false;    // futexes by hand
  // Set when it ends early: one sentence that says why.
  std::optional<std::string> incomplete;
};

}  // namespace deadheat
