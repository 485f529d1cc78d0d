// SPDX-License-Identifier: Apache-2.0
// A program of a few threads, as lists of operations, and its execution step by step
// under a scheduler. Which thread makes the next step is drawn from a seed: that is the
// machine's own scheduler, which knows nothing of ours and only honours suspensions.
//
// Nothing waits in real time: a step is a microsecond. There is no time limit on
// suspensions unless one is asked for, so that a strategy which forgets a thread is found out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/event.h"
#include "schedule/scheduler.h"

namespace deadheat::schedule {

struct Operation {
  enum class Kind : std::uint8_t { kCall, kReturn, kLock, kTryLock, kUnlock, kRead, kWrite, kWork, kJoin };
  Kind kind = Kind::kWork;
  std::uint64_t object = 0;
};
using Code = std::vector<Operation>;
using Program = std::vector<Code>;  // the first one is of thread 1, which creates the others

inline Operation call(std::uint64_t function) { return {Operation::Kind::kCall, function}; }
inline Operation leave() { return {Operation::Kind::kReturn, 0}; }
inline Operation lock(std::uint64_t name) { return {Operation::Kind::kLock, name}; }
inline Operation try_lock(std::uint64_t name) { return {Operation::Kind::kTryLock, name}; }
inline Operation unlock(std::uint64_t name) { return {Operation::Kind::kUnlock, name}; }
inline Operation read(Address address) { return {Operation::Kind::kRead, address}; }
inline Operation write(Address address) { return {Operation::Kind::kWrite, address}; }
inline Operation join(ThreadNumber thread) { return {Operation::Kind::kJoin, thread}; }
inline Operation work(std::uint64_t steps) { return {Operation::Kind::kWork, steps}; }

struct SimulationOptions {
  Settings settings;
  std::uint64_t machine_seed = 1;
  const RunFile* input = nullptr;
  RunFile* output = nullptr;
  Strategy* strategy = nullptr;      // instead of the one of the settings
  bool are_accesses_points = false;  // and unlocks
  std::uint64_t time_limit = 0;      // steps that a thread may be suspended; 0: none
};

struct Outcome {
  std::set<Address> races;
  std::vector<std::pair<ThreadNumber, std::uint64_t>> acquisitions;
  std::vector<std::pair<ThreadNumber, Address>> accesses;
  RunCounters counters;
  std::uint64_t steps = 0;
  std::vector<ThreadNumber> reported_cycle;  // of the first deadlock that was reported
  bool is_deadlocked = false;                // there is a cycle at the end
  std::uint32_t unfinished = 0;              // threads that did not come to their ends
  std::uint32_t left_suspended = 0;          // of them: a bug of ours
};

[[nodiscard]] Outcome simulate(const Program& program, const SimulationOptions& options);

// Forgets what a run has left: cheaper than a new one.
void clear(RunFile& file);

// A run file in memory.
[[nodiscard]] std::unique_ptr<RunFile> make_run_file();

// The program of Figure 2 of the paper. Both races are hidden when thread 1 is the first to
// come to both locks, and it is unless it is held back: the others have a long way.
inline constexpr Address kX = 1000;
inline constexpr Address kY = 2000;
[[nodiscard]] Program figure_2(std::uint64_t way);

// Nested calls and locks, accesses, a few threads, which the first may wait for in the
// end. Deadlocks are possible if wanted.
enum class LockOrder : std::uint8_t { kAscending, kAny };
[[nodiscard]] Program random_program(std::uint64_t seed, LockOrder order);

}  // namespace deadheat::schedule
