// SPDX-License-Identifier: Apache-2.0
// Steps of a thread's life (fork, join, exit), and those that concern one
// thread alone: calls, sampling periods, annotations.
#include <algorithm>

#include "base/check.h"
#include "base/raw.h"
#include "trace/trace_generator_simulation.h"

namespace deadheat {

using namespace generator;

namespace {

constexpr std::uint32_t kMostCalls = 8;
constexpr std::size_t kMostIgnores = 2;

}  // namespace

bool TraceGenerator::Simulation::ignores_sync(const Thread& thread) {
  return std::any_of(thread.ignores.begin(), thread.ignores.end(),
                     [](Ignore what) { return includes(what, Ignore::kSync); });
}

bool TraceGenerator::Simulation::create_thread(Slot& slot) {
  if (next_thread_ >= kThreadLimit) return false;
  const auto free = std::find_if(threads_.begin(), threads_.end(),
                                 [](const Thread& thread) { return thread.activity == Activity::kAbsent; });
  if (free == threads_.end()) return false;
  *free = Thread{};
  free->id = ThreadId{next_thread_++};
  free->activity = Activity::kReady;
  name_thread(free->id);
  slot = static_cast<Slot>(free - threads_.begin());
  live_.push_back(slot);
  ++ready_;
  return true;
}

// Takes the thread out of the living; its slot is still its own.
void TraceGenerator::Simulation::bury(Slot slot) {
  Thread& thread = threads_[slot];
  for (const generator::HeldLock& held : thread.held) {
    Lock& lock = locks_[held.lock];
    if (held.mode == LockMode::kShared) {
      --lock.readers;
    } else {
      lock.owner = kNobody;
    }
  }
  thread.held.clear();
  permissions_.recall(thread.fenced);
  permissions_.recall(thread.unread);
  live_.erase(std::find(live_.begin(), live_.end(), slot));
  --ready_;
  if (current_ == slot) current_ = 0;
}

bool TraceGenerator::Simulation::fork(Slot slot, Event& event) {
  Slot child = 0;
  if (!create_thread(child)) return false;
  threads_[child].joinable = true;
  permissions_.endow(slot, child, random_);
  event = events::on_thread(EventKind::kFork, threads_[slot].id, threads_[child].id);
  return true;
}

// A thread that nobody will join needs a tag to leave its shares at. Without
// tags it may have to live to the end, so only few such threads can be afforded.
bool TraceGenerator::Simulation::may_add_unjoinable() const {
  if (options_.mix.annotation > 0) return true;
  const auto unjoinable =
      std::count_if(live_.begin(), live_.end(), [this](Slot slot) { return slot != 0 && !threads_[slot].joinable; });
  return unjoinable < std::max<std::ptrdiff_t>(options_.threads / 4, 1);
}

// A thread out of nowhere; it knows nothing and holds no share.
bool TraceGenerator::Simulation::start_root(Event& event) {
  Slot slot = 0;
  if (emitted_ == 0) return false;  // the first event says who the first thread is
  if (!may_add_unjoinable()) return false;
  if (!create_thread(slot)) return false;
  event = events::plain(EventKind::kThreadRoot, threads_[slot].id);
  return true;
}

bool TraceGenerator::Simulation::join(Slot slot, Event& event) {
  Slot other = slot;
  if (!exited_.empty()) {
    const std::size_t position = pick(exited_.size());
    other = exited_[position];
    exited_.erase(exited_.begin() + static_cast<std::ptrdiff_t>(position));
  } else {
    // A thread whose exit was not recorded: its last event is behind it.
    other = live_[pick(live_.size())];
    const Thread& thread = threads_[other];
    if (other == slot || thread.activity != Activity::kReady || !thread.joinable || !thread.held.empty() ||
        !thread.ignores.empty() || permissions_.has_mail_out(other) || random_.below(4) != 0) {
      return false;
    }
    bury(other);
    if (current_ == other) current_ = slot;
  }
  turn_to(threads_[slot], permissions_.inherit(other, slot));
  threads_[other].activity = Activity::kAbsent;
  event = events::on_thread(EventKind::kJoin, threads_[slot].id, threads_[other].id);
  return true;
}

bool TraceGenerator::Simulation::detach(Slot slot, Event& event) {
  Thread& other = threads_[live_[pick(live_.size())]];
  if (!other.joinable || !may_add_unjoinable()) return false;
  other.joinable = false;
  event = events::on_thread(EventKind::kDetach, threads_[slot].id, other.id);
  return true;
}

// Nobody may be left waiting for what the thread takes with it: mail that may
// come back keeps it alive, and what a thread that will not be joined holds
// goes to a tag first.
bool TraceGenerator::Simulation::exit_thread(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  if (!winding_down_) {
    thread.leaving = false;
    permissions_.recall(thread.fenced);
    if (permissions_.has_mail_out(slot)) return false;
    if (!thread.joinable && permissions_.holds_anything(slot)) {
      if (options_.mix.annotation == 0) return false;
      const std::uint32_t tag = pick(tags_.size());
      permissions_.send_all(slot, tags_[tag]);
      permissions_.disown(tags_[tag]);
      thread.leaving = true;
      event = events::on_sync(EventKind::kHappensBefore, thread.id, sync_id(SyncFamily::kTag, tag));
      return true;
    }
  }
  bury(slot);
  event = events::plain(EventKind::kThreadExit, thread.id);
  thread.activity = thread.joinable ? Activity::kExited : Activity::kAbsent;
  if (thread.joinable) exited_.push_back(slot);
  return true;
}

bool TraceGenerator::Simulation::step_thread(Slot slot, Event& event) {
  switch (random_.below(8)) {
    case 0:
    case 1:
    case 2:
      return fork(slot, event);
    case 3:
    case 4:
      return join(slot, event);
    case 5:
      return random_.below(2) == 0 && detach(slot, event);
    case 6:
      return random_.below(4) == 0 && start_root(event);
    default:
      break;
  }
  if (slot == 0) return false;
  // Lawless threads die where they stand, locks held and calls open.
  if (!is_lawless()) {
    threads_[slot].leaving = true;
    return unwind(slot, event);
  }
  return exit_thread(slot, event);
}

bool TraceGenerator::Simulation::step_call(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  const bool enters = thread.open_calls == 0 || (thread.open_calls < kMostCalls && random_.below(2) == 0);
  thread.open_calls += enters ? 1U : UINT32_MAX;
  event = events::plain(enters ? EventKind::kFunctionEnter : EventKind::kFunctionExit, thread.id);
  return true;
}

bool TraceGenerator::Simulation::step_sampling(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  thread.sampling = !thread.sampling;
  event = events::plain(thread.sampling ? EventKind::kSamplingBegin : EventKind::kSamplingEnd, thread.id);
  return true;
}

bool TraceGenerator::Simulation::step_ignore(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  if (!thread.ignores.empty() && (thread.ignores.size() >= kMostIgnores || random_.below(4) != 0)) {
    event = events::ignore(EventKind::kIgnoreEnd, thread.id, thread.ignores.back());
    thread.ignores.pop_back();
    return true;
  }
  constexpr Ignore kChoices[] = {Ignore::kReads, Ignore::kWrites, Ignore::kReadsAndWrites, Ignore::kSync, Ignore::kAll};
  thread.ignores.push_back(kChoices[random_.below(std::size(kChoices))]);
  event = events::ignore(EventKind::kIgnoreBegin, thread.id, thread.ignores.back());
  return true;
}

bool TraceGenerator::Simulation::step_annotation(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  const std::uint32_t tag = pick(tags_.size());
  const SyncId id = sync_id(SyncFamily::kTag, tag);
  const std::uint64_t choice = random_.below(16);
  if (choice == 0) {
    const Item& item = permissions_.item(pick(permissions_.item_count()));
    if (item.size == 0) return false;
    Address address = 0;
    std::uint64_t size = 0;
    pick_range(thread, item.address, item.size, address, size);
    event = events::on_range(EventKind::kBenignRange, thread.id, address, size);
    return true;
  }
  if (choice < 6) return step_ignore(slot, event);
  if (choice < 11) {
    permissions_.send(slot, tags_[tag], random_);
    permissions_.disown(tags_[tag]);
    event = events::on_sync(EventKind::kHappensBefore, thread.id, id);
  } else {
    turn_to(thread, permissions_.receive(slot, tags_[tag], random_));
    event = events::on_sync(EventKind::kHappensAfter, thread.id, id);
  }
  return true;
}

}  // namespace deadheat
