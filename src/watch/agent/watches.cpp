// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/watches.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <ctime>

#include "watch/agent/budget.h"
#include "watch/agent/control.h"
#include "watch/agent/counters.h"
#include "watch/agent/operand.h"
#include "watch/agent/sites.h"
#include "watch/agent/stack_walk.h"
#include "watch/agent/tell.h"

namespace deadheat::watch {

constinit Budget budget;

namespace {

constinit Watch watches[kMostSlots] = {};
// How long a thread stands for breakpoints that do not come: the agent's thread may not get a processor.
constexpr std::uint64_t kPatience = 2 * kMillisecond;
// What is not suspected is stopped for a part of the time.
constexpr std::uint64_t kPlainStopPart = 4;
// A site that was watched this often without a trip is watched for half as long, and so on.
constexpr std::uint64_t kPatientWatches = 4;
constexpr std::uint64_t kShortestWindow = 2 * kMillisecond;
constinit Settings settings;

std::uint64_t some_number() {
  std::uint64_t mixed = (__builtin_ia32_rdtsc() ^ settings.seed) * 0x9e3779b97f4a7c15ULL;
  return mixed ^ mixed >> 29;
}

// The data of a trap: mark, generation, slot.
constexpr std::uint64_t kMark = 0xdead;
std::uint64_t data_of(std::uint64_t generation, std::uint32_t slot) {
  return kMark << 48 | (generation & 0xff'ffff'ffff) << 8 | slot;
}

// Sites that are worth a stall, for the agent's thread; the oldest are overwritten. A suspect is;
// to a lesser degree whoever accesses what another thread accesses within the same
// milliseconds: a program that locks all the time has no suspects. Neither those of lock-free code
// nor properly locked data may take all stalls for ever, hence the limit of nominations.
constexpr std::uint32_t kMostNominated = 64;
struct Nomination {
  std::uint8_t stalls;
  std::uint8_t most_nominations;
};
constexpr Nomination kSuspect = {12, 8};
constexpr Nomination kShared = {4, 3};
constinit std::atomic<std::uint32_t> nominated[kMostNominated] = {};  // index + 1
constinit std::atomic<std::uint32_t> next_nominated{0};
constinit std::atomic<bool> is_any_nominated{false};

void nominate(std::uint32_t site, const Nomination& nomination) {
  if (site == kNoSite || !Sites::may_be_sampled(sites.site(site))) return;
  SiteState& state = sites.state(site);
  if (state.nominations.load(std::memory_order_relaxed) >= nomination.most_nominations) return;
  if (state.nominated_stalls.exchange(nomination.stalls, std::memory_order_relaxed) != 0) return;
  state.nominations.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t place = next_nominated.fetch_add(1, std::memory_order_relaxed) % kMostNominated;
  nominated[place].store(site + 1, std::memory_order_relaxed);
  is_any_nominated.store(true, std::memory_order_relaxed);
}

void end_nomination(std::uint32_t site) {
  if (site != kNoSite) sites.state(site).nominated_stalls.store(0, std::memory_order_relaxed);
}

bool is_nominated(std::uint32_t site) {
  return sites.state(site).nominated_stalls.load(std::memory_order_relaxed) != 0;
}

// One slot is kept for sites that would come too late otherwise: hot ones are hit within microseconds.
Watch* take_watch(std::uint32_t site, std::uint32_t& slot) {
  const bool may_have_last = settings.slots == 1 || is_nominated(site) || is_rarely_watched(site);
  const std::uint64_t slots = may_have_last ? settings.slots : settings.slots - 1;
  for (slot = 0; slot < slots; ++slot) {
    WatchPhase seen = WatchPhase::kFree;
    if (watches[slot].phase.compare_exchange_strong(seen, WatchPhase::kTaken, std::memory_order_acquire)) {
      return &watches[slot];  // pairs with the store in free_watch()
    }
  }
  return nullptr;
}

void free_watch(Watch& watch) { watch.phase.store(WatchPhase::kFree, std::memory_order_seq_cst); }  // with Pin

// The watch stays as it is during its life, if it is the one that was meant.
class Pin {
 public:
  Pin(Watch& watch, std::uint64_t data, std::uint32_t slot) : watch_(watch) {
    watch_.pins.fetch_add(1, std::memory_order_seq_cst);  // before the phase is read: see close()
    const WatchPhase phase = watch_.phase.load(std::memory_order_seq_cst);
    holds_ = (phase == WatchPhase::kArming || phase == WatchPhase::kLive) &&
             data_of(watch_.generation.load(std::memory_order_relaxed), slot) == data;
  }
  ~Pin() { watch_.pins.fetch_sub(1, std::memory_order_release); }  // pairs with close()
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  Watch& watch_;
  bool holds_ = false;
};

void wait_for_pins(const Watch& watch) {
  while (watch.pins.load(std::memory_order_seq_cst) != 0) raw_call(SYS_sched_yield);
}

void describe(WatchedAccess& access, const ThreadRecord& self, const ucontext_t& context) {
  access.thread = self.system_number;
  raw_call(SYS_prctl, PR_GET_NAME, as_argument(access.thread_name));
  access.frame_count =
      walk_stack(self, register_of(context, REG_RSP), register_of(context, REG_RBP), access.frames, kWatchFrames);
}

bool take_stall(std::uint64_t time, std::int64_t reserve) {
  const auto price = static_cast<std::int64_t>(time);
  return budget.stalls.amount() >= reserve + price && budget.stalls.take(price);
}

// For how long its thread is to stand before the access; 0: not at all. The time is taken from the budget.
std::uint64_t choose_stall(std::uint32_t site) {
  const std::uint64_t whole = settings.stall_us * kMicrosecond;
  if (settings.method == Method::kClock) return 0;
  const std::uint64_t part = whole / kPlainStopPart;
  // Properly locked data are nominated as well, so that these stops have to be many rather than long.
  if (is_nominated(site)) {
    const bool is_suspected = sites.state(site).nominated_stalls.load(std::memory_order_relaxed) > kShared.stalls;
    const std::uint64_t time = is_suspected ? whole : part;
    return take_stall(time, 0) ? time : 0;
  }
  // The last one is kept for those that would come too late.
  const auto one = is_rarely_watched(site) ? 0 : static_cast<std::int64_t>(whole);
  if (settings.method == Method::kCollide) return take_stall(whole, one) ? whole : 0;
  // A watch without a stop is the better look at a site of which nothing is known: it lasts longer. But code that never
  // nominates anything is to be stopped as well, with what nominated sites leave.
  if ((some_number() & 1) != 0) return 0;
  const std::int64_t reserve =
      is_any_nominated.load(std::memory_order_relaxed) ? budget.stall_cap.load(std::memory_order_relaxed) / 2 : one;
  return take_stall(part, reserve) ? part : 0;
}

void count_stalled_nomination(std::uint32_t site) {
  std::atomic<std::uint8_t>& left = sites.state(site).nominated_stalls;
  std::uint8_t seen = left.load(std::memory_order_relaxed);
  while (seen != 0 &&
         !left.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen - 1), std::memory_order_relaxed)) {
  }
}

// From when the breakpoints are there until somebody trips, at most so long.
void stand(Watch& watch, std::uint64_t limit) {
  const std::uint64_t asked = read_clock(CLOCK_MONOTONIC);
  std::uint64_t begin = asked;
  for (;;) {
    const WatchPhase phase = watch.phase.load(std::memory_order_acquire);  // pairs with serve()
    if ((phase != WatchPhase::kAsked && phase != WatchPhase::kArming) || begin - asked >= kPatience) break;
    wait_while(&watch.phase, static_cast<std::uint32_t>(phase), kPatience - (begin - asked));
    begin = read_clock(CLOCK_MONOTONIC);
  }
  std::uint64_t passed = 0;
  while (passed < limit && watch.phase.load(std::memory_order_acquire) == WatchPhase::kLive &&
         watch.standing.load(std::memory_order_relaxed) == 1) {
    wait_while(&watch.standing, 1, limit - passed);
    passed = read_clock(CLOCK_MONOTONIC) - begin;
  }
  counters.stalls.add();
  counters.longest_stall_ns.raise(begin - asked + passed);
  // On a busy machine it waits for a processor afterwards, as it would have without us.
  const std::uint64_t waited = begin - asked < kPatience ? begin - asked : kPatience;
  const std::uint64_t stopped = waited + (passed < limit ? passed : limit);
  counters.stalled_ns.add(stopped);
  budget.stalls.pay(static_cast<std::int64_t>(stopped) - static_cast<std::int64_t>(limit));
}

void count_watch(std::uint32_t site) {
  counters.watches.add();
  std::atomic<std::uint16_t>& watched = sites.state(site).watched;
  const std::uint16_t times = watched.load(std::memory_order_relaxed);
  if (times == 0) counters.sites_covered.add();
  if (times != 0xffff) watched.store(static_cast<std::uint16_t>(times + 1), std::memory_order_relaxed);
}

void fill(Watch& watch, ThreadRecord& self, std::uint32_t site, Address code, const ucontext_t& context) {
  const Site& what = sites.site(site);
  const Address address = operand_address(what, code, context);
  watch.is_done.store(false, std::memory_order_relaxed);
  watch.thread = &self;
  watch.clock = self.clock.load(std::memory_order_relaxed);
  watch.site = site;
  watch.access.code = code;
  watch.access.address = address;
  watch.access.size = what.size;
  watch.access.flags = what.flags;
  describe(watch.access, self, context);
  copy_stack(watch.stack, context, code);
  watch.value = peek_memory(address, what.size);
}

bool is_plausible(Address address) { return address >= 4096 && address < Address{1} << 47; }

// Whoever gives up before there are breakpoints leaves nothing behind.
bool withdraw_watch(Watch& watch) {
  WatchPhase seen = WatchPhase::kAsked;
  if (!watch.phase.compare_exchange_strong(seen, WatchPhase::kTaken, std::memory_order_acquire)) return false;
  watch.standing.store(0, std::memory_order_relaxed);
  free_watch(watch);
  return true;
}

}  // namespace

void prepare_watches(const Settings& wanted) { settings = wanted; }

void on_sampled(ThreadRecord& self, std::uint32_t site, Address code, const ucontext_t& context) {
  if (settings.method == Method::kCollide && !can_stall()) return;
  if (!budget.permits.take(1)) return;
  std::uint32_t slot = 0;
  Watch* const watch = take_watch(site, slot);
  if (watch == nullptr) return;
  fill(*watch, self, site, code, context);
  if (!is_plausible(watch->access.address)) {
    free_watch(*watch);
    budget.permits.earn(1, kMostSlots);
    return;
  }
  const bool was_nominated = is_nominated(site);
  const std::uint64_t stall = choose_stall(site);
  if (stall == 0 && settings.method == Method::kCollide) return free_watch(*watch);
  count_watch(site);
  watch->standing.store(stall != 0 ? 1 : 0, std::memory_order_relaxed);
  watch->generation.store(watch->generation.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  watch->phase.store(WatchPhase::kAsked, std::memory_order_seq_cst);  // with all before it: pairs with Pin and serve()
  wake_control();
  if (stall == 0) return;
  stand(*watch, stall);
  if (withdraw_watch(*watch)) return;
  if (was_nominated) count_stalled_nomination(site);
  // From here on the access may happen: nobody can prove a race any more.
  const bool was_tripped = watch->standing.load(std::memory_order_relaxed) == 2;
  if (was_tripped || settings.method == Method::kCollide) watch->is_done.store(true, std::memory_order_relaxed);
  const bool is_over = watch->is_done.load(std::memory_order_relaxed);
  watch->standing.store(0, std::memory_order_seq_cst);  // pairs with on_trip() and serve_watches(): it may be freed now
  if (is_over) wake_control();
}

bool is_our_trip(std::uint64_t data) { return data >> 48 == kMark && (data & 0xff) < kMostSlots; }

void on_trip(ThreadRecord& self, std::uint64_t data, const ucontext_t& context) {
  const auto slot = static_cast<std::uint32_t>(data & 0xff);
  Watch& watch = watches[slot];
  const Pin pin(watch, data, slot);
  if (!pin.holds() || watch.thread == &self) return counters.late_trips.add();
  const bool is_same_stretch = watch.thread->clock.load(std::memory_order_relaxed) == watch.clock;
  counters.trips.add();

  const auto after = static_cast<Address>(context.uc_mcontext.gregs[REG_RIP]);
  const std::uint32_t site = sites.site_ending_at(after);
  if (site != kNoSite && (sites.site(site).flags & kAtomicSite) != 0) return counters.atomic_trips.add();
  std::uint32_t standing = 1;
  const bool is_confirmed = watch.standing.compare_exchange_strong(standing, 2, std::memory_order_seq_cst) ||
                            standing == 2;  // pairs with on_sampled()
  if (standing == 1) wake_waiters(&watch.standing);
  watch.is_done.store(true, std::memory_order_relaxed);
  if (!is_confirmed && settings.method == Method::kConfirm) {
    nominate(watch.site, is_same_stretch ? kSuspect : kShared);
    nominate(site, is_same_stretch ? kSuspect : kShared);
  }
  if (!is_confirmed && (!is_same_stretch || settings.method == Method::kCollide)) return wake_control();

  WatchedAccess access;
  access.code = site != kNoSite ? sites.address_of(site) : after - 1;
  access.address = watch.access.address;
  access.size = site != kNoSite ? sites.site(site).size : watchable_size(watch.access.address, watch.access.size);
  access.flags = site != kNoSite ? sites.site(site).flags : kReads | kWrites;
  describe(access, self, context);
  if (is_confirmed) {
    counters.confirmed.add();
    end_nomination(watch.site);
    end_nomination(site);
  } else {
    counters.suspects.add();
  }
  tell_collision({&watch.access, &access, &watch.stack, &context, is_confirmed, is_same_stretch, watch.value,
                  peek_memory(watch.access.address, watch.access.size)});
  wake_control();
}

namespace {

// Breakpoints slow down the threads that have them, for nothing where nobody has come by so far.
std::uint64_t window_of(std::uint32_t site) {
  const std::uint64_t most = settings.limit_us * kMicrosecond;
  if (settings.method != Method::kConfirm || is_nominated(site)) return most;
  const std::uint64_t times = sites.state(site).watched.load(std::memory_order_relaxed);
  const std::uint64_t window = most * kPatientWatches / (kPatientWatches + times);
  const std::uint64_t least = kShortestWindow < most ? kShortestWindow : most;
  return window > least ? window : least;
}

void serve(Watch& watch, std::uint32_t slot, std::uint64_t now) {
  const Watched kind = (watch.access.flags & kWrites) != 0 ? Watched::kLoadsAndStores : Watched::kStores;
  watch.event_count =
      arm_others(watch.thread, watch.access.address, watchable_size(watch.access.address, watch.access.size), kind,
                 data_of(watch.generation.load(std::memory_order_relaxed), slot), some_number(), watch.events);
  counters.arm_ns.add(watch.event_count * kArmCost);
  watch.begin_ns = now;
  watch.end_ns = now + window_of(watch.site);
  if (watch.event_count == 0) watch.is_done.store(true, std::memory_order_relaxed);  // nobody to watch
  watch.phase.store(WatchPhase::kLive, std::memory_order_seq_cst);                   // pairs with stand()
  wake_waiters(&watch.phase);
}

void close(Watch& watch, std::uint64_t now) {
  watch.phase.store(WatchPhase::kClosing, std::memory_order_seq_cst);  // before pins are read: see Pin
  for (std::uint32_t at = 0; at < watch.event_count; ++at) close_event(watch.events[at]);
  counters.arm_ns.add(watch.event_count * kArmCost);
  wait_for_pins(watch);
  counters.watched_ns.add(now > watch.begin_ns ? now - watch.begin_ns : 0);
  free_watch(watch);
}

bool is_over(const Watch& watch, std::uint64_t now) {
  if (watch.standing.load(std::memory_order_seq_cst) != 0) return false;  // pairs with on_sampled()
  if (now >= watch.end_ns || watch.is_done.load(std::memory_order_relaxed)) return true;
  // To suspect a race is all that a clock is good for.
  return settings.method == Method::kClock && watch.thread->clock.load(std::memory_order_relaxed) != watch.clock;
}

}  // namespace

std::uint64_t serve_watches(std::uint64_t now) {
  std::uint64_t next = ~std::uint64_t{0};
  for (std::uint32_t slot = 0; slot < settings.slots; ++slot) {
    Watch& watch = watches[slot];
    WatchPhase phase = WatchPhase::kAsked;
    const bool is_new =  // pairs with on_sampled()
        watch.phase.compare_exchange_strong(phase, WatchPhase::kArming, std::memory_order_seq_cst);
    if (is_new) serve(watch, slot, now);
    if (!is_new && phase != WatchPhase::kLive) continue;
    if (is_over(watch, now)) {
      close(watch, now);
    } else if (watch.end_ns < next) {
      // One who stands does not say when it goes on.
      next = watch.end_ns > now ? watch.end_ns : now + kMillisecond;
    }
  }
  return next;
}

bool is_any_live() {
  for (std::uint32_t slot = 0; slot < settings.slots; ++slot) {
    if (watches[slot].phase.load(std::memory_order_relaxed) == WatchPhase::kLive) return true;
  }
  return false;
}

void close_all_watches() {
  for (std::uint32_t slot = 0; slot < settings.slots; ++slot) {
    Watch& watch = watches[slot];
    WatchPhase seen = WatchPhase::kAsked;
    const bool is_new =  // pairs with on_sampled()
        watch.phase.compare_exchange_strong(seen, WatchPhase::kClosing, std::memory_order_seq_cst);
    if (is_new) watch.event_count = 0;
    if (!is_new && seen != WatchPhase::kLive) continue;
    // Whoever stands goes on.
    watch.standing.store(0, std::memory_order_seq_cst);
    watch.phase.store(WatchPhase::kClosing, std::memory_order_seq_cst);
    wake_waiters(&watch.phase);
    wake_waiters(&watch.standing);
    close(watch, read_clock(CLOCK_MONOTONIC));
  }
}

std::uint32_t free_slots() {
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < settings.slots; ++slot) {
    if (watches[slot].phase.load(std::memory_order_relaxed) == WatchPhase::kFree) ++count;
  }
  return count;
}

bool is_rarely_watched(std::uint32_t site) {
  const std::uint64_t watched = sites.state(site).watched.load(std::memory_order_relaxed);
  return 2 * watched * counters.sites_covered.get() <= counters.watches.get();
}

bool can_stall_twice() {
  return budget.stalls.amount() >= 2 * static_cast<std::int64_t>(settings.stall_us * kMicrosecond);
}

bool can_stall() { return budget.stalls.amount() >= static_cast<std::int64_t>(settings.stall_us * kMicrosecond); }

std::uint32_t nominated_sites(std::uint32_t* indices, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (std::atomic<std::uint32_t>& place : nominated) {
    const std::uint32_t entry = place.load(std::memory_order_relaxed);
    if (entry == 0) continue;
    if (sites.state(entry - 1).nominated_stalls.load(std::memory_order_relaxed) == 0) {
      place.store(0, std::memory_order_relaxed);
      continue;
    }
    if (count < limit) indices[count++] = entry - 1;
  }
  is_any_nominated.store(count != 0, std::memory_order_relaxed);
  return count;
}

}  // namespace deadheat::watch
