// SPDX-License-Identifier: Apache-2.0
#include "runtime/confined.h"

#include <errno.h>
#include <linux/audit.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>

#include "base/filter_program.h"
#include "runtime/hand_off.h"
#include "runtime/heap_table.h"
#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/thread_start.h"
#include "runtime/mailbox.h"
#include "runtime/page_source.h"
#include "runtime/sampling_control.h"
#include "runtime/system.h"

// The end of the one syscall instruction that confined calls are made by: filters may ask where it is.
extern "C" __attribute__((visibility("hidden"))) const char deadheat_confined_call_end[];

namespace deadheat::runtime {
namespace {

struct Filter {
  const Filter* older = nullptr;
  std::uint32_t length = 0;  // 0: strict mode
  sock_filter program[1] = {};
};

// Published before confined_call is, and never given back.
std::atomic<const Filter*> latest{nullptr};
SpinLock setting;

[[nodiscard]] bool is_let_pass(const Filter& filter, const seccomp_data& call) {
  if (filter.length != 0) return filter_lets_pass(run_filter(filter.program, filter.length, call));
  return call.nr == SYS_read || call.nr == SYS_write || call.nr == SYS_exit || call.nr == SYS_rt_sigreturn;
}

[[nodiscard]] bool may_call(const Filter* filter, long number, const long (&arguments)[6]) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = AUDIT_ARCH_X86_64;
  call.instruction_pointer = reinterpret_cast<std::uint64_t>(deadheat_confined_call_end);
  for (int at = 0; at < 6; ++at) call.args[at] = static_cast<std::uint64_t>(arguments[at]);
  for (; filter != nullptr; filter = filter->older) {
    if (!is_let_pass(*filter, call)) return false;
  }
  return true;
}

[[gnu::noinline]] long make_call(long number, const long (&arguments)[6]) {
  long result = 0;
  register long r10 __asm__("r10") = arguments[3];
  register long r8 __asm__("r8") = arguments[4];
  register long r9 __asm__("r9") = arguments[5];
  __asm__ volatile(
      "syscall\n"
      ".globl deadheat_confined_call_end\n"
      ".hidden deadheat_confined_call_end\n"
      "deadheat_confined_call_end:\n"
      : "=a"(result)
      : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10), "r"(r8), "r"(r9)
      : "rcx", "r11", "memory");
  return result;
}

// libc keeps the number of a thread in its descriptor, at the same place since 2.4 on this machine; 0 where it is not.
constexpr std::uint64_t kNumberInThread = 720;
bool number_is_there = false;
long process = 0;
long parent = 0;

[[nodiscard]] long number_in_thread() {
  return *reinterpret_cast<const volatile int*>(static_cast<std::uint64_t>(pthread_self()) + kNumberInThread);
}

struct TimePoint {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;
};
TimePoint first_time;
TimePoint latest_time;

[[nodiscard]] TimePoint time_now() {
  const std::uint64_t nanoseconds = read_clock(CLOCK_MONOTONIC);
  return {read_ticks(), nanoseconds};
}

[[nodiscard]] long guess_time(long clock, timespec* time) {
  if (clock != CLOCK_MONOTONIC) return -EPERM;
  const auto ticks = static_cast<double>(latest_time.ticks - first_time.ticks + 1);
  const double pace = static_cast<double>(latest_time.nanoseconds - first_time.nanoseconds) / ticks;
  const std::uint64_t now =
      latest_time.nanoseconds +
      static_cast<std::uint64_t>(static_cast<double>(read_ticks() - latest_time.ticks) * (pace > 0 ? pace : 1));
  time->tv_sec = static_cast<time_t>(now / 1'000'000'000);
  time->tv_nsec = static_cast<long>(now % 1'000'000'000);
  return 0;
}

// To look first costs less than the pages that nobody has touched would.
void clear_by_hand(long begin, long size) {
  auto* const words = reinterpret_cast<volatile std::uint64_t*>(begin);
  for (long at = 0; at < size / 8; ++at) {
    if (words[at] != 0) words[at] = 0;
  }
}

long do_without(long number, const long (&arguments)[6]) {
  switch (number) {
    case SYS_getpid:
      return process;
    case SYS_gettid:
      return number_is_there ? number_in_thread() : 0;
    case SYS_getppid:
      return parent;
    case SYS_clock_gettime:
      return guess_time(arguments[0], reinterpret_cast<timespec*>(arguments[1]));
    case SYS_sched_yield:
      __builtin_ia32_pause();
      return 0;
    case SYS_madvise:
      if (arguments[2] != MADV_DONTNEED) return -EPERM;
      clear_by_hand(arguments[0], arguments[1]);
      return 0;
    case SYS_munmap:
      return 0;  // it stays
    default:
      return -EPERM;
  }
}

long call_if_permitted(long number, const long (&arguments)[6]) {
  const Filter* const filter = latest.load(std::memory_order_acquire);  // pairs with add_filter()
  if (may_call(filter, number, arguments)) return make_call(number, arguments);
  return do_without(number, arguments);
}

// A program that cannot be read is no filter: the system refuses it as well.
const Filter* copy_filter(const Confining& confining) {
  std::uint32_t length = 0;
  const sock_filter* from = nullptr;
  if (confining.kind == Confinement::kFilter) {
    const auto* const program = reinterpret_cast<const sock_fprog*>(confining.program);
    length = program->len;
    from = program->filter;
    if (length == 0 || length > BPF_MAXINSNS || from == nullptr) return nullptr;
  }
  void* const memory = PageSource::try_allocate(sizeof(Filter) + length * sizeof(sock_filter));
  if (memory == nullptr) return nullptr;
  auto* const filter = static_cast<Filter*>(memory);
  filter->length = length;
  for (std::uint32_t at = 0; at < length; ++at) filter->program[at] = from[at];
  filter->older = latest.load(std::memory_order_relaxed);
  return filter;
}

[[nodiscard]] bool can_send(const Filter* filter) {
  alignas(16) static char somewhere[256];
  const long at = as_argument(somewhere);
  const long listener = listener_descriptor();
  return may_call(filter, SYS_sendto, {listener, at, sizeof somewhere, MSG_NOSIGNAL, 0, 0}) &&
         may_call(filter, SYS_fstat, {listener, at, 0, 0, 0, 0});
}

[[nodiscard]] bool can_sample(const Filter* filter) {
  for (const long number : {SYS_clock_gettime, SYS_ppoll, SYS_nanosleep, SYS_membarrier, SYS_madvise, SYS_exit,
                            SYS_rt_sigprocmask, SYS_recvmsg, SYS_sendto}) {
    if (!may_call(filter, number, {})) return false;
  }
  return true;
}

// While every call can still be made, or what is missing was arranged for before.
void arrange_for(const Filter* filter) {
  ThreadStart::wait_for_all();
  latest_time = time_now();
  parent = raw_call(SYS_getppid);
  if (has_listener() && !can_send(filter)) open_mailbox();
  if (!may_call(filter, SYS_membarrier, {})) HeapTable::do_without_barriers();
  if (!may_call(filter, SYS_fstat, {})) remember_open_descriptors();
  if (!can_sample(filter)) end_sampling_control("sampling ends here: the program confines its system calls (seccomp)");
}

}  // namespace

bool may_sample() { return !is_confined() || can_sample(latest.load(std::memory_order_acquire)); }

bool is_confined() { return __atomic_load_n(&confined_call, __ATOMIC_RELAXED) != nullptr; }

void prepare_for_confinement() {
  first_time = time_now();
  process = raw_call(SYS_getpid);
  number_is_there = number_in_thread() == raw_call(SYS_gettid);
}

void note_forked_process() {
  // Its one thread has the process's number.
  if (number_is_there) process = number_in_thread();
}

void begin_confinement(const Confining& confining) {
  if (confining.kind == Confinement::kNone) return;
  const SpinHolder hold(setting);
  const Filter* const filter = copy_filter(confining);
  if (filter == nullptr) return;
  arrange_for(filter);
  if (confining.kind == Confinement::kStrict) ticks_are_forbidden = true;
  latest.store(filter, std::memory_order_release);                         // pairs with call_if_permitted()
  __atomic_store_n(&confined_call, &call_if_permitted, __ATOMIC_RELEASE);  // pairs with raw_call()
}

void take_back_confinement() {
  const SpinHolder hold(setting);
  const Filter* const filter = latest.load(std::memory_order_relaxed);
  if (filter == nullptr) return;
  if (filter->older == nullptr) __atomic_store_n(&confined_call, ConfinedCall{nullptr}, __ATOMIC_RELEASE);
  latest.store(filter->older, std::memory_order_release);
}

}  // namespace deadheat::runtime
