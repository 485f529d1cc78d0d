// SPDX-License-Identifier: Apache-2.0
// What a strategy is asked, what it may answer, and what it may do to the program.
//
// A strategy only decides. Whoever runs it (scheduler.h) keeps the threads' states, and
// whoever runs that (the runtime, or the simulator of the tests) does the waiting. All
// calls are made one after the other, under one lock of the caller's: nothing here is
// atomic. Virtual functions have bodies, because a pure one would need libstdc++.
#pragma once

#include <cstdint>

#include "base/raw.h"
#include "model/identity.h"
#include "schedule/run_file.h"

namespace deadheat::schedule {

// 1 is the main thread, 0 is nobody. Never used again.
using ThreadNumber = std::uint32_t;
inline constexpr ThreadNumber kNobody = 0;

enum class StrategyKind : std::uint8_t { kNative, kDrFinder, kPct, kConTest, kAgain };
inline constexpr std::uint32_t kStrategyCount = 5;

// DrFinder: how many threads are escorted at a time.
enum class Escorts : std::uint8_t { kOne, kMany };

struct Settings {
  StrategyKind strategy = StrategyKind::kNative;
  std::uint64_t seed = 1;
  std::uint32_t call_depth = 12;  // calls that learn of a lock, innermost first
  std::uint32_t look_back = 12;   // DrFinder: calls of a thread that are asked what they may trigger
  std::uint32_t bug_depth = 3;    // PCT: how many steps must come in order
  Escorts escorts = Escorts::kOne;
};

// The running program.
class World {
 public:
  // An open call of a thread, read while it runs: it may be gone already. Level 0 is the
  // innermost one. kNone beyond the outermost.
  virtual FunctionId function_of(ThreadNumber /*thread*/, std::uint32_t /*level*/) { return FunctionId::kNone; }
  // The thread waits for something from outside of the program, which may never come. Not
  // cheap to ask.
  virtual bool waits_for_input(ThreadNumber /*thread*/) { return false; }
  // A suspended thread goes on.
  virtual void resume(ThreadNumber /*thread*/) {}
  // The run is not what it was when it was recorded.
  virtual void note_divergence() {}

 protected:
  ~World() = default;
};

// A thread wants a lock, or has it.
struct Request {
  ThreadNumber thread = kNobody;
  Address lock = 0;
  LockClass lock_class = LockClass::kNone;
  bool is_shared = false;
};

// As the log of acquisitions has it.
[[nodiscard]] constexpr std::uint32_t logged(LockClass lock_class) {
  return static_cast<std::uint32_t>(raw(lock_class) >> 32);
}

enum class Verdict : std::uint8_t { kGo, kSuspend };
struct Decision {
  Verdict verdict = Verdict::kGo;
  std::uint64_t delay_ns = 0;  // the thread sleeps that long before it goes; 1 is a mere yield
};
inline constexpr Decision kGo = {};
inline constexpr Decision kSuspend = {Verdict::kSuspend, 0};

// By itself it leaves everything as it is. A thread is in the scheduler's table from
// before thread_begins() until before thread_ends().
class Strategy {
 public:
  virtual void thread_begins(ThreadNumber /*thread*/) {}
  virtual void thread_ends(ThreadNumber /*thread*/) {}
  // Before a thread takes a lock. After kSuspend it goes when it is resumed, by
  // World::resume(), on_stuck() or on_timeout(), and is not asked about again.
  virtual Decision on_request(const Request& /*request*/) { return kGo; }
  // Also without a request before it (try-locks, the end of a condition wait).
  virtual void on_acquired(const Request& /*request*/) {}
  virtual void on_released(ThreadNumber /*thread*/, Address /*lock*/) {}
  // Before any other synchronisation of a thread.
  virtual Decision on_point(ThreadNumber /*thread*/) { return kGo; }
  // The thread waits for what the strategy does not control: the table says for which lock.
  virtual void on_blocked(ThreadNumber /*thread*/) {}
  virtual void on_unblocked(ThreadNumber /*thread*/) {}
  // Nobody runs and somebody is suspended: who is to go? The strategy regards the one that
  // it names as resumed, or resumes whom it likes. Otherwise it is left to chance.
  virtual ThreadNumber on_stuck() { return kNobody; }
  // A suspended thread has waited as long as it may, and goes.
  virtual void on_timeout(ThreadNumber /*thread*/) {}

 protected:
  ~Strategy() = default;
};

}  // namespace deadheat::schedule
