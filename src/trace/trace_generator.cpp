// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_generator.h"

#include <algorithm>

#include "trace/trace_generator_simulation.h"

namespace deadheat {

using namespace generator;

namespace {

// So many steps in a row without a legal one mean that there is none left, as
// when the mix asks for nothing but waits for a semaphore.
constexpr int kPatience = 2000;

// Before each early fork: room for the first thread to initialise something.
constexpr double kAccessBeforeFork = 0.3;

}  // namespace

TraceGenerator::TraceGenerator(const GeneratorOptions& options) : simulation_(std::make_unique<Simulation>(options)) {}

TraceGenerator::~TraceGenerator() = default;

bool TraceGenerator::next(Event& event) { return simulation_->next(event); }

std::size_t TraceGenerator::fill(std::span<Event> events) {
  std::size_t count = 0;
  while (count < events.size() && simulation_->next(events[count])) ++count;
  return count;
}

const Dictionary& TraceGenerator::dictionary() const { return simulation_->dictionary(); }

std::vector<Event> generate_trace(const GeneratorOptions& options) {
  TraceGenerator generator(options);
  std::vector<Event> trace;
  for (Event event; generator.next(event);) trace.push_back(event);
  return trace;
}

// Anything may happen anywhere, but a function calls few others: stacks repeat
// as they do in programs, some hundreds of them in all.
SiteId TraceGenerator::Simulation::pick_site(const Event& event) {
  if (event.kind != EventKind::kFunctionEnter) return SiteId{1 + pick(options_.sites)};
  constexpr std::uint32_t kCallees = 2;
  const std::uint32_t depth = threads_[current_].open_calls;
  return SiteId{1 + (depth * kCallees + pick(kCallees)) % options_.sites};
}

bool TraceGenerator::Simulation::next(Event& event) {
  if (!winding_down_ && emitted_ < options_.events) {
    for (int attempt = 0; attempt < kPatience; ++attempt) {
      if (attempt != 0 || random_.chance(options_.switch_rate)) current_ = live_[pick(live_.size())];
      if (!step(current_, event)) continue;
      ++emitted_;
      event.site = pick_site(event);
      return true;
    }
  }
  winding_down_ = true;
  if (!wind_down(event)) return false;
  ++emitted_;
  event.site = pick_site(event);
  return true;
}

bool TraceGenerator::Simulation::step(Slot slot, Event& event) {
  if (early_forks_ > 0) {
    if (random_.chance(kAccessBeforeFork) && step_access(0, event)) return true;
    --early_forks_;
    return fork(0, event);
  }
  switch (threads_[slot].activity) {
    case Activity::kReady:
      return step_ready(slot, event);
    case Activity::kWaiting:
      return random_.below(2) == 0 && end_wait(slot, event);
    case Activity::kAtBarrier:
      return leave_barrier(slot, event);
    case Activity::kAbsent:
    case Activity::kExited:
      break;
  }
  return false;
}

bool TraceGenerator::Simulation::step_ready(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  if (thread.script_position < thread.script_length && run_script(slot, event)) return true;
  if (thread.leaving) return unwind(slot, event);
  // Parked shares are the senders' until they are put or taken for good; they
  // do not wait for that forever.
  if (!thread.fenced.empty() && random_.below(2) == 0) permissions_.recall(thread.fenced);
  if (!thread.unread.empty() && random_.below(4) == 0) permissions_.recall(thread.unread);

  Family family = families_[random_.next() % families_.size()];
  if (!thread.ignores.empty() && random_.below(4) == 0) family = Family::kAnnotation;
  if (ignores_sync(thread)) {
    // Synchronisation that does not count would carry shares along an edge
    // that is not there.
    const bool harmless = family == Family::kAccess || family == Family::kCall || family == Family::kSampling;
    if (!harmless && !is_lawless()) return step_ignore(slot, event);
  }
  return take_step(family, slot, event);
}

bool TraceGenerator::Simulation::take_step(Family family, Slot slot, Event& event) {
  switch (family) {
    case Family::kAccess:
      return step_access(slot, event);
    case Family::kAtomic:
      return step_atomic(slot, event);
    case Family::kFence:
      return step_fence(slot, event);
    case Family::kLock:
      return step_lock(slot, event);
    case Family::kCondition:
      return step_condition(slot, event);
    case Family::kBarrier:
      return step_barrier(slot, event);
    case Family::kSemaphore:
      return step_semaphore(slot, event);
    case Family::kOnce:
      return step_once(slot, event);
    case Family::kThread:
      return step_thread(slot, event);
    case Family::kMemory:
      return step_memory(slot, event);
    case Family::kCall:
      return step_call(slot, event);
    case Family::kSampling:
      return step_sampling(slot, event);
    case Family::kAnnotation:
      return step_annotation(slot, event);
    case Family::kDestroy:
      return step_destroy(slot, event);
  }
  return false;
}

bool TraceGenerator::Simulation::wind_down(Event& event) {
  // Somebody can always move: whoever waits holds no lock, and a lock's holder
  // is ready to release it.
  for (const Slot slot : live_) {
    if (unwind(slot, event)) return true;
  }
  if (live_.empty()) return false;
  if (join(0, event)) return true;
  for (const Slot slot : live_) {
    if (slot != 0) return exit_thread(slot, event);
  }
  return exit_thread(0, event);
}

bool TraceGenerator::Simulation::unwind(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  if (thread.activity == Activity::kWaiting) return end_wait(slot, event);
  if (thread.activity == Activity::kAtBarrier) return leave_barrier(slot, event);
  if (!thread.ignores.empty()) {
    event = events::ignore(EventKind::kIgnoreEnd, thread.id, thread.ignores.back());
    thread.ignores.pop_back();
    return true;
  }
  if (!thread.held.empty()) {
    release_lock(slot, thread.held.size() - 1, event);
    return true;
  }
  if (thread.sampling) return step_sampling(slot, event);
  if (thread.open_calls > 0) {
    --thread.open_calls;
    event = events::plain(EventKind::kFunctionExit, thread.id);
    return true;
  }
  return !winding_down_ && exit_thread(slot, event);
}

}  // namespace deadheat
