// SPDX-License-Identifier: Apache-2.0
#include "runtime/scheduling.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <ctime>
#include <new>

#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/code_names.h"
#include "runtime/lock_names.h"
#include "runtime/options.h"
#include "runtime/page_source.h"
#include "runtime/start.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"
#include "schedule/scheduler.h"

namespace deadheat::runtime {

bool is_scheduled = false;

namespace {

using schedule::Decision;
using schedule::FunctionId;
using schedule::LockClass;
using schedule::Request;
using schedule::RunFile;
using schedule::ThreadNumber;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kShortWait = kMillisecond;

// Whoever holds it may take no other lock but that of code_names.h.
SpinLock lock;

FunctionId name_of_call(const ThreadState& thread, const Frame* frame) {
  const std::uint64_t call = name_of_address(frame->call);
  // The outermost call of every thread comes from the same place in libc or libstdc++.
  return FunctionId{frame == thread.frames + 1 ? name_of_pair(call, thread.schedule.origin) : call};
}

// Whether the thread is in one of the system calls that wait for files, sockets and
// processes. A sleep ends by itself, and is none.
bool is_in_input_call(std::uint32_t thread) {
  if (thread == 0) return false;
  char path[48] = "/proc/self/task/";
  std::uint32_t end = length_of(path);
  char digits[10];
  std::uint32_t count = 0;
  for (; thread != 0; thread /= 10) digits[count++] = static_cast<char>('0' + thread % 10);
  while (count != 0) path[end++] = digits[--count];
  for (const char* rest = "/syscall"; *rest != 0; ++rest) path[end++] = *rest;
  const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[16] = {};  // "running", or a number
  const long size = raw_call(SYS_read, file, reinterpret_cast<long>(text), sizeof text - 1);
  raw_call(SYS_close, file);
  long number = size > 0 && text[0] >= '0' && text[0] <= '9' ? 0 : -1;
  for (const char* digit = text; number >= 0 && *digit >= '0' && *digit <= '9'; ++digit) {
    number = number * 10 + (*digit - '0');
  }
  static constexpr long kInputCalls[] = {
      SYS_read,        SYS_readv, SYS_pread64, SYS_recvfrom,        SYS_recvmsg,  SYS_accept,
      SYS_accept4,     SYS_poll,  SYS_ppoll,   SYS_select,          SYS_pselect6, SYS_epoll_wait,
      SYS_epoll_pwait, SYS_wait4, SYS_waitid,  SYS_rt_sigtimedwait, SYS_pause,    SYS_rt_sigsuspend};
  for (const long call : kInputCalls) {
    if (call == number) return true;
  }
  return false;
}

// The threads of the program, as strategies see them. lock.
class Program final : public schedule::World {
 public:
  FlatMap<ThreadState*, PageSource> threads;

  FunctionId function_of(ThreadNumber number, std::uint32_t level) override {
    ThreadState** const found = threads.find(number);
    if (found == nullptr) return FunctionId::kNone;
    const ThreadState& thread = **found;
    // The thread goes on meanwhile: what is read may be over, but its frames stay.
    const ThreadLocal* const local = __atomic_load_n(&thread.local, __ATOMIC_RELAXED);
    const Frame* const top = local == nullptr ? thread.frames + 1 : __atomic_load_n(&local->top, __ATOMIC_RELAXED);
    const auto calls = static_cast<std::uint64_t>(top - (thread.frames + 1));
    if (calls > kFrameLimit) return FunctionId::kNone;  // a fiber runs there
    if (level < calls) return name_of_call(thread, top - 1 - level);
    return level == calls ? FunctionId{thread.schedule.origin} : FunctionId::kNone;
  }

  bool waits_for_input(ThreadNumber number) override {
    ThreadState** const found = threads.find(number);
    return found != nullptr && is_in_input_call((*found)->info->os_id);
  }

  void resume(ThreadNumber number) override {
    ThreadState** const found = threads.find(number);
    if (found == nullptr) return;
    std::atomic<std::uint32_t>& may_go = (*found)->schedule.may_go;
    may_go.store(1, std::memory_order_release);  // pairs with suspend()
    raw_call(SYS_futex, reinterpret_cast<long>(&may_go), FUTEX_WAKE_PRIVATE, 1);
  }
};

using Scheduler = schedule::Scheduler<PageSource>;

constinit Immortal<Program> program_memory;
alignas(Scheduler) unsigned char scheduler_memory[sizeof(Scheduler)];
Program* program = nullptr;
Scheduler* scheduler = nullptr;
RunFile* output = nullptr;
std::uint64_t started = 0;
std::uint64_t waited_in_vain = 0;  // lock

schedule::StrategyKind strategy_named(const char* name, bool& is_known) {
  static constexpr struct {
    const char* name;
    schedule::StrategyKind kind;
  } kStrategies[] = {{"native", schedule::StrategyKind::kNative},
                     {"drfinder", schedule::StrategyKind::kDrFinder},
                     {"pct", schedule::StrategyKind::kPct},
                     {"contest", schedule::StrategyKind::kConTest},
                     {"again", schedule::StrategyKind::kAgain}};
  for (const auto& strategy : kStrategies) {
    const char* left = strategy.name;
    const char* right = name;
    while (*left != 0 && *left == *right) ++left, ++right;
    if (*left == *right) return strategy.kind;
  }
  is_known = false;
  return schedule::StrategyKind::kNative;
}

RunFile* map_run_file(const char* path, int flags, int protection) {
  if (path[0] == 0) return nullptr;
  const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags | O_CLOEXEC);
  if (file < 0) return nullptr;
  const long size = raw_call(SYS_lseek, file, 0, SEEK_END);
  void* memory = MAP_FAILED;
  if (size == static_cast<long>(sizeof(RunFile))) {
    const long mapped = raw_call(SYS_mmap, 0, size, protection, MAP_SHARED, file, 0);
    if (mapped > 0) memory = reinterpret_cast<void*>(mapped);
  }
  raw_call(SYS_close, file);
  if (memory == MAP_FAILED) return nullptr;
  auto* const run = static_cast<RunFile*>(memory);
  const bool is_good = run->header.magic == schedule::kRunFileMagic &&
                       run->header.version == schedule::kRunFileVersion &&
                       run->header.acquisition_count <= schedule::kAcquisitionPlaces;
  return is_good ? run : nullptr;
}

// The calls open now, innermost first; then who the thread is, and the calls of its creator.
std::uint32_t copy_calls(const ThreadState& self, FunctionId* into, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (const Frame* frame = current.top - 1; frame > self.frames && count < limit; --frame) {
    into[count++] = name_of_call(self, frame);
  }
  const ThreadSchedule& schedule = self.schedule;
  if (count < limit) into[count++] = FunctionId{schedule.origin};
  for (std::uint32_t at = 0; at < schedule.creator_call_count && count < limit; ++at) {
    into[count++] = FunctionId{schedule.creator_calls[at]};
  }
  return count;
}

// Whoever waited for nothing again and again waits shortly.
std::uint64_t longest_wait() {
  const auto limit = static_cast<std::uint64_t>(options().schedule_limit_us) * 1000;
  const std::uint64_t elapsed = read_clock(CLOCK_MONOTONIC) - started;
  return waited_in_vain > elapsed / 4 + 4 * limit && limit > kShortWait ? kShortWait : limit;
}

// Until somebody lets it go, or the limit is over. Outside of a scope: handlers run.
void suspend(ThreadState& self, std::uint64_t limit) {
  const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
  std::atomic<std::uint32_t>& may_go = self.schedule.may_go;
  std::uint64_t passed = 0;
  self.schedule.is_waiting = true;
  while (may_go.load(std::memory_order_acquire) == 0 && passed < limit) {  // pairs with resume()
    const std::uint64_t left = limit - passed;
    const timespec time{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    raw_call(SYS_futex, reinterpret_cast<long>(&may_go), FUTEX_WAIT_PRIVATE, 0, reinterpret_cast<long>(&time));
    passed = read_clock(CLOCK_MONOTONIC) - begin;
  }
  self.schedule.is_waiting = false;
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  if (may_go.load(std::memory_order_relaxed) == 0) {
    waited_in_vain += passed;
    scheduler->timed_out(thread_number(self));
  }
  scheduler->waited(passed);
}

void obey(ThreadState& self, const Decision& decision, std::uint64_t limit) {
  if (decision.verdict == schedule::Verdict::kSuspend) return suspend(self, limit);
  if (decision.delay_ns == 0) return;
  if (decision.delay_ns == 1) {
    raw_call(SYS_sched_yield);
    return;
  }
  const std::uint64_t delay = decision.delay_ns < limit ? decision.delay_ns : limit;
  const timespec time{0, static_cast<long>(delay % 1'000'000'000)};
  raw_call(SYS_nanosleep, reinterpret_cast<long>(&time));
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->waited(delay);
}

// What threads of a deadlock are doing, for the report. lock.
void describe(const schedule::Cycle& cycle, const ThreadState& self, Address code) {
  if (output == nullptr) return;
  schedule::RunFileHeader& header = output->header;
  std::uint32_t count = 0;
  for (; count < cycle.count(); ++count) {
    schedule::DeadlockedThread& told = header.cycle[count];
    told = {};
    told.number = cycle.members[count].thread;
    told.wanted = cycle.members[count].wanted;
    ThreadState** const found = program->threads.find(told.number);
    if (found == nullptr) continue;
    const ThreadState& thread = **found;
    const Address place = &thread == &self ? code : thread.schedule.wanted_at;
    if (place != 0) told.frames[told.frame_count++] = place;
    const ThreadLocal* const local = thread.local;
    if (local == nullptr) continue;
    for (const Frame* frame = local->top - 1; frame > thread.frames && told.frame_count < schedule::kDeadlockFrames;
         --frame) {
      told.frames[told.frame_count++] = frame->call;
    }
  }
  __atomic_store_n(&header.deadlocked, count, __ATOMIC_RELEASE);  // pairs with the look of `deadheat hunt`
}

[[noreturn]] void end_deadlocked_run() {
  say("the program is deadlocked; this run ends here");
  const int status = on_process_exit(static_cast<int>(options().exitcode));
  raw_call(SYS_exit_group, status);
  __builtin_unreachable();
}

Request request_of(const ThreadState& self, Address wanted, LockMode mode, LockClass lock_class) {
  return {thread_number(self), wanted, lock_class, mode == LockMode::kShared};
}

// What a thread begins with. All of std::thread begin with the same function of libstdc++, whose
// argument is an object that says more: a table of functions, and the function.
std::uint64_t name_of_start(Address function, const void* argument) {
  constexpr std::uint32_t kWords = 4;
  Address words[kWords] = {};
  iovec into{words, sizeof words};
  iovec from{const_cast<void*>(argument), sizeof words};
  raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), reinterpret_cast<long>(&into), 1, reinterpret_cast<long>(&from),
           1);
  std::uint64_t name = name_of_address(function);
  for (const Address word : words) {
    if (const std::uint64_t named = name_of_address(word)) name = name_of_pair(name, named);
  }
  return name;
}

// The output belongs to the first process that finds it without an owner: programs that
// the program starts have the same options.
bool claim_output() {
  const auto process = static_cast<std::uint32_t>(raw_call(SYS_getpid));
  std::uint32_t nobody = 0;
  return __atomic_compare_exchange_n(&output->header.process, &nobody, process, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

}  // namespace

void set_up_scheduling(ThreadState& main) {
  if (options().schedule[0] == 0) return;
  bool is_known = true;
  schedule::Settings settings;
  settings.strategy = strategy_named(options().schedule, is_known);
  if (!is_known) return say("unknown schedule; the program is not scheduled: ", options().schedule);
  settings.seed = static_cast<std::uint64_t>(options().schedule_seed);
  if (options().schedule_depth > 0) settings.call_depth = static_cast<std::uint32_t>(options().schedule_depth);
  const RunFile* const input = map_run_file(options().schedule_in, O_RDONLY, PROT_READ);
  if (input == nullptr && options().schedule_in[0] != 0) say("cannot read the schedule: ", options().schedule_in);
  output = map_run_file(options().schedule_out, O_RDWR, PROT_READ | PROT_WRITE);
  if (output == nullptr && options().schedule_out[0] != 0) say("cannot write the schedule: ", options().schedule_out);
  if (output != nullptr && !claim_output()) return;
  program = new (&*program_memory) Program;
  scheduler = new (scheduler_memory) Scheduler(settings, *program, input, output);
  started = read_clock(CLOCK_MONOTONIC);
  main.schedule.ancestry = 1;
  main.schedule.origin = 1;
  program->threads[thread_number(main)] = &main;
  scheduler->thread_begins(thread_number(main), main.schedule.ancestry);
  is_scheduled = true;
}

void forget_scheduling() {
  is_scheduled = false;
  lock.reset();
  reset_code_names();
}

void schedule_new_thread(ThreadState& parent, ThreadState& child, Address function, const void* argument) {
  const RuntimeScope scope;
  std::uint64_t origin = name_of_start(function, argument);
  for (const Frame* frame = current.top - 1; frame > parent.frames; --frame) {
    origin = name_of_pair(origin, name_of_address(frame->call));
  }
  child.schedule.origin = origin;
  FunctionId calls[ThreadSchedule::kCreatorCalls];
  child.schedule.creator_call_count = copy_calls(parent, calls, ThreadSchedule::kCreatorCalls);
  for (std::uint32_t at = 0; at < child.schedule.creator_call_count; ++at) {
    child.schedule.creator_calls[at] = raw(calls[at]);
  }
  const SpinHolder hold(lock);
  child.schedule.ancestry =
      static_cast<std::uint32_t>(name_of_pair(parent.schedule.ancestry, ++parent.schedule.children) >> 32) | 1;
  program->threads[thread_number(child)] = &child;
  scheduler->thread_begins(thread_number(child), child.schedule.ancestry, thread_number(parent));
}

void schedule_end_of_thread(ThreadState& thread) {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  program->threads.erase(thread_number(thread));
  scheduler->thread_ends(thread_number(thread));
}

void schedule_request(ThreadState& self, Address wanted, LockMode mode, LockAttempt attempt, Address code) {
  if (self.schedule.is_waiting) return;
  constexpr std::uint32_t kMostCalls = 64;
  FunctionId calls[kMostCalls];
  Decision decision;
  std::uint64_t limit = 0;
  {
    const RuntimeScope scope;
    const LockClass lock_class{name_of_lock(wanted)};
    const auto depth = static_cast<std::uint32_t>(options().schedule_depth);
    const std::uint32_t count = copy_calls(self, calls, depth < kMostCalls ? depth : kMostCalls);
    const SpinHolder hold(lock);
    self.schedule.may_go.store(0, std::memory_order_relaxed);
    limit = longest_wait();
    decision = scheduler->request(request_of(self, wanted, mode, lock_class), calls, count);
  }
  obey(self, decision, limit);
  if (attempt == LockAttempt::kTry) return;
  {
    const RuntimeScope scope;
    const SpinHolder hold(lock);
    self.schedule.wanted_at = code;
    const schedule::Cycle cycle = scheduler->blocks(thread_number(self), wanted, schedule::SelfWait::kHarmless);
    if (!cycle) return;
    describe(cycle, self, code);
  }
  end_deadlocked_run();
}

void schedule_no_lock(ThreadState& self) {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->unblocks(thread_number(self));
}

void schedule_acquired(ThreadState& self, Address taken, LockMode mode) {
  const RuntimeScope scope;
  const LockClass lock_class{name_of_lock(taken)};
  const SpinHolder hold(lock);
  scheduler->unblocks(thread_number(self));
  scheduler->acquired(request_of(self, taken, mode, lock_class));
}

void schedule_released(ThreadState& self, Address given) {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->released(thread_number(self), given);
}

void schedule_new_lock(Address lock_address) {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->forgotten(lock_address);
}

void schedule_point(ThreadState& self) {
  if (self.schedule.is_waiting) return;
  Decision decision;
  std::uint64_t limit = 0;
  {
    const RuntimeScope scope;
    const SpinHolder hold(lock);
    self.schedule.may_go.store(0, std::memory_order_relaxed);
    limit = longest_wait();
    decision = scheduler->point(thread_number(self));
  }
  obey(self, decision, limit);
}

void ScheduledWait::begin() {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->waits_at(thread_number(self_), place_);
}

void ScheduledWait::end() {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  scheduler->unblocks(thread_number(self_));
  if (place_ != 0) scheduler->passes(place_);
}

}  // namespace deadheat::runtime
