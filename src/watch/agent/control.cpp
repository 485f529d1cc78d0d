// SPDX-License-Identifier: Apache-2.0
// Which sites are armed: a random set, refilled when some were hit and redrawn after a while.
// It is as large as it takes for a hit to come soon, and no larger: arming costs time, and
// hits that find no slot are wasted. Hot sites would win every race for a slot, so a drawn site is accepted with the
// probability 1 / (1 + (its watches / average watches of sites that had any)^3): one that was watched as often as the
// average is taken half of the time, one that was never hit always.
#include "watch/agent/control.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/immortal.h"
#include "base/random.h"
#include "base/signals_blocked.h"
#include "watch/agent/attach.h"
#include "watch/agent/breakpoints.h"
#include "watch/agent/budget.h"
#include "watch/agent/code_ranges.h"
#include "watch/agent/counters.h"
#include "watch/agent/signal_calls.h"
#include "watch/agent/signals.h"
#include "watch/agent/sites.h"
#include "watch/agent/start.h"
#include "watch/agent/system.h"
#include "watch/agent/tell.h"
#include "watch/agent/threads.h"
#include "watch/agent/watches.h"

namespace deadheat::watch {
namespace {

constexpr std::uint32_t kMostSitesArmed = 512;
constexpr std::uint32_t kFewestSitesArmed = 16;
constexpr std::uint64_t kManyHits = 4;  // for one watch or two: the others were wasted
// For how much of the program's processor time a set of the largest size stays, and smaller ones in proportion. Not of
// the time that passes: what counts is what the program has executed, on a busy machine as on an idle one.
constexpr std::uint64_t kTimeOfLargestSet = 40 * kMillisecond;
constexpr std::uint64_t kShortestTimeOfSet = 10 * kMillisecond;
// When to see whether it is over; later and later while the program hardly runs.
constexpr std::uint64_t kFirstLook = 10 * kMillisecond;
constexpr std::uint64_t kLastLook = 320 * kMillisecond;
constexpr std::uint64_t kShortestWait = 50 * kMicrosecond;
constexpr std::uint64_t kBrokeWait = 20 * kMillisecond;  // until there is something to spend; longer and longer
constexpr std::uint64_t kLongestBrokeWait = 320 * kMillisecond;
constexpr std::uint64_t kProgressInterval = 500 * kMillisecond;
constexpr std::uint64_t kCreditTime = 500 * kMillisecond;
constexpr std::uint64_t kMostDebt = 50 * kMillisecond;
constexpr std::uint64_t kMostProcessorDebt = 500 * kMillisecond;
constexpr std::int64_t kOneWatch = 1'000'000'000;
constexpr std::size_t kStack = 128 * 1024;
constexpr std::uint64_t kFinishPatience = 2 * kSecond;

constinit std::atomic<bool> is_active{false};
constinit std::atomic<std::uint32_t> wake_word{0};
constinit std::atomic<std::uint32_t> is_asleep{0};
constinit SpinLock lock;  // of arming: held by the agent's thread while it works
constinit Settings settings;
constinit std::uint64_t start_ns = 0;
constinit std::uint64_t start_took_ns = 0;  // of the thread that starts the program
constinit Immortal<Random> random;
constinit AttachBlock* attached = nullptr;  // in a process that was running already
constinit std::uint32_t own_number = 0;
constinit std::atomic<bool> is_confined{false};  // some thread, and we make no calls that the program would not make
constinit std::atomic<std::uint32_t> patching_is_over{0};  // 1: is to be, 2: it is
constinit std::atomic<bool> must_finish_now{false};
constinit std::atomic<const char*> finish_reason{nullptr};
constinit std::atomic<std::uint32_t> has_finished{0};
constinit std::atomic<std::uint32_t> clock_traps{0};

constinit std::uint32_t armed[kMostSitesArmed] = {};
constinit std::uint32_t armed_count = 0;
constinit std::uint32_t armed_wanted = 64;
constinit std::uint64_t hits_when_filled = 0;
constinit std::uint64_t hits_when_drawn = 0;  // the whole set
constinit std::uint64_t processor_when_drawn = 0;
constinit std::uint64_t processor_when_looked = 0;
constinit std::uint64_t look_wait = kFirstLook;
constinit std::uint64_t next_look = 0;
constinit std::uint64_t broke_wait = kBrokeWait;

std::int64_t share_of(std::uint64_t time, std::uint64_t millionths) {
  return static_cast<std::int64_t>(static_cast<double>(time) * static_cast<double>(millionths) / 1e6);
}

// What enabled breakpoints cost the program beside traps, by an estimate. While a thread has one, the processor copies
// and clears memory byte by byte: each page that the kernel clears for it and each byte that it reads or writes costs
// more; and switching to the thread takes longer. What the program copies itself is not seen.
class SideEffects {
 public:
  void begin(std::uint64_t now) {
    slow_page_ns_ = measure_slow_page();
    io_ = static_cast<int>(raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/io"), O_RDONLY | O_CLOEXEC));
    last_ns_ = counted_ns_ = now;
    last_cost_ = cost_at_full_exposure();
  }
  // At each change of what is enabled.
  void advance(std::uint64_t now) {
    if (was_live_) exposed_ns_ += now - last_ns_;
    last_ns_ = now;
    was_live_ = is_any_live();
    const std::uint64_t elapsed = now - counted_ns_;
    if (elapsed < kInterval) return;
    const std::uint64_t cost = cost_at_full_exposure();
    const double exposure = static_cast<double>(exposed_ns_) / static_cast<double>(elapsed);
    counters.slow_ns.add(static_cast<std::uint64_t>(static_cast<double>(cost - last_cost_) * exposure));
    last_cost_ = cost;
    counted_ns_ = now;
    exposed_ns_ = 0;
  }

 private:
  // To read what the process has done takes 25 us.
  static constexpr std::uint64_t kInterval = 100 * kMillisecond;
  static constexpr std::uint64_t kSwitchCost = 2300;  // measured: docs/decisions/0015-watching-cost.md

  // Of all that the process has done so far.
  [[nodiscard]] std::uint64_t cost_at_full_exposure() const {
    rusage usage = {};
    raw_call(SYS_getrusage, RUSAGE_SELF, as_argument(&usage));
    const auto switches = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
    const auto pages = static_cast<std::uint64_t>(usage.ru_minflt) + bytes_read_and_written() / 4096;
    return switches * kSwitchCost + pages * slow_page_ns_;
  }
  // "rchar: N\nwchar: N\n..."
  [[nodiscard]] std::uint64_t bytes_read_and_written() const {
    char text[128];
    const long size = io_ < 0 ? 0 : raw_call(SYS_pread64, io_, as_argument(text), sizeof text, 0);
    std::uint64_t numbers[2] = {0, 0};
    int lines = 0;
    for (long at = 0; at < size && lines < 2; ++at) {
      if (text[at] >= '0' && text[at] <= '9') {
        numbers[lines] = numbers[lines] * 10 + static_cast<std::uint64_t>(text[at] - '0');
      } else if (text[at] == '\n') {
        ++lines;
      }
    }
    return numbers[0] + numbers[1];
  }

  std::uint64_t slow_page_ns_ = 0;
  int io_ = -1;
  std::uint64_t last_ns_ = 0;
  std::uint64_t counted_ns_ = 0;
  std::uint64_t exposed_ns_ = 0;
  std::uint64_t last_cost_ = 0;
  bool was_live_ = false;
};
constinit SideEffects side_effects;

// Fills the accounts for the time that has passed.
class Accountant {
 public:
  void begin(std::uint64_t now) {
    last_wall_ = now;
    last_processor_ = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    budget.watches.earn(kOneWatch * static_cast<std::int64_t>(settings.slots), watch_cap());
    budget.processor.earn(kFirstCredit, kFirstCredit);
    earn_stalls(static_cast<std::int64_t>(kFirstStalls * settings.stall_us * kMicrosecond));
  }
  void advance(std::uint64_t now) {
    const std::uint64_t wall = now - last_wall_;
    const std::uint64_t processor = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    const std::uint64_t watched = counters.watches.get();
    const std::uint64_t cost =
        counters.handler_ns.get() + counters.control_ns.get() + counters.arm_ns.get() + counters.slow_ns.get();
    counters.processor_ns.add(processor - last_processor_);
    budget.watches.pay(static_cast<std::int64_t>(watched - last_watches_) * kOneWatch);
    budget.watches.earn(static_cast<std::int64_t>(wall * settings.rate), watch_cap());
    budget.watches.limit_debt(static_cast<std::int64_t>(kMostDebt * settings.rate));
    budget.processor.pay(static_cast<std::int64_t>(cost - last_cost_));
    const std::int64_t first = kFirstCredit;
    const std::int64_t most = share_of(kCreditTime, settings.cpu_share);
    budget.processor.earn(share_of(processor - last_processor_, settings.cpu_share), most > first ? most : first);
    budget.processor.limit_debt(kMostProcessorDebt);
    // Of the time that threads run: many that wait must not let the one that works be stopped all the time.
    earn_stalls(share_of(processor - last_processor_, settings.stall_share));
    last_wall_ = now;
    last_processor_ = processor;
    last_watches_ = watched;
    last_cost_ = cost;
  }
  // Of the process, until it was called last.
  [[nodiscard]] std::uint64_t processor() const { return last_processor_; }
  // Nanoseconds until one more watch is paid for.
  [[nodiscard]] static std::uint64_t time_to_next_watch() {
    const std::int64_t missing = kOneWatch - budget.watches.amount();
    return missing <= 0 ? 0 : static_cast<std::uint64_t>(missing) / settings.rate + 1;
  }

 private:
  [[nodiscard]] static std::int64_t watch_cap() {
    const auto credit = static_cast<std::int64_t>(kCreditTime * settings.rate);
    const std::int64_t least = kOneWatch * static_cast<std::int64_t>(settings.slots);
    return credit > least ? credit : least;
  }
  static void earn_stalls(std::int64_t amount) {
    if (settings.stall_share == 0) return;
    // Where the share is small it must still be possible to save for one stall.
    const auto least = static_cast<std::int64_t>(kFirstStalls * settings.stall_us * kMicrosecond);
    const std::int64_t credit = share_of(kCreditTime, settings.stall_share);
    const std::int64_t cap = credit > least ? credit : least;
    budget.stall_cap.store(cap, std::memory_order_relaxed);
    budget.stalls.earn(amount, cap);
  }

  std::uint64_t last_wall_ = 0;
  std::uint64_t last_processor_ = 0;
  std::uint64_t last_watches_ = 0;
  std::uint64_t last_cost_ = 0;
};
constinit Accountant accountant;

bool is_accepted(std::uint32_t index) {
  const double watched = sites.state(index).watched.load(std::memory_order_relaxed);
  if (watched == 0) return true;
  const double average =
      static_cast<double>(counters.watches.get()) / static_cast<double>(counters.sites_covered.get());
  const double excess = watched / average;
  return random->chance(1 / (1 + excess * excess * excess));
}

enum class Draw : std::uint8_t { kAny, kRarelyWatched };

// Leaves those that are armed.
void fill_armed_set(Draw draw) {
  if (settings.patch == 0 || patching_is_over.load(std::memory_order_seq_cst) != 0)
    return;  // pairs with end_patching()
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < armed_count; ++at) {
    if (sites.state(armed[at]).phase.load(std::memory_order_relaxed) == SitePhase::kArmed) armed[kept++] = armed[at];
  }
  armed_count = kept;
  std::uint32_t chosen[kMostSitesArmed / 2];
  const std::uint32_t nominations = can_stall() ? nominated_sites(chosen, kMostSitesArmed / 2) : 0;
  for (std::uint32_t at = 0; at < nominations && armed_count < kMostSitesArmed; ++at) {
    if (sites.arm(chosen[at])) armed[armed_count++] = chosen[at];
  }
  // No more than sites: who is drawn again and again is accepted in the end, however often it
  // was watched.
  const std::uint32_t wanted_draws = 8 * (armed_wanted > armed_count ? armed_wanted - armed_count : 0);
  const std::uint32_t draws = wanted_draws < sites.count() ? wanted_draws : sites.count();
  for (std::uint32_t times = 0; times < draws && armed_count < armed_wanted; ++times) {
    const std::uint32_t index = sites.index_at(static_cast<std::uint32_t>(random->below(sites.count())));
    const bool is_wanted = draw == Draw::kAny ? is_accepted(index) : is_rarely_watched(index);
    if (is_wanted && sites.arm(index)) armed[armed_count++] = index;
  }
  hits_when_filled = counters.hits.get();
}

void disarm_all() {
  for (std::uint32_t at = 0; at < armed_count; ++at) sites.disarm(armed[at]);
  armed_count = 0;
}

// Nanoseconds until a watch can be set, as far as one can tell; 0 for now.
std::uint64_t time_to_arming(std::uint32_t slots) {
  // Whatever changes these wakes us.
  if (slots == 0 || thread_counts.live.load(std::memory_order_relaxed) < 2) return kProgressInterval;
  if (budget.processor.amount() <= 0) {
    // A program that hardly runs earns hardly anything.
    if (broke_wait < kLongestBrokeWait) broke_wait *= 2;
    return broke_wait;
  }
  broke_wait = kBrokeWait;
  if (settings.method == Method::kCollide && !can_stall()) return kBrokeWait;
  const std::uint64_t time = Accountant::time_to_next_watch();
  return time != 0 && time < kShortestWait ? kShortestWait : time;
}

// Of processor time.
std::uint64_t time_of_set() {
  const std::uint64_t time = kTimeOfLargestSet * armed_count / kMostSitesArmed;
  return time > kShortestTimeOfSet ? time : kShortestTimeOfSet;
}

void choose_next_look(std::uint64_t now, std::uint64_t processor) {
  const bool is_idle = processor - processor_when_looked < look_wait / 10;
  look_wait = !is_idle ? kFirstLook : look_wait < kLastLook ? 2 * look_wait : kLastLook;
  processor_when_looked = processor;
  next_look = now + look_wait;
}

// The second sampler: one event at a time, in a random thread.
class ClockSampler {
 public:
  // Returns when to look again at the latest.
  std::uint64_t advance(std::uint64_t now, bool may_sample) {
    if (settings.clock_us == 0) return ~std::uint64_t{0};
    const std::uint64_t interval = settings.clock_us * kMicrosecond;
    const bool is_over = now - since_ >= interval || clock_traps.load(std::memory_order_relaxed) != traps_before_;
    if (event_ >= 0 && (is_over || !may_sample)) close();
    if (!may_sample) return ~std::uint64_t{0};
    if (event_ < 0 && now - since_ >= interval) {
      since_ = now;
      traps_before_ = clock_traps.load(std::memory_order_relaxed);
      const ThreadRecord* const thread = some_thread(random->next());
      if (thread != nullptr) event_ = open_clock(thread->system_number, kLeast + random->below(kMost), kClockData);
    }
    return since_ + interval;
  }
  void close() {
    if (event_ >= 0) close_event(event_);
    event_ = -1;
  }

 private:
  // Of the thread's time, until it is interrupted.
  static constexpr std::uint64_t kLeast = 50 * kMicrosecond;
  static constexpr std::uint64_t kMost = kMillisecond;

  int event_ = -1;
  std::uint64_t since_ = 0;
  std::uint32_t traps_before_ = 0;
};
constinit ClockSampler clock_sampler;

// Returns when to look again at the latest.
std::uint64_t arm_or_disarm(std::uint64_t now) {
  if (patching_is_over.load(std::memory_order_seq_cst) == 1) {  // pairs with end_patching()
    disarm_all();
    patching_is_over.store(2, std::memory_order_seq_cst);
    wake_waiters(&patching_is_over);
  }
  const std::uint32_t slots = free_slots();
  budget.permits.clear();
  const std::uint64_t wait = time_to_arming(slots);
  const std::uint64_t next_clock = clock_sampler.advance(now, wait == 0);
  if (wait != 0) {
    disarm_all();
    return now + wait;
  }
  budget.permits.earn(budget.watches.amount() / kOneWatch, slots);
  const std::uint64_t hits = counters.hits.get();
  const std::uint64_t processor = accountant.processor();
  if (now >= next_look) choose_next_look(now, processor);
  const std::uint64_t next = next_clock < next_look ? next_clock : next_look;
  const bool is_over = processor - processor_when_drawn >= time_of_set();
  if (armed_count != 0 && hits == hits_when_filled && !is_over) return next;
  if (hits - hits_when_filled > kManyHits && armed_wanted > kFewestSitesArmed) armed_wanted /= 2;
  if (is_over && armed_count != 0) {
    if (hits == hits_when_drawn && armed_wanted < kMostSitesArmed) armed_wanted *= 2;
    disarm_all();
  }
  if (armed_count == 0) {
    hits_when_drawn = hits;
    processor_when_drawn = processor;
  }
  // The last of what may be spent is kept for sites that are hit rarely.
  const bool is_last = slots < settings.slots || budget.watches.amount() < 2 * kOneWatch ||
                       (settings.method == Method::kCollide && !can_stall_twice());
  fill_armed_set(is_last && settings.slots > 1 ? Draw::kRarelyWatched : Draw::kAny);
  return next;
}

void work(std::uint64_t& next_progress, std::uint64_t& next_wake) {
  const std::uint64_t now = read_clock(CLOCK_MONOTONIC);
  side_effects.advance(now);
  accountant.advance(now);
  next_wake = serve_watches(now);
  side_effects.advance(now);
  send_collisions();
  const std::uint64_t next_arming = arm_or_disarm(now);
  if (next_arming < next_wake) next_wake = next_arming;
  if (now >= next_progress) {
    if (code_ranges.refresh()) tell_modules();
    if (attached != nullptr) reconcile_threads(own_number);
    tell_progress(now - start_ns, settings);
    next_progress = now + kProgressInterval;
  }
  if (next_progress < next_wake) next_wake = next_progress;
}

// Whether the thread is to go on.
bool work_once(std::uint64_t& next_progress, std::uint64_t& next_wake) {
  const SpinHolder hold(lock);
  if (!is_active.load(std::memory_order_relaxed)) return false;
  work(next_progress, next_wake);
  return true;
}

void sleep_until(std::uint64_t next_wake, std::uint32_t seen) {
  const std::uint64_t now = read_clock(CLOCK_MONOTONIC);
  if (next_wake <= now) return;
  is_asleep.store(1, std::memory_order_seq_cst);  // before the word is read: see wake_control()
  if (wake_word.load(std::memory_order_seq_cst) == seen) wait_while(&wake_word, seen, next_wake - now);
  is_asleep.store(0, std::memory_order_relaxed);
}

bool must_finish() {
  if (must_finish_now.load(std::memory_order_relaxed) || socket_is_dead()) return true;
  return attached != nullptr && __atomic_load_n(&attached->is_over, __ATOMIC_RELAXED) != 0;
}

void say_finished() {
  tell_bye();
  close_socket();
  has_finished.store(1, std::memory_order_seq_cst);
  wake_waiters(&has_finished);
}

// Nothing has been armed so far. False: the program runs unwatched.
bool begin_here() {
  // Not by the thread that starts the program: the first event of the system in a second waits for all processors,
  // for 10 ms (the kernel switches its hooks on).
  const int error = settings.refuse != 0 ? -EACCES : check_breakpoints();
  if (error == 0) {
    tell_hello(start_took_ns, sites.module_count(), sites.sampleable());
    tell_modules();
    return true;
  }
  const SpinHolder hold(lock);
  is_active.store(false, std::memory_order_relaxed);
  sites.close();
  tell_message("the program runs unwatched: data breakpoints: ", describe_breakpoint_error(error));
  say_finished();
  return false;
}

void finish_here() {
  const SpinHolder hold(lock);
  is_active.store(false, std::memory_order_relaxed);
  budget.permits.clear();
  disarm_all();
  clock_sampler.close();
  close_all_watches();
  if (attached != nullptr) restore_calls(*attached);
  sites.close();
  send_collisions();
  if (const char* const reason = finish_reason.load(std::memory_order_relaxed)) tell_message(reason);
  const std::uint64_t now = read_clock(CLOCK_MONOTONIC);
  accountant.advance(now);
  tell_progress(now - start_ns, settings);
  if (thread_counts.uncovered.load(std::memory_order_relaxed) != 0) {
    tell_message("some threads were not watched: too many of them, or their breakpoints are taken");
  }
  say_finished();
}

void run() {
  raw_call(SYS_prctl, PR_SET_NAME, as_argument("deadheat"));
  ask_to_run_soon();
  keep_only_socket();
  if (attached == nullptr && !begin_here()) return;
  side_effects.begin(read_clock(CLOCK_MONOTONIC));
  std::uint64_t next_progress = 0;
  std::uint64_t next_wake = 0;
  std::uint64_t spent = 0;
  for (;;) {
    const std::uint32_t seen = wake_word.load(std::memory_order_seq_cst);
    if (!work_once(next_progress, next_wake)) return;
    if (must_finish()) return finish_here();
    const std::uint64_t total = read_clock(CLOCK_THREAD_CPUTIME_ID);
    counters.control_ns.add(total - spent);
    spent = total;
    sleep_until(next_wake, seen);
  }
}

extern "C" __attribute__((used, visibility("hidden"))) void deadheat_watch_run() {
  run();
  raw_call(SYS_exit, 0);
}

// A thread without libc, with a copy of our descriptors. Returns its number or -errno.
long clone_thread(void* stack_end) {
  constexpr long kFlags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  long result = SYS_clone;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n"
      "testq %%rax, %%rax\n"
      "jnz 1f\n"
      "xorl %%ebp, %%ebp\n"
      "call deadheat_watch_run\n"
      "ud2\n"
      "1:\n"
      : "+a"(result)
      : "D"(kFlags), "S"(stack_end), "d"(0L), "r"(r10), "r"(r8)
      : "rcx", "r11", "memory");
  return result;
}

}  // namespace

bool is_watching() { return is_active.load(std::memory_order_relaxed); }

namespace {

void prepare_control(const Settings& wanted) {
  settings = wanted;
  *random = Random(settings.seed);
  start_ns = read_clock(CLOCK_MONOTONIC);
  accountant.begin(start_ns);
}

}  // namespace

void note_attached(AttachBlock& block) { attached = &block; }

void note_confined() { is_confined.store(true, std::memory_order_relaxed); }

bool keeps_threads() {
  const bool may_ask = trap_is_ours.load(std::memory_order_relaxed) && !is_confined.load(std::memory_order_relaxed);
  return may_ask && is_own_process();
}

void control_here(const Settings& wanted) {
  prepare_control(wanted);
  own_number = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  is_active.store(true, std::memory_order_seq_cst);
  run();
}

bool start_control(const Settings& wanted, std::uint64_t begun_ns) {
  prepare_control(wanted);
  start_took_ns = start_ns - begun_ns;
  auto* const stack = static_cast<char*>(map_memory(kStack));
  if (stack == nullptr) return false;
  is_active.store(true, std::memory_order_seq_cst);
  const SignalsBlocked blocked;  // the thread's for ever
  if (clone_thread(stack + kStack) > 0) return true;
  is_active.store(false, std::memory_order_relaxed);
  return false;
}

void wake_control() {
  wake_word.fetch_add(1, std::memory_order_seq_cst);  // before it is seen asleep: see sleep_until()
  if (is_asleep.load(std::memory_order_seq_cst) != 0) wake_waiters(&wake_word);
}

void finish_watching(const char* reason) {
  if (!is_active.load(std::memory_order_relaxed)) return;
  if (reason != nullptr) finish_reason.store(reason, std::memory_order_relaxed);
  must_finish_now.store(true, std::memory_order_seq_cst);
  wake_control();
  const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
  while (has_finished.load(std::memory_order_seq_cst) == 0 && read_clock(CLOCK_MONOTONIC) - begin < kFinishPatience) {
    wait_while(&has_finished, 0, kFinishPatience / 8);
  }
}

void end_patching() {
  if (attached == nullptr || !is_watching() || !is_own_process()) return;
  std::uint32_t seen = 0;
  if (patching_is_over.compare_exchange_strong(seen, 1, std::memory_order_seq_cst)) wake_control();
  const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
  while (patching_is_over.load(std::memory_order_seq_cst) != 2 && is_watching() &&
         read_clock(CLOCK_MONOTONIC) - begin < kFinishPatience) {
    wait_while(&patching_is_over, 1, kFinishPatience / 64);
  }
}

void note_clock_trap() { clock_traps.fetch_add(1, std::memory_order_relaxed); }

namespace {

// While the lock is held a handler of the program must not run, which could exit. SIGTRAP
// stays: handlers of fork that were registered before ours run in between.
constinit std::uint64_t mask_before_fork = 0;

}  // namespace

void prepare_control_for_fork() {
  const std::uint64_t all_but_trap = ~(std::uint64_t{1} << (SIGTRAP - 1));
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, as_argument(&all_but_trap), as_argument(&before), sizeof before);
  lock.lock();
  mask_before_fork = before;
}

void release_control_after_fork() {
  const std::uint64_t before = mask_before_fork;
  lock.unlock();
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&before), 0, sizeof before);
}

void forget_control_in_child() {
  lock.reset();
  reset_tell_locks();
  if (is_active.exchange(false, std::memory_order_relaxed)) {
    budget.permits.clear();
    sites.repair_all();
    give_trap_back();
    forget_threads();
    forget_socket();
  }
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_argument(&mask_before_fork), 0, sizeof mask_before_fork);
}

}  // namespace deadheat::watch
