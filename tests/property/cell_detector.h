// SPDX-License-Identifier: Apache-2.0
// CellDetector: the online detector's rules (core/cell_rules.h), run offline.
//
// Problem: the rules for cells of entries decide what the runtime finds, but a
// live run shows one schedule and has no oracle.
// Method: a detector over traces that follows runtime/on_access.cpp step by step,
// without its concurrency: the hooks' comparison with the first entry, then
// quick_plan, then plan_access for two entries, then plan_chain for a list, with the
// rules of a chain. Everything around it is the offline engine's: order of
// events, calls and locks, collection of races. Where the runtime may choose
// (known_to_all is worked out now or later, a combination of origins is refused,
// the quick plan is tried or not) a seeded generator chooses.
//
// Slots is where the short epochs come from: PlainSlots below, or the model of
// slot recycling in recycled_slots.h. It has
//   order():            thread(id), apply, atomic_acquire, atomic_release, forget_atomics
//   short_epoch(Epoch), full_clock(ShortEpoch), known_to_all(ThreadSlot), owner(ShortEpoch)
//   refresh_known_to_all(threads): the view of all threads that live now
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/access_record.h"
#include "core/chain_rules.h"
#include "core/detector.h"
#include "core/happens_before.h"
#include "core/ignore_state.h"
#include "core/pacer_clock.h"
#include "core/race_collector.h"
#include "core/situation.h"

namespace deadheat {

// How origins are numbered: each access its own, so that the origin of each byte
// can be checked; or few, as those of a loop are, so that entries merge by having
// the same one.
enum class OriginNumbers : std::uint8_t { kOnePerAccess, kFew };

struct CellDetectorOptions {
  ReleaseSequences release_sequences = ReleaseSequences::kCpp11;
  std::uint64_t seed = 1;
  OriginNumbers origins = OriginNumbers::kOnePerAccess;
  double quick_chance = 0.7;
  double refuse_chance = 0.1;    // of combining two origins
  double refresh_chance = 0.15;  // per event: known_to_all is worked out again
};

inline CellDetectorOptions random_cell_options(std::uint64_t seed) {
  CellDetectorOptions options;
  options.seed = seed;
  options.release_sequences = seed % 2 == 0 ? ReleaseSequences::kCpp11 : ReleaseSequences::kCpp20;
  options.origins = seed % 5 == 4 ? OriginNumbers::kFew : OriginNumbers::kOnePerAccess;
  constexpr double kChances[] = {0, 0.7, 1};
  options.quick_chance = kChances[seed / 2 % 3];
  options.refuse_chance = seed / 3 % 4 == 0 ? 1 : 0.1;
  options.refresh_chance = kChances[seed / 5 % 3] * 0.3;
  return options;
}

// The accesses behind the numbers, and combinations of them.
class OriginTable {
 public:
  OriginTable() : nodes_(1) {}

  OriginId add(AccessKind kind, const AccessRecord& record) {
    nodes_.push_back(Node{kind, record, {}, {}, 0});
    return OriginId{static_cast<std::uint32_t>(nodes_.size() - 1)};
  }
  OriginId combine(OriginId earlier, OriginId added, ByteMask mask) {
    nodes_.push_back(Node{AccessKind::kRead, {}, earlier, added, mask});
    return OriginId{static_cast<std::uint32_t>(nodes_.size() - 1)};
  }
  struct Node {
    AccessKind kind = AccessKind::kRead;
    AccessRecord record;
    OriginId earlier{};
    OriginId added{};
    ByteMask mask = 0;  // 0: not a combination
  };
  [[nodiscard]] const Node& of_byte(OriginId origin, int byte) const {
    const Node* node = &nodes_[raw(origin)];
    while (node->mask != 0) node = &nodes_[raw((node->mask >> byte & 1) != 0 ? node->added : node->earlier)];
    return *node;
  }

 private:
  std::vector<Node> nodes_;
};

// Slots as BasicHappensBefore gives them, never recycled: the base of each is 0.
template <class Clocks>
class BasicPlainSlots {
 public:
  using Thread = typename Clocks::Thread;

  explicit BasicPlainSlots(ReleaseSequences release_sequences) : order_(release_sequences) {}

  BasicHappensBefore<Clocks>& order() { return order_; }
  [[nodiscard]] static ShortEpoch short_epoch(Epoch epoch) {
    return ShortEpoch(ThreadSlot{raw(epoch.slot()) + 1}, static_cast<std::uint32_t>(epoch.clock()));
  }
  [[nodiscard]] static Clock full_clock(ShortEpoch epoch) { return epoch.clock(); }
  [[nodiscard]] static ThreadSlot in_clocks(ThreadSlot slot) { return ThreadSlot{raw(slot) - 1}; }
  [[nodiscard]] Clock known_to_all(ThreadSlot slot) const { return raw(slot) < known_.size() ? known_[raw(slot)] : 0; }
  [[nodiscard]] ThreadId owner(ShortEpoch epoch) const {
    return order_.owner(Epoch(in_clocks(epoch.slot()), epoch.clock()));
  }
  void refresh_known_to_all(const std::vector<const Thread*>& living) {
    if (living.empty()) return;
    known_.resize(order_.slots() + 1);
    for (std::uint32_t slot = 1; slot < known_.size(); ++slot) {
      Clock least = Epoch::kMaxClock;
      for (const Thread* thread : living) least = std::min(least, thread->clock_of(in_clocks(ThreadSlot{slot})));
      known_[slot] = std::max(known_[slot], least);
    }
  }
  template <class ForEachEntry>
  void recycle(ForEachEntry&&) {}

 private:
  BasicHappensBefore<Clocks> order_;
  std::vector<Clock> known_;
};
using PlainSlots = BasicPlainSlots<CopiedClocks<>>;
// Threads that sample at times, as sampling events say.
using SampledSlots = BasicPlainSlots<PacerClocks<>>;

template <class Slots>
class CellDetector final : public Detector {
 public:
  template <class... SlotArguments>
  explicit CellDetector(const CellDetectorOptions& options, SlotArguments&&... arguments)
      : options_(options), random_(options.seed), slots_(arguments...), collector_(situations_) {}

  // The whole trace at once: threads that appear without Fork must be known in
  // advance, because they know nothing of what all others know.
  void process(std::span<const Event> events) override {
    find_last_root(events);
    for (const Event& event : events) {
      step(event);
      slots_.recycle([&](auto&& visit) { for_each_entry(visit); });
      if (random_.chance(options_.refresh_chance)) slots_.refresh_known_to_all(living());
      ++event_index_;
    }
  }

  [[nodiscard]] const std::vector<Finding>& findings() const override { return collector_.findings(); }
  [[nodiscard]] std::vector<Range> racy_bytes() const override { return collector_.racy_bytes(); }
  [[nodiscard]] std::vector<Counter> counters() const override {
    return {{"quick", quick_},
            {"merged", merged_},
            {"extended", extended_},
            {"collapsed", collapsed_},
            {"compacted", compacted_}};
  }
  [[nodiscard]] const Slots& slots() const { return slots_; }

  // What an entry said of itself and could not be; empty: all was consistent.
  [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

 private:
  using Thread = typename Slots::Thread;
  static constexpr bool kSamples = requires(Thread thread) { thread.enter_sampling(); };

  struct ThreadState {
    Thread* clock = nullptr;
    Trail trail;
    IgnoreState ignore;
    bool has_exited = false;
  };
  struct Cell {
    CellEntry entries[2];
    std::vector<CellEntry> chain;  // not empty: instead of entries[1]
  };

  // What the thread, and what all threads know; see runtime/thread_registry.h.
  class View {
   public:
    View(CellDetector& detector, const Thread& clock) : detector_(detector), clock_(clock) {}
    [[nodiscard]] bool happened_before(CellEntry entry) const {
      return detector_.slots_.full_clock(entry.epoch()) <= clock_.clock_of(detector_.slots_.in_clocks(entry.slot()));
    }
    [[nodiscard]] static bool is_known_with(CellEntry older, CellEntry younger) {
      return older.slot() == younger.slot() && older.epoch().clock() <= younger.epoch().clock();
    }
    [[nodiscard]] bool is_obsolete(CellEntry entry) const {
      return detector_.slots_.full_clock(entry.epoch()) <= detector_.slots_.known_to_all(entry.slot());
    }
    [[nodiscard]] OriginId combine(OriginId earlier, OriginId added, ByteMask mask) const {
      if (detector_.random_.chance(detector_.options_.refuse_chance)) return OriginId::kUnknown;
      return detector_.origins_.combine(earlier, added, mask);
    }

   private:
    CellDetector& detector_;
    const Thread& clock_;
  };

  // One access to one word on its way through the steps.
  struct Visit {
    ThreadState& self;
    const Event& event;
    Address word;
    CellAccess access;
    AccessKind kind;
    AccessRecord record;
  };

  void find_last_root(std::span<const Event> events) {
    std::map<ThreadId, bool> seen;
    for (std::uint64_t index = 0; index < events.size(); ++index) {
      if (seen.try_emplace(events[index].thread).second) last_root_ = index;
      if (events[index].kind == EventKind::kFork) seen.try_emplace(events[index].other_thread());
    }
  }

  std::vector<const Thread*> living() {
    std::vector<const Thread*> result;
    if (event_index_ < last_root_) return result;
    for (const auto& [id, thread] : threads_) {
      if (!thread.has_exited) result.push_back(thread.clock);
    }
    return result;
  }

  template <class Visitor>
  void for_each_entry(Visitor&& visit) {
    for (auto& [word, cell] : cells_) {
      for (CellEntry& entry : cell.entries) visit(entry);
      for (CellEntry& entry : cell.chain) visit(entry);
    }
  }

  ThreadState& thread(ThreadId id) {
    ThreadState& state = threads_[id];
    if (state.clock == nullptr) state.clock = &slots_.order().thread(id);
    return state;
  }

  void step(const Event& event) {
    ThreadState& self = thread(event.thread);
    switch (event.kind) {
      case EventKind::kRead:
        return access<AccessKind::kRead>(self, event);
      case EventKind::kWrite:
        return access<AccessKind::kWrite>(self, event);
      case EventKind::kFree:
        return access<AccessKind::kFree>(self, event);
      case EventKind::kAtomicLoad:
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
        return atomic(self, event);
      case EventKind::kAlloc:
        collector_.forget_benign(event.address(), event.size());
        slots_.order().forget_atomics(event.address(), event.size());
        return forget(event.address(), event.size());
      case EventKind::kBenignRange:
        return collector_.mark_benign(event.address(), event.size());
      case EventKind::kFunctionEnter:
        return situations_.enter(self.trail, event.site);
      case EventKind::kFunctionExit:
        return situations_.leave(self.trail);
      case EventKind::kIgnoreBegin:
        return self.ignore.begin(event.ignored());
      case EventKind::kIgnoreEnd:
        return self.ignore.end(event.ignored());
      case EventKind::kSamplingBegin:
      case EventKind::kSamplingEnd:
        return change_period(self, event.kind == EventKind::kSamplingBegin);
      default:
        return synchronise(self, event);
    }
  }

  static void change_period(ThreadState& self, bool begins) {
    if constexpr (kSamples) {
      begins ? self.clock->enter_sampling() : self.clock->leave_sampling();
    } else {
      static_cast<void>(self);
      static_cast<void>(begins);
    }
  }
  [[nodiscard]] static bool is_unsampled(const ThreadState& self) {
    if constexpr (kSamples) return !self.clock->is_sampling();
    return false;
  }

  void atomic(ThreadState& self, const Event& event) {
    const bool synchronises = !self.ignore.ignores_sync();
    if (event.kind != EventKind::kAtomicStore && synchronises) slots_.order().atomic_acquire(*self.clock, event);
    if (event.kind == EventKind::kAtomicLoad) return access<AccessKind::kAtomicRead>(self, event);
    access<AccessKind::kAtomicWrite>(self, event);
    if (synchronises) slots_.order().atomic_release(*self.clock, event);
  }

  void synchronise(ThreadState& self, const Event& event) {
    switch (event.kind) {
      case EventKind::kLockAcquire:
        if (event.is_outermost()) situations_.acquire(self.trail, event.sync(), event.lock_mode());
        break;
      case EventKind::kLockRelease:
        if (event.is_outermost()) situations_.release(self.trail, event.sync(), event.lock_mode());
        break;
      case EventKind::kCondWaitBegin:
        situations_.release(self.trail, event.mutex(), LockMode::kExclusive);
        break;
      case EventKind::kCondWaitEnd:
        situations_.acquire(self.trail, event.mutex(), LockMode::kExclusive);
        break;
      case EventKind::kThreadExit:
        for (const HeldLock& held : situations_.locks(situations_.of(self.trail))) {
          synchronise(self, events::at(events::release(event.thread, held.lock, held.mode), event.site));
        }
        self.has_exited = true;
        break;
      default:
        break;
    }
    if (!self.ignore.ignores_sync() || is_thread_event(event.kind)) slots_.order().apply(*self.clock, event);
    if (event.kind == EventKind::kFork) thread(event.other_thread());
  }

  void forget(Address begin, std::uint64_t size) {
    for (Address byte = begin; byte < begin + size; ++byte) {
      const auto found = cells_.find(byte & ~Address{7});
      if (found == cells_.end()) continue;
      const auto rest = static_cast<ByteMask>(~(1U << (byte & 7)));
      const auto without = [&](CellEntry entry) {
        const auto mask = static_cast<ByteMask>(entry.mask() & rest);
        return mask == 0 ? CellEntry{} : CellEntry(entry.epoch(), mask, entry.kind(), entry.origin());
      };
      const CellEntry first = found->second.entries[0];
      for (CellEntry& entry : found->second.entries) entry = without(entry);
      for (CellEntry& entry : found->second.chain) entry = without(entry);
      if (kSamples && has_further_entries(found->second)) found->second.entries[0] = first.without_bytes(0xff & ~rest);
    }
  }

  template <AccessKind kKind>
  void access(ThreadState& self, const Event& event) {
    if (event.size() == 0 || self.ignore.ignores(kKind)) return;
    constexpr WriteFlavour kFlavour = kKind == AccessKind::kFree ? WriteFlavour::kFree : WriteFlavour::kStore;
    const AccessRecord record(self.clock->epoch(), event.site, situations_.of(self.trail), event.size(), kFlavour);
    const Address end = event.address() + event.size();
    Visit visit{self, event, 0, {}, kKind, record};
    visit.access.epoch = slots_.short_epoch(self.clock->epoch());
    visit.access.kind = kKind;
    visit.access.origin = origin_of(kKind, record);
    for (Address word = event.address() & ~Address{7}; word < end; word += 8) {
      visit.word = word;
      visit.access.mask = 0;
      for (int byte = 0; byte < 8; ++byte) {
        const bool is_in = word + byte >= event.address() && word + byte < end;
        if (is_in) visit.access.mask = static_cast<ByteMask>(visit.access.mask | 1U << byte);
      }
      access_word<kKind>(visit, cells_[word]);
    }
  }

  OriginId origin_of(AccessKind kind, const AccessRecord& record) {
    if (options_.origins == OriginNumbers::kOnePerAccess) return origins_.add(kind, record);
    OriginId& known = few_origins_[{kind, raw(record.site()) % 2}];
    if (known == OriginId::kUnknown) known = origins_.add(kind, record);
    return known;
  }

  // As in runtime/unsampled.cpp: the first entry keeps its place as long as there are
  // others.
  void access_unsampled(const Visit& visit, Cell& cell, const View& view) {
    if (cell.entries[0].is_empty()) return;
    const auto change = [&](CellEntry& entry) {
      if (!entry.has_bytes()) return;
      report_if_race(visit, entry, view);
      entry = left_by_unsampled(entry, visit.access, view);
    };
    const auto change_further = [&](CellEntry& entry) {
      change(entry);
      if (!entry.has_bytes()) entry = CellEntry{};
    };
    change_further(cell.entries[1]);
    for (CellEntry& entry : cell.chain) change_further(entry);
    change(cell.entries[0]);
    if (!cell.entries[0].has_bytes() && !has_further_entries(cell)) cell.entries[0] = CellEntry{};
  }

  [[nodiscard]] static bool has_further_entries(const Cell& cell) {
    bool has_any = cell.entries[1].has_bytes();
    for (const CellEntry entry : cell.chain) has_any |= entry.has_bytes();
    return has_any;
  }

  // What the inline checks of threads that do not sample rely on.
  void check_visible(const Cell& cell) {
    if (!kSamples || !cell.entries[0].is_empty()) return;
    if (has_further_entries(cell)) contradiction_ = "a cell is empty at first sight and has entries";
  }

  template <AccessKind kKind>
  void access_word(const Visit& visit, Cell& cell) {
    const View view(*this, *visit.self.clock);
    if (is_unsampled(visit.self)) {
      access_unsampled(visit, cell, view);
    } else {
      access_sampled<kKind>(visit, cell, view);
    }
    check_visible(cell);
  }

  template <AccessKind kKind>
  void access_sampled(const Visit& visit, Cell& cell, const View& view) {
    const std::uint64_t mask_bits = std::uint64_t{visit.access.mask} << CellEntry::kMaskShift;
    const std::uint64_t wanted = (std::uint64_t{visit.access.epoch.bits()} << CellEntry::kEpochShift) | mask_bits;
    const bool is_hit = ((cell.entries[0].bits() ^ wanted) & CellEntry::care_bits(kKind, mask_bits)) == 0;
    if (kKind != AccessKind::kFree && is_hit) return;
    if constexpr (kKind == AccessKind::kRead || kKind == AccessKind::kWrite) {
      if (random_.chance(options_.quick_chance) && settle_quickly<kKind>(visit, cell, view)) return;
    }
    if (!cell.chain.empty()) return check_chain(visit, cell, view);
    const CellPlan plan = plan_access(cell.entries, visit.access, view);
    if (plan.step == CellPlan::Step::kNothing) return;
    for (const CellEntry entry : cell.entries) report_if_race(visit, entry, view);
    if (plan.step == CellPlan::Step::kPlace) {
      cell.entries[plan.index] = plan.value;
      return;
    }
    ++extended_;
    cell.chain.assign(4, CellEntry{});
    cell.chain[0] = cell.entries[1];
    cell.chain[1] = cell.entries[0];
    cell.entries[0] = visit.access.entry();
    cell.entries[1] = CellEntry{};
  }

  template <AccessKind kKind>
  bool settle_quickly(const Visit& visit, Cell& cell, const View& view) {
    if (!cell.chain.empty()) {
      for (const CellEntry entry : cell.chain) {
        if (is_same_epoch(entry, visit.access)) return true;
      }
      return false;
    }
    const CellEntry own = visit.access.entry();
    QuickPlan plan = next_in_loop<kKind>(cell.entries[0], cell.entries[1], own);
    if (plan == QuickPlan::kAsk) plan = quick_plan<kKind>(cell.entries[0], cell.entries[1], own, view);
    if (plan == QuickPlan::kAsk) return false;
    CellEntry& place = cell.entries[plan >= QuickPlan::kSecond ? 1 : 0];
    CellEntry value = own;
    if (plan == QuickPlan::kFirstMerged || plan == QuickPlan::kSecondMerged) {
      value = merged(place, visit.access, view);
      if (value.is_empty()) return false;
      ++merged_;
    }
    place = value;
    ++quick_;
    return true;
  }

  void check_chain(const Visit& visit, Cell& cell, const View& view) {
    using Step = ChainPlan::Step;
    std::vector<CellEntry> all = {cell.entries[0]};
    all.insert(all.end(), cell.chain.begin(), cell.chain.end());
    const ChainPlan plan = plan_chain(all, visit.access, view);
    if (plan.step == Step::kNothing) return;
    for (const CellEntry entry : all) report_if_race(visit, entry, view);
    if (plan.step == Step::kShrink) {
      ++collapsed_;
      cell = Cell{};
      cell.entries[0] = plan.value;
      cell.entries[1] = plan.stays[0];
    } else if (all.size() > 5 && plan.staying <= ChainPlan::kMostStaying) {
      ++compacted_;
      cell.chain.assign(4, CellEntry{});
      cell.chain[0] = plan.value;
      for (int index = 0, used = 1; index < plan.staying; ++index) {
        if (plan.stays[index] != cell.entries[0]) cell.chain[used++] = plan.stays[index];
      }
    } else if (plan.step == Step::kPlace) {
      (plan.index == 0 ? cell.entries[0] : cell.chain[plan.index - 1]) = plan.value;
    } else {
      cell.chain.push_back(plan.value);
      cell.chain.resize(cell.chain.size() + 2);
    }
  }

  void report_if_race(const Visit& visit, CellEntry entry, const View& view) {
    if (!is_race(entry, visit.access, view)) return;
    for (int byte = 0; byte < 8; ++byte) {
      if ((entry.mask() & visit.access.mask & 1U << byte) == 0) continue;
      const OriginTable::Node& origin = origins_.of_byte(entry.origin(), byte);
      if (options_.origins == OriginNumbers::kOnePerAccess) check_entry(entry, origin);
      const Touched touched{visit.word, 8, static_cast<ByteMask>(1U << byte)};
      collector_.add(RawAccess{origin.kind, slots_.owner(entry.epoch()), origin.record},
                     RawAccess{visit.kind, visit.self.clock->id(), visit.record}, visit.event.size(), touched,
                     event_index_);
    }
  }

  void check_entry(CellEntry entry, const OriginTable::Node& origin) {
    if (history_of(origin.kind) != entry.kind()) contradiction_ = "an entry has the kind of another access";
    if (origin.record.epoch().clock() != slots_.full_clock(entry.epoch()) ||
        origin.record.epoch().slot() != slots_.in_clocks(entry.slot())) {
      contradiction_ = "an entry has the epoch of another access";
    }
  }

  CellDetectorOptions options_;
  Random random_;
  Slots slots_;
  std::map<Address, Cell> cells_;
  OriginTable origins_;
  std::map<std::pair<AccessKind, std::uint32_t>, OriginId> few_origins_;
  SituationTable situations_;
  RaceCollector collector_;
  std::map<ThreadId, ThreadState> threads_;
  std::string contradiction_;
  std::uint64_t event_index_ = 0;
  std::uint64_t last_root_ = 0;
  std::uint64_t quick_ = 0;
  std::uint64_t merged_ = 0;
  std::uint64_t extended_ = 0;
  std::uint64_t collapsed_ = 0;
  std::uint64_t compacted_ = 0;
};

}  // namespace deadheat
