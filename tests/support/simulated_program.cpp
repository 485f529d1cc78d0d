// SPDX-License-Identifier: Apache-2.0
#include "support/simulated_program.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "core/detector.h"

namespace deadheat::schedule {
namespace {

using Kind = Operation::Kind;

constexpr std::uint64_t kEndless = 2'000'000;

class Simulation final : public World {
 public:
  Simulation(const Program& program, const SimulationOptions& options)
      : options_(options), random_(options.machine_seed), actors_(program.size()) {
    scheduler_ =
        options.strategy == nullptr
            ? std::make_unique<Ours>(options.settings, *this, options.input, options.output)
            : std::make_unique<Ours>(*options.strategy, options.settings, *this, options.input, options.output);
    for (std::size_t at = 0; at < actors_.size(); ++at) {
      actors_[at].number = static_cast<ThreadNumber>(at + 1);
      actors_[at].code = &program[at];
      scheduler_->thread_begins(actors_[at].number, 1000 + actors_[at].number);
      if (at > 0) events_.push_back(events::on_thread(EventKind::kFork, ThreadId{1}, ThreadId{actors_[at].number}));
    }
  }

  Outcome run() {
    while (Actor* actor = choose()) {
      ++time_;
      DEADHEAT_CHECK(time_ < kEndless);
      step(*actor);
      expire();
    }
    conclude();
    return std::move(outcome_);
  }

  // World.
  FunctionId function_of(ThreadNumber thread, std::uint32_t level) override {
    const auto& calls = actors_[thread - 1].calls;
    return level < calls.size() ? calls[calls.size() - 1 - level] : FunctionId::kNone;
  }
  void resume(ThreadNumber thread) override {
    DEADHEAT_CHECK(actors_[thread - 1].state == State::kSuspended);
    actors_[thread - 1].state = State::kReady;
  }

 private:
  using Ours = Scheduler<HeapSource>;
  enum class State : std::uint8_t { kReady, kSuspended, kBlocked, kEnded };

  struct Actor {
    ThreadNumber number = kNobody;
    const Code* code = nullptr;
    std::size_t next = 0;      // operation
    std::uint64_t worked = 0;  // of the next operation
    bool has_asked = false;    // about the next operation
    bool is_told_blocked = false;
    State state = State::kReady;
    std::uint64_t asleep_until = 0;
    std::uint64_t suspended_at = 0;
    std::vector<FunctionId> calls;
    std::vector<std::uint64_t> held;
  };

  Actor* choose() {
    std::vector<Actor*> ready;
    std::uint64_t earliest = ~std::uint64_t{0};
    for (Actor& actor : actors_) {
      if (actor.state != State::kReady) continue;
      if (actor.asleep_until > time_) {
        earliest = std::min(earliest, actor.asleep_until);
      } else {
        ready.push_back(&actor);
      }
    }
    if (!ready.empty()) return ready[random_.below(ready.size())];
    if (earliest == ~std::uint64_t{0}) return nullptr;
    time_ = earliest;
    return choose();
  }

  void step(Actor& actor) {
    if (actor.next == actor.code->size()) return end(actor);
    const Operation& operation = (*actor.code)[actor.next];
    switch (operation.kind) {
      case Kind::kCall:
        actor.calls.push_back(FunctionId{operation.object});
        return advance(actor);
      case Kind::kReturn:
        actor.calls.pop_back();
        return advance(actor);
      case Kind::kWork:
        if (++actor.worked >= operation.object) advance(actor);
        return;
      case Kind::kLock:
        return take(actor, operation.object);
      case Kind::kTryLock:
        if (owners_[operation.object] == kNobody) return own(actor, operation.object);
        return skip_to_unlock(actor, operation.object);
      case Kind::kUnlock:
        if (passes_point(actor)) give_up(actor, operation.object);
        return;
      case Kind::kJoin:
        return join(actor, actors_[operation.object - 1]);
      case Kind::kRead:
      case Kind::kWrite:
        if (passes_point(actor)) access(actor, operation);
        return;
    }
  }
  void advance(Actor& actor) {
    ++actor.next;
    actor.worked = 0;
    actor.has_asked = false;
  }

  // False if it must wait before it goes on.
  bool obeys(Actor& actor, Decision decision) {
    actor.has_asked = true;
    actor.asleep_until = time_ + decision.delay_ns / 1000;
    if (decision.verdict == Verdict::kGo) return decision.delay_ns == 0;
    actor.state = State::kSuspended;
    actor.suspended_at = time_;
    return false;
  }
  bool passes_point(Actor& actor) {
    if (!options_.are_accesses_points || actor.has_asked) return true;
    return obeys(actor, scheduler_->point(actor.number));
  }

  void take(Actor& actor, std::uint64_t name) {
    const Request request = request_of(actor, name);
    if (!actor.has_asked) {
      std::vector<FunctionId> calls(actor.calls.rbegin(), actor.calls.rend());
      if (!obeys(actor, scheduler_->request(request, calls.data(), static_cast<std::uint32_t>(calls.size())))) return;
    }
    if (owners_[name] != kNobody) return wait_for(actor, name);
    wake(actor);
    own(actor, name);
  }
  void wake(Actor& actor) {
    if (actor.is_told_blocked) scheduler_->unblocks(actor.number);
    actor.is_told_blocked = false;
  }
  void wait_for(Actor& actor, std::uint64_t name) {
    actor.state = State::kBlocked;
    if (actor.is_told_blocked) return;
    actor.is_told_blocked = true;
    const bool is_join = (*actor.code)[actor.next].kind == Kind::kJoin;
    const Cycle cycle = scheduler_->blocks(actor.number, is_join ? 0 : name, SelfWait::kDeadlock);
    if (!cycle || !outcome_.reported_cycle.empty()) return;
    for (std::uint32_t at = 0; at < cycle.count(); ++at) {
      outcome_.reported_cycle.push_back(cycle.members[at].thread);
      DEADHEAT_CHECK(owners_[cycle.members[at].wanted] == cycle.members[(at + 1) % cycle.length].thread);
    }
  }
  void own(Actor& actor, std::uint64_t name) {
    owners_[name] = actor.number;
    actor.held.push_back(name);
    scheduler_->acquired(request_of(actor, name));
    outcome_.acquisitions.emplace_back(actor.number, name);
    events_.push_back(events::acquire(ThreadId{actor.number}, SyncId{name}));
    advance(actor);
  }
  void give_up(Actor& actor, std::uint64_t name) {
    scheduler_->released(actor.number, name);
    set_unlocked(actor, name);
    advance(actor);
  }
  void set_unlocked(Actor& actor, std::uint64_t name) {
    events_.push_back(events::release(ThreadId{actor.number}, SyncId{name}));
    std::erase(actor.held, name);
    owners_[name] = kNobody;
    wake_waiters(name);
  }
  // For a lock or a thread; locks have numbers that no thread has.
  void wake_waiters(std::uint64_t object) {
    for (Actor& other : actors_) {
      if (other.state == State::kBlocked && (*other.code)[other.next].object == object) other.state = State::kReady;
    }
  }
  // A failed try leaves out what the lock protects.
  void skip_to_unlock(Actor& actor, std::uint64_t name) {
    int depth = 0;
    do {
      const Operation& skipped = (*actor.code)[actor.next];
      if (skipped.object == name && (skipped.kind == Kind::kLock || skipped.kind == Kind::kTryLock)) ++depth;
      if (skipped.object == name && skipped.kind == Kind::kUnlock) --depth;
      advance(actor);
    } while (depth > 0);
  }

  void access(Actor& actor, const Operation& operation) {
    outcome_.accesses.emplace_back(actor.number, operation.object);
    events_.push_back(operation.kind == Kind::kRead ? events::read(ThreadId{actor.number}, operation.object, 1)
                                                    : events::write(ThreadId{actor.number}, operation.object, 1));
    advance(actor);
  }

  void join(Actor& actor, const Actor& other) {
    if (other.state != State::kEnded) return wait_for(actor, other.number);
    wake(actor);
    events_.push_back(events::on_thread(EventKind::kJoin, ThreadId{actor.number}, ThreadId{other.number}));
    advance(actor);
  }
  void end(Actor& actor) {
    actor.state = State::kEnded;
    while (!actor.held.empty()) set_unlocked(actor, actor.held.back());
    wake_waiters(actor.number);
    scheduler_->thread_ends(actor.number);
  }

  void expire() {
    if (options_.time_limit == 0) return;
    for (Actor& actor : actors_) {
      if (actor.state != State::kSuspended || actor.suspended_at + options_.time_limit > time_) continue;
      actor.state = State::kReady;
      scheduler_->timed_out(actor.number);
    }
  }

  // A blocked thread whose chain of owners comes back to it.
  bool is_in_cycle(const Actor& actor) {
    const Actor* at = &actor;
    for (std::size_t length = 0; length <= actors_.size() && at->state == State::kBlocked; ++length) {
      const Operation& operation = (*at->code)[at->next];
      if (operation.kind == Kind::kJoin) return false;
      at = &actors_[owners_[operation.object] - 1];
      if (at == &actor) return true;
    }
    return false;
  }

  void conclude() {
    for (const Actor& actor : actors_) {
      outcome_.unfinished += actor.state == State::kEnded ? 0 : 1;
      outcome_.left_suspended += actor.state == State::kSuspended ? 1 : 0;
      outcome_.is_deadlocked = outcome_.is_deadlocked || is_in_cycle(actor);
    }
    outcome_.steps = time_;
    outcome_.counters = scheduler_->counters();
    const auto detector = make_detector(DetectorKind::kReference);
    detector->process(events_);
    detector->finish();
    for (const auto& range : detector->racy_bytes()) outcome_.races.insert(range.begin);
  }

  [[nodiscard]] static Request request_of(const Actor& actor, std::uint64_t name) {
    return {actor.number, name, LockClass{spread(name)}, false};
  }

  const SimulationOptions options_;
  Random random_;
  std::vector<Actor> actors_;
  std::unique_ptr<Ours> scheduler_;
  std::map<std::uint64_t, ThreadNumber> owners_;  // of locks
  std::uint64_t time_ = 0;
  std::vector<Event> events_;
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const Program& program, const SimulationOptions& options) {
  return Simulation(program, options).run();
}

void clear(RunFile& file) {
  file.header = {};
  std::memset(file.relations, 0, sizeof file.relations);
}

std::unique_ptr<RunFile> make_run_file() { return std::make_unique<RunFile>(); }

Program figure_2(std::uint64_t way) {
  enum Name : std::uint64_t { kM = 101, kN, k1, k2, k3, k4, k5 };
  const auto taken = [](std::uint64_t name) { return Code{lock(name), unlock(name)}; };
  const auto joined = [](std::initializer_list<Code> parts) {
    Code code;
    for (const Code& part : parts) code.insert(code.end(), part.begin(), part.end());
    return code;
  };
  return {
      joined(
          {{call(1), work(3), write(kX)}, taken(kM), {call(2)}, taken(k1), {write(kY)}, taken(kN), {leave(), leave()}}),
      joined({{call(3), work(way), call(4)},
              taken(k2),
              taken(k3),
              {call(5)},
              taken(kN),
              {leave(), read(kY), leave(), leave()}}),
      joined({{call(6), work(way), call(7)},
              taken(k4),
              taken(k5),
              {call(8)},
              taken(kM),
              {leave(), read(kX), leave(), leave()}}),
  };
}

namespace {

// Adds a call with locks, accesses and calls in it.
void add_call(Code& code, Random& random, std::uint64_t lowest_lock, LockOrder order, int depth) {
  constexpr std::uint64_t kLocks = 5;
  code.push_back(call(1 + random.below(6)));
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
    if (random.chance(0.4)) code.push_back(work(1 + random.below(20)));
    if (random.chance(0.5)) code.push_back(random.chance(0.5) ? read(random.below(4)) : write(random.below(4)));
    const std::uint64_t first = order == LockOrder::kAscending ? lowest_lock : 0;
    if (first >= kLocks || random.chance(0.3)) continue;
    const std::uint64_t name = first + random.below(kLocks - first);
    code.push_back(random.chance(0.1) ? try_lock(100 + name) : lock(100 + name));
    if (random.chance(0.5)) code.push_back(write(random.below(4)));
    if (depth > 0 && random.chance(0.6)) add_call(code, random, name + 1, order, depth - 1);
    code.push_back(unlock(100 + name));
  }
  code.push_back(leave());
}

}  // namespace

Program random_program(std::uint64_t seed, LockOrder order) {
  Random random(seed);
  Program program(2 + random.below(4));
  for (Code& code : program) {
    for (std::uint64_t calls = 1 + random.below(3); calls > 0; --calls) add_call(code, random, 0, order, 2);
  }
  for (ThreadNumber thread = 2; seed % 2 == 0 && thread <= program.size(); ++thread) program[0].push_back(join(thread));
  return program;
}

}  // namespace deadheat::schedule
