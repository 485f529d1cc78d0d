// SPDX-License-Identifier: Apache-2.0
// Memory goes back while no period is open and nobody is recording. That nobody is,
// takes a handshake: a thread marks that it is in an event and then looks whether a
// period is open; the controller closes the period and then looks for marks. For
// either to miss the other its load would have to overtake its store. A barrier in
// every event would cost more than most events, so the controller makes all threads
// pass one, by membarrier(2). Where the system has no such call, memory is kept.
#include "runtime/sampling_control.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <ctime>

#include "base/growable_array.h"
#include "core/pace.h"
#include "core/sampling_budget.h"
#include "core/work_periods.h"
#include "runtime/cell_blocks.h"
#include "runtime/confined.h"
#include "runtime/hand_off.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/options.h"
#include "runtime/own_thread.h"
#include "runtime/sampling_measures.h"
#include "runtime/sampling_requests.h"
#include "runtime/sampling_word.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slots.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"
#include "runtime/unchecked_code.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint64_t kMicrosecond = 1000;
constexpr std::uint64_t kMillisecond = 1000 * kMicrosecond;
constexpr std::uint64_t kShortestWait = 50 * kMicrosecond;
constexpr std::uint64_t kLongestWait = 20 * kMillisecond;
constexpr std::uint64_t kHardlyAnything = 10 * kMicrosecond;

std::atomic<bool> is_running{false};
std::atomic<bool> must_end{false};

Sums ended;  // of threads that are gone; registry's lock

Sums sum_up() {
  SpinHolder hold(registry().lock);
  Sums sums = ended;
  for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) sums.add(*thread);
  return sums;
}

class Controller {
 public:
  Controller(double rate, std::uint64_t period, std::uint64_t seed) : period_(period), periods_(rate, period, seed) {}

  // While it is made no other thread runs it. `seed` is for the report.
  void begin(std::uint64_t seed, std::uint64_t budget, double most) {
    totals_.seed = seed;
    most_ = most;
    tick_rate_.begin();
    mode_since_ = read_clock(CLOCK_MONOTONIC);
    word_.begin();
    const Sums so_far = sum_up();
    start_time_ = so_far.time;
    start_ticks_ = so_far.cost;
    start_long_cost_ = so_far.long_cost;
    latest_progress_ = so_far.progress;
    can_give_back_ = raw_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    if (!can_give_back_) forbid_unchecked_code();
    if (options().horizon_us == -2) horizon_ = kHorizonInPeriods * period_;
    if (options().horizon_us >= 0) horizon_ = static_cast<std::uint64_t>(options().horizon_us) * kMicrosecond;
    budget_ = budget;
    if (budget != 0) begin_budget({});
  }

  // Until no thread of the program is left: libc ends a process with its last thread,
  // and that must not be this one's fault.
  void run() {
    requests_.open();
    while (is_needed()) {
      tick_rate_.measure();
      const Measured now = measure();
      follow_budget(now);
      periods_.set_length(now.in_work(period_));
      // The length of the first cycle was a guess, and may be a hundred times too long.
      if (!is_pace_known_ && now.processor >= kEnoughToTell) {
        is_pace_known_ = true;
        periods_.begin_again(now.work);
      }
      periods_.advance(now.work, expected_work(now));
      if (period_is_open.load(std::memory_order_relaxed) &&
          now.processor > opened_at_ + kLongestPeriods * at_least(now.in_time(periods_.open_length()), period_)) {
        periods_.cut_short(now.work);
      }
      if (periods_.is_open() != period_is_open.load(std::memory_order_relaxed)) change_period();
      nudge_threads();
      forget_what_all_know();
      drop_records(now);
      note_mode();
      note_totals(now);
      if (word_.is_due()) word_.tell(totals());
      wait(now);
    }
  }

  [[nodiscard]] raw_report::Sampling totals() {
    if (!must_end.load(std::memory_order_relaxed)) {
      tick_rate_.measure();
      note_totals(measure());
    }
    SpinHolder hold(lock_);
    return totals_;
  }

 private:
  [[nodiscard]] static bool is_needed() {
    if (must_end.load(std::memory_order_relaxed)) return false;
    SpinHolder hold(registry().lock);
    for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      if (thread->life == ThreadState::Life::kRunning) return true;
    }
    return false;
  }

  // What is done while a period is open is sampled: a thread joins at its next event, and
  // between events there is nothing to sample.
  [[nodiscard]] Measured measure() {
    Measured now;
    now.sums = sum_up();
    now.processor = at_least_zero(now.sums.time, start_time_);
    now.cost = tick_rate_.in_time(at_least_zero(now.sums.cost, start_ticks_)) +
               at_least_zero(now.sums.long_cost, start_long_cost_);
    const bool is_recording = is_anybody_recording();
    SpinHolder hold(lock_);
    add_progress(at_least_zero(now.processor, latest_processor_), at_least_zero(now.cost, latest_cost_),
                 at_least_zero(now.sums.progress, latest_progress_), is_recording);
    latest_progress_ = at_least(now.sums.progress, latest_progress_);
    latest_processor_ = at_least(now.processor, latest_processor_);
    latest_cost_ = at_least(now.cost, latest_cost_);
    now.work.sampled = inside_.work();
    now.work.all = unchecked_.work() + checked_.work() + now.work.sampled;
    expected_ += periods_.rate() * static_cast<double>(at_least_zero(now.work.all, latest_work_));
    now.pace = pace_of(unchecked_, checked_, inside_, kEnoughToTell);
    latest_pace_ = now.pace;
    latest_work_ = now.work.all;
    return now;
  }

  // So much was done since the last look. A loop that is not checked inside tells what it did when it ends: more than
  // can have been done since the last look was done before it, and does not belong to the period that is open now.
  // While nobody tells anything, nor records, the period passes as it would have if it were told. lock_ held.
  void add_progress(std::uint64_t time, std::uint64_t cost, std::uint64_t count, bool is_recording) {
    mode_->add(time, cost, 0);
    std::uint64_t inside = 0;
    if (mode_ == &inside_) {
      const auto likely = static_cast<std::uint64_t>(static_cast<double>(time) * latest_pace_);
      most_inside_ += kFasterThanUsual * likely;
      inside = count < most_inside_ || !is_pace_known_ || periods_.rate() >= 1 ? count : most_inside_;
      most_inside_ = at_least_zero(most_inside_, inside);
      if (count == 0 && !is_recording && is_pace_known_) {
        inside_.add(0, 0, likely);
        told_before_ += likely;
      }
    }
    const std::uint64_t outside = count - inside;
    const std::uint64_t known = told_before_ < outside ? told_before_ : outside;
    told_before_ -= known;
    inside_.add(0, 0, inside);
    outside_->add(0, 0, outside - known);
  }

  // Code without checks counts a long loop when it is left. A period that is due in the middle of it must not wait for
  // that: what was done since all was known is taken to be what is done in that time as a rule.
  [[nodiscard]] std::uint64_t expected_work(const Measured& now) const {
    if (!may_run_unchecked()) return now.work.all;
    return at_least(now.work.all, known_.work.all + now.in_work(at_least_zero(now.processor, known_.processor)));
  }

  // Of what is measured from here on.
  void note_mode() {
    SpinHolder hold(lock_);
    const bool is_open = period_is_open.load(std::memory_order_relaxed);
    if (!is_open) {
      outside_ = may_run_unchecked() ? &unchecked_ : &checked_;
      most_inside_ = 0;
    }
    Pace* const mode = is_open ? &inside_ : outside_;
    if (mode != mode_) mode_since_ = read_clock(CLOCK_MONOTONIC);
    mode_ = mode;
  }

  // How long it takes to do so much work as the program gets on now: with checks, and in periods even more, it is
  // slower than its pace, as much as it was before. What was told in a short time does not say how much.
  [[nodiscard]] std::uint64_t time_in_mode(std::uint64_t work, const Measured& now) const {
    if (mode_->time() < kEnoughOfMode || mode_->work() == 0) return now.in_time(work);
    const double slowness = static_cast<double>(mode_->time()) / static_cast<double>(mode_->work());
    return static_cast<std::uint64_t>(static_cast<double>(work) * slowness);
  }

  void change_period() {
    const bool opens = periods_.is_open();
    if (opens) {
      quiet_time.store(0, std::memory_order_relaxed);  // before the barrier of has_nobody_in_event()
      if (may_run_unchecked()) {
        forbid_unchecked_code();
        pause(kGraceOfUncheckedCode);
      } else if (periods_.count() % kOpeningsPerSweep == 0) {
        give_memory_back();
      }
      // Else at the next look.
      if (can_give_back_ && !has_nobody_in_event()) return;
      // What was done meanwhile was not sampled. Code without checks counts what it did when it is left.
      const Measured now = measure();
      periods_.set_length(now.in_work(period_));
      periods_.opened(now.work);
      opened_at_ = now.processor;
    }
    period_is_open.store(opens, std::memory_order_seq_cst);
    changed_at_ = read_clock(CLOCK_MONOTONIC);
    if (opens) return;
    closed_at_ = latest_work_;
    look_wait_ = kFirstLook;
    next_look_ = changed_at_ + look_wait_;
  }

  static void pause(std::uint64_t time) {
    timespec wanted{0, static_cast<long>(time)};
    raw_call(SYS_nanosleep, reinterpret_cast<long>(&wanted), 0);
  }

  // When records can race no more, or have been there for the horizon: code runs without
  // checks from then on.
  void drop_records(const Measured& now) {
    if (period_is_open.load(std::memory_order_relaxed) || may_run_unchecked() || !can_give_back_) return;
    const bool is_late = horizon_ != raw_report::kForever && now.work.all >= closed_at_ + now.in_work(horizon_);
    const std::uint64_t wall = read_clock(CLOCK_MONOTONIC);
    if (!is_late && wall < next_look_) return;
    look_wait_ *= 2;
    next_look_ = wall + look_wait_;
    // Once is enough: nobody begins to record before the next period opens.
    if (quiet_time.load(std::memory_order_relaxed) == 0) {
      if (raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 || is_anybody_recording()) return;
      quiet_time.store(++quiet_times_, std::memory_order_relaxed);
    }
    drops_all_ = is_late;
    // What is late is of no use, and need not be gone before code runs without checks: CaughtRaces::report() knows. But
    // if the next period had to wait for that, too much would be done meanwhile.
    const bool is_early = is_late && has_time_to_drop(now);
    if (is_early) begin_unchecked(now);
    const std::uint64_t granules_before = granules_with_records();
    count_every_ = 1 + granules_before / kCountedGranules;
    const std::uint32_t left = drop_granules(drop_granule, this);
    if (is_late && granules_before > left) {
      const std::uint64_t taken = read_clock(CLOCK_MONOTONIC) - wall;
      drop_time_ = static_cast<double>(taken) / static_cast<double>(granules_before - left);
    }
    {
      SpinHolder hold(registry().lock);
      for (const std::uint64_t chain : dropped_chains_) orphan_chain(chain);
    }
    dropped_chains_.clear();
    if (left == 0 && !is_early) begin_unchecked(now);
  }

  // Records that are late are likely to be gone before the next period is due, as long as that took the last time.
  [[nodiscard]] bool has_time_to_drop(const Measured& now) const {
    if (granules.load(std::memory_order_relaxed) == nullptr) return false;  // nobody knows where they are
    const std::uint64_t next = periods_.next_change();
    if (next == WorkPeriods::kNever) return true;
    const auto left = static_cast<double>(now.in_time(at_least_zero(next, now.work.all)));
    const double taken = drop_time_ * static_cast<double>(granules_with_records());
    return left > 2 * taken * static_cast<double>(threads_at_once_);
  }

  void begin_unchecked(const Measured& now) {
    known_ = now;
    allow_unchecked_code();
  }

  static Drop drop_granule(Address granule, void* controller) {
    auto& self = *static_cast<Controller*>(controller);
    ShadowCell* const first = cell_of(granule);
    ShadowCell* const end = first + (Address{1} << kGranuleShift) / 8;
    if (self.drops_all_ && !has_chains(granule)) {
      // To look at all of them takes longer than all else.
      const bool is_counted = ++self.late_granules_ % self.count_every_ == 0;
      if (is_counted) self.expired_ += self.count_every_ * records_left(first, end, ~std::uint64_t{0}).live;
      return Drop::kStale;
    }
    const RecordsLeft left = records_left(first, end, self.drops_all_ ? ~std::uint64_t{0} : 0);
    if (left.live != 0 && !self.drops_all_) return Drop::kNo;
    self.expired_ += left.live;
    if (!left.has_chains) return Drop::kEmptied;
    // The cells go back to the system; what is not in them does not.
    for (ShadowCell* cell = first; cell != end; ++cell) {
      if (!is_link(cell->entries[1].load(std::memory_order_relaxed))) continue;
      if (const std::uint64_t chain = empty_cell(*cell); chain != 0) self.dropped_chains_.push_back(chain);
    }
    return Drop::kEmptied;
  }

  // Those that have not noticed what is the case now.
  static void nudge_threads() {
    const std::uint64_t is_open = period_is_open.load(std::memory_order_relaxed) ? 1 : 0;
    SpinHolder hold(registry().lock);
    for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      if (thread->local == nullptr || peek(thread->sampling.is_in_period) == is_open) continue;
      __atomic_store_n(&thread->local->cell_mask, std::uint64_t{0}, __ATOMIC_RELAXED);
    }
  }

  // Records that can race no more go at the next access: until then every access to
  // their memory is looked at.
  static void forget_what_all_know() {
    SpinHolder hold(registry().lock);
    if (registry().live_count() <= kFewThreads) refresh_known_to_all();
  }

  // A thread that is in an event since the period was open may be.
  [[nodiscard]] static bool is_anybody_recording() {
    SpinHolder hold(registry().lock);
    for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      if (peek(thread->sampling.is_in_period) != 0 && peek(thread->sampling.depth) != 0) return true;
    }
    return false;
  }

  [[nodiscard]] static bool is_in_event(const ThreadState& thread) {
    return peek(thread.sampling.depth) != 0 || (thread.local != nullptr && peek(thread.local->unseen) != 0);
  }

  // No operation is under way that was let pass unseen (unchecked_code.h).
  [[nodiscard]] static bool has_nobody_in_event() {
    if (raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) return false;
    SpinHolder hold(registry().lock);
    for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      // Once is enough: what begins later is not let pass any more.
      for (std::uint32_t tries = 0; is_in_event(*thread); ++tries) {
        if (tries == kTries) return false;
        _mm_pause();
      }
    }
    return true;
  }

  // All periods are closed.
  void give_memory_back() {
    if (!can_give_back_) return;
    if (raw_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 || is_anybody_recording()) return;
    sweep_granules([](Address granule) {
      ShadowCell* const first = cell_of(granule);
      bool is_empty = true;
      for (ShadowCell* cell = first; cell != first + (Address{1} << kGranuleShift) / 8; ++cell) {
        if (!tidy_cell(*cell)) is_empty = false;
      }
      return is_empty;
    });
  }

  // See core/sampling_budget.h.
  void follow_budget(const Measured& now) {
    if (budget_ == 0) return;
    const auto since = [](std::uint64_t later, std::uint64_t earlier) {
      return static_cast<double>(at_least_zero(later, earlier));
    };
    SamplingBudget::Step step;
    step.processor = since(now.processor, budget_base_.processor);
    if (step.processor < kBudgetStep) return;
    step.cost = since(now.cost, budget_base_.cost);
    step.progress = since(now.sums.progress, budget_base_.sums.progress);
    step.rate = since(now.work.sampled, budget_base_.work.sampled) / since(now.work.all + 1, budget_base_.work.all);
    budget_base_ = now;
    const double all = since(now.processor, budget_begin_.processor);
    const double plain = static_cast<double>(now.in_time(at_least_zero(now.work.all, budget_begin_.work.all)));
    budget_steps_.end_step(step, 1 - plain / all);
    periods_.set_rate(budget_steps_.rate(), now.work);
  }

  void note_totals(const Measured& now) {
    SpinHolder hold(lock_);
    const double rate = budget_ != 0 ? budget_steps_.usual_rate() : periods_.rate();
    totals_.rate = static_cast<std::uint64_t>(rate * raw_report::kWholeRate + 0.5);
    totals_.budget = budget_;
    totals_.period_us = static_cast<std::uint64_t>(options().period_us);
    totals_.periods = periods_.count();
    totals_.work_ns = now.in_time(now.work.all);
    totals_.sampled_work_ns = now.in_time(now.work.sampled);
    totals_.expected_work_ns = now.in_time(static_cast<std::uint64_t>(expected_));
    totals_.cost_ns = at_least_zero(now.processor, totals_.work_ns);
    const SamplingCounters& counters = now.sums.counters;
    totals_.sampled_accesses = counters.sampled_accesses[0] + counters.sampled_accesses[1];
    totals_.checked_accesses = counters.checked_accesses[0] + counters.checked_accesses[1];
    totals_.horizon_us = horizon_ == raw_report::kForever ? horizon_ : horizon_ / kMicrosecond;
    totals_.expired_records = expired_;
  }

  // Until the work of the next change is about to be done.
  void wait(const Measured& now) {
    const std::uint64_t wall = read_clock(CLOCK_MONOTONIC);
    const std::uint64_t passed = wall - last_wall_;
    const std::uint64_t worked = now.processor - last_processor_;
    last_wall_ = wall;
    last_processor_ = now.processor;
    // As if the program were as quick as it ever was, lest the change comes late; but
    // who waits for somebody idle waits longer and longer.
    if (passed >= kEnoughToTell / 2 && worked > passed * threads_at_once_) threads_at_once_ = worked / passed + 1;
    idle_wait_ = worked > kHardlyAnything ? 0 : idle_wait_ * 2 + kShortestWait;
    std::uint64_t change = periods_.next_change();
    const bool has_records = !period_is_open.load(std::memory_order_relaxed) && !may_run_unchecked();
    if (has_records && horizon_ != raw_report::kForever && closed_at_ + now.in_work(horizon_) < change) {
      change = closed_at_ + now.in_work(horizon_);
    }
    // A change that never comes is further away than can be said in time.
    std::uint64_t time = change == WorkPeriods::kNever
                             ? kLongestWait
                             : time_in_mode(at_least_zero(change, expected_work(now)), now) / threads_at_once_;
    if (has_records && time > look_wait_) time = look_wait_;
    // A look takes a processor from the program. So what is the case may end too late, by a share of how long it was
    // so.
    const std::uint64_t late = (wall - mode_since_) / (may_run_unchecked() ? 16 : 8);
    if (time < late) time = late;
    if (time < idle_wait_) time = idle_wait_;
    if (time < kShortestWait) time = kShortestWait;
    const std::uint64_t longest = is_pace_known_ ? kLongestWait : kEnoughToTell / 2;
    if (time > longest) time = longest;
    Request request;
    if (!requests_.wait(time, request)) return;
    if (request.what == Request::What::kRate) set_rate(static_cast<double>(request.value) / raw_report::kWholeRate);
    if (request.what == Request::What::kBudget) set_budget(request.value);
    requests_.answer(request, totals());
  }

  void set_rate(double rate) {
    most_ = rate;
    if (budget_ != 0) return begin_budget(measure());
    periods_.set_rate(rate, measure().work);
  }
  void set_budget(std::uint64_t budget) {
    budget_ = budget;
    most_ = 1;
    if (budget != 0) begin_budget(measure());
  }
  void begin_budget(const Measured& now) {
    budget_begin_ = budget_base_ = now;
    budget_steps_.begin(static_cast<double>(budget_) / raw_report::kWholeRate, most_);
    periods_.set_rate(budget_steps_.rate(), now.work);
  }

  static constexpr std::uint32_t kFewThreads = 64;
  static constexpr std::uint32_t kTries = 1000;
  static constexpr std::uint64_t kFirstLook = 200 * kMicrosecond;
  static constexpr std::uint64_t kHorizonInPeriods = 3;
  // At rates at which there always are records. While they are looked through the program goes on, unsampled.
  static constexpr std::uint64_t kOpeningsPerSweep = 4;
  // Nothing is slowed down as much in a period: the program is in code that is not counted.
  static constexpr std::uint64_t kLongestPeriods = 200;
  static constexpr std::uint64_t kCountedGranules = 64;             // at least, if there are as many
  static constexpr std::uint64_t kFasterThanUsual = 8;              // some code of a program
  static constexpr std::uint64_t kEnoughToTell = 2 * kMillisecond;  // of a mode (core/pace.h)
  static constexpr std::uint64_t kEnoughOfMode = 50 * kMillisecond;
  static constexpr double kBudgetStep = 500.0 * kMillisecond;  // of processor time

  std::uint64_t period_;  // nanoseconds
  WorkPeriods periods_;
  TickRate tick_rate_;
  Requests requests_;
  SamplingWord word_;
  // What was done in each mode; lock_.
  Pace unchecked_;
  Pace checked_;
  Pace inside_;
  Pace* mode_ = &unchecked_;
  Pace* outside_ = &unchecked_;  // the mode when no period is open, or the last one such
  Measured known_;               // when code without checks began, and all that was done had been counted
  bool is_pace_known_ = false;
  std::uint64_t latest_processor_ = 0;
  std::uint64_t latest_cost_ = 0;
  std::uint64_t latest_progress_ = 0;
  std::uint64_t latest_work_ = 0;
  double expected_ = 0;  // work of periods in the mean, at the rates so far
  double latest_pace_ = 1;
  std::uint64_t most_inside_ = 0;  // that can have been done since the period opened, and was not told
  std::uint64_t told_before_ = 0;  // work of periods that has been added before the loops that do it tell
  // When it began.
  std::uint64_t start_time_ = 0;
  std::uint64_t start_ticks_ = 0;
  std::uint64_t start_long_cost_ = 0;
  std::uint64_t last_wall_ = 0;
  std::uint64_t last_processor_ = 0;
  std::uint64_t threads_at_once_ = 1;
  std::uint64_t idle_wait_ = 0;
  bool can_give_back_ = false;
  // Records: how long they stay, and when the last period ended, in work; when somebody looks
  // next whether they can still race, in time.
  std::uint64_t horizon_ = raw_report::kForever;
  std::uint64_t closed_at_ = 0;
  std::uint64_t opened_at_ = 0;   // the last period, in processor time
  std::uint64_t changed_at_ = 0;  // when the last period began or ended, in time
  std::uint64_t mode_since_ = 0;  // in time
  std::uint64_t look_wait_ = 0;
  std::uint64_t next_look_ = 0;
  std::uint64_t expired_ = 0;  // of some of the granules, if they are many
  std::uint64_t late_granules_ = 0;
  std::uint64_t count_every_ = 1;
  std::uint64_t quiet_times_ = 0;
  bool drops_all_ = false;
  double drop_time_ = 0;  // nanoseconds that a granule of late records took to empty, the last time
  GrowableArray<std::uint64_t, PageSource> dropped_chains_;
  std::uint64_t budget_ = 0;
  double most_ = 1;  // with a budget: the rate at most
  SamplingBudget budget_steps_;
  Measured budget_begin_;  // when it was set
  Measured budget_base_;   // when its step began
  SpinLock lock_;
  raw_report::Sampling totals_;  // lock_
};

alignas(Controller) unsigned char controller_memory[sizeof(Controller)];
Controller* controller = nullptr;

void run_controller() { controller->run(); }

std::uint64_t some_seed() {
  return read_clock(CLOCK_MONOTONIC) ^ (static_cast<std::uint64_t>(raw_call(SYS_getpid)) << 40) ^ read_ticks();
}

}  // namespace

void start_sampling_control() {
  if (!samples || !may_sample() || is_running.exchange(true, std::memory_order_acq_rel)) return;
  const RuntimeScope scope;
  const bool has_rate = options().rate >= 0;
  const double most = has_rate ? static_cast<double>(options().rate) / raw_report::kWholeRate : 1;
  const std::uint64_t seed = options().seed != 0 ? static_cast<std::uint64_t>(options().seed) : some_seed() >> 16;
  const std::int64_t period = options().period_us > 0 ? options().period_us : 1;
  controller = new (controller_memory) Controller(most, static_cast<std::uint64_t>(period) * kMicrosecond, seed);
  controller->begin(seed, static_cast<std::uint64_t>(options().budget), most);
  if (start_own_thread(run_controller)) return;
  say("no thread for sampling; nothing is sampled");
}

void forget_sampling_control() {
  is_running.store(false, std::memory_order_relaxed);
  must_end.store(false, std::memory_order_relaxed);
  controller = nullptr;
  ended = {};
  // What the parent did is told by the parent.
  if (current.state != nullptr) {
    ThreadSampling& own = current.state->sampling;
    for (int direction = 0; direction < 2; ++direction) {
      own.sampled_accesses[direction] = own.checked_accesses[direction] = 0;
    }
  }
  reset_period();
}

raw_report::Sampling sampling_totals() {
  if (controller != nullptr) return controller->totals();
  raw_report::Sampling none;
  none.rate = options().rate < 0 ? 0 : static_cast<std::uint64_t>(options().rate);
  none.budget = static_cast<std::uint64_t>(options().budget);
  none.period_us = static_cast<std::uint64_t>(options().period_us);
  return none;
}

void end_sampling_control(const char* notice) {
  if (controller == nullptr || must_end.exchange(true, std::memory_order_relaxed)) return;
  wait_for_own_thread();
  period_is_open.store(false, std::memory_order_seq_cst);
  send_notice(notice);
}

SamplingCounters sampling_counters() { return sum_up().counters; }

void keep_sampling_of(const ThreadState& thread) { ended.add(thread); }

}  // namespace deadheat::runtime
