// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/system_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>

#include <ctime>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/file_locks.h"
#include "runtime/intercept/io_rings.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/kernel_words.h"
#include "runtime/intercept/signal_order.h"

namespace deadheat::runtime {
namespace {

using Call = DescribedCall;

template <unsigned kDescriptor>
void sends(const Call& call) {
  before_sending(call.integer(kDescriptor), call.code);
}
template <unsigned kDescriptor>
void receives(const Call& call) {
  after_receiving(call.integer(kDescriptor), call.code);
}
template <Made kHow>
void opens(const Call& call) {
  forget_descriptor(call.integer(0));
  note_made(call.integer(0), kHow);
  after_opening(call.integer(0), call.code);
}
void opens_two(const Call& call) {
  const int* const pair = call.pointer<const int>(call.arguments[0] < 4096 ? 4 : 1);  // socketpair, pipe
  for (int at = 0; at < 2; ++at) {
    forget_descriptor(pair[at]);
    note_made(pair[at], Made::kHere);
    after_opening(pair[at], call.code);
  }
}
void closes(const Call& call) {
  const int descriptor = call.integer(1);
  before_sending(descriptor, call.code);
  before_unlocking_all(descriptor, call.code);
  before_closing(descriptor, call.code);
  forget_descriptor(descriptor);
}

void reads_pieces(const Call& call) {
  const auto* const pieces = call.pointer<const iovec>(2);
  on_read(pieces, call.value(3) * sizeof(iovec), call.code);
  for (std::uint64_t at = 0; at < call.value(3); ++at) report_read(pieces[at].iov_base, pieces[at].iov_len, call.code);
}
void reads_vector(const Call& call) { on_read(call.pointer<const iovec>(2), call.value(3) * sizeof(iovec), call.code); }
void fills_pieces(const Call& call) {
  const auto* const pieces = call.pointer<const iovec>(2);
  std::uint64_t rest = call.result;
  for (std::uint64_t at = 0; at < call.value(3) && rest != 0; ++at) {
    const std::uint64_t part = pieces[at].iov_len < rest ? pieces[at].iov_len : rest;
    report_written(pieces[at].iov_base, part, call.code);
    rest -= part;
  }
}

// futex(word, operation, value, limit or second value, other word, value). Waking somebody precedes what he does.
// Locks with priority inheritance the kernel itself gives up, by a store into the word.
constexpr int kFlags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
void wakes(const Call& call) {
  switch (call.integer(2) & ~kFlags) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return give_to_kernel(KernelObject::kFutex, call.value(1), 0, call.code);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      give_to_kernel(KernelObject::kFutex, call.value(1), 0, call.code);
      return give_to_kernel(KernelObject::kFutex, call.value(5), 0, call.code);
    case FUTEX_UNLOCK_PI:
      return before_kernel_stores(call.value(1));
    default:
      return;
  }
}
void is_woken(const Call& call) {
  switch (call.integer(2) & ~kFlags) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return take_from_kernel(KernelObject::kFutex, call.value(1), 0, call.code);
    case FUTEX_WAIT_REQUEUE_PI:
      take_from_kernel(KernelObject::kFutex, call.value(1), 0, call.code);
      return after_kernel_loads(call.value(5));
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
      return after_kernel_loads(call.value(1));
    default:
      return;
  }
}

void signals_process(const Call& call) { before_signal_to_process(call.integer(1), call.integer(2), call.code); }
void signals_by_descriptor(const Call& call) { before_signal_to_process(-1, call.integer(2), call.code); }
void signals_thread(const Call& call) { before_signal_to_thread_id(call.integer(2), call.integer(1), call.code); }
void signals_thread_of(const Call& call) { before_signal_to_thread_id(call.integer(3), call.integer(2), call.code); }

void enters_ring(const Call& call) { before_ring_call(call.code); }
void leaves_ring(const Call& call) { after_ring_call(call.code); }
void makes_ring(const Call& call) {
  opens<Made::kHere>(call);
  note_ring(call.integer(0), call.pointer<const void>(2));
}

#define DEADHEAT_TOUCHES(number, when, ...)                                               \
  template <>                                                                             \
  struct Touched<number> {                                                                \
    static constexpr Effect kEffects[] = {__VA_ARGS__};                                   \
    static constexpr Description kAll{when, sizeof(kEffects) / sizeof(Effect), kEffects}; \
  };

template <long kNumber>
struct Touched {
  static constexpr Description kAll{kAlways, 0, nullptr};
};

constexpr std::size_t kTime = sizeof(timespec);
constexpr std::size_t kStat = sizeof(struct stat);

DEADHEAT_TOUCHES(SYS_read, kCount, writes_result(2))
DEADHEAT_TOUCHES(SYS_pread64, kCount, writes_result(2))
DEADHEAT_TOUCHES(SYS_readv, kCount, before(reads_vector), after(fills_pieces))
DEADHEAT_TOUCHES(SYS_preadv, kCount, before(reads_vector), after(fills_pieces))
DEADHEAT_TOUCHES(SYS_preadv2, kCount, before(reads_vector), after(fills_pieces))
DEADHEAT_TOUCHES(SYS_recvfrom, kCount, writes_result(2))
DEADHEAT_TOUCHES(SYS_getdents64, kCount, writes_result(2))
DEADHEAT_TOUCHES(SYS_getrandom, kCount, writes_result(1))
DEADHEAT_TOUCHES(SYS_getcwd, kCount, writes_result(1))
DEADHEAT_TOUCHES(SYS_readlink, kCount, reads_text(1), writes_result(2))
DEADHEAT_TOUCHES(SYS_readlinkat, kCount, reads_text(2), writes_result(3))
DEADHEAT_TOUCHES(SYS_write, kAlways, reads_bytes(2, 3))
DEADHEAT_TOUCHES(SYS_pwrite64, kAlways, reads_bytes(2, 3))
DEADHEAT_TOUCHES(SYS_writev, kAlways, before(reads_pieces))
DEADHEAT_TOUCHES(SYS_pwritev, kAlways, before(reads_pieces))
DEADHEAT_TOUCHES(SYS_pwritev2, kAlways, before(reads_pieces))
DEADHEAT_TOUCHES(SYS_sendto, kAlways, reads_bytes(2, 3))
DEADHEAT_TOUCHES(SYS_open, kAlways, reads_text(1))
DEADHEAT_TOUCHES(SYS_openat, kAlways, reads_text(2))
DEADHEAT_TOUCHES(SYS_memfd_create, kAlways, reads_text(1))
DEADHEAT_TOUCHES(SYS_unlink, kAlways, reads_text(1))
DEADHEAT_TOUCHES(SYS_unlinkat, kAlways, reads_text(2))
DEADHEAT_TOUCHES(SYS_mkdir, kAlways, reads_text(1))
DEADHEAT_TOUCHES(SYS_access, kAlways, reads_text(1))
DEADHEAT_TOUCHES(SYS_pipe, kZero, writes(1, 2 * sizeof(int)))
DEADHEAT_TOUCHES(SYS_pipe2, kZero, writes(1, 2 * sizeof(int)))
DEADHEAT_TOUCHES(SYS_socketpair, kZero, writes(4, 2 * sizeof(int)))
DEADHEAT_TOUCHES(SYS_stat, kZero, reads_text(1), writes(2, kStat))
DEADHEAT_TOUCHES(SYS_lstat, kZero, reads_text(1), writes(2, kStat))
DEADHEAT_TOUCHES(SYS_fstat, kZero, writes(2, kStat))
DEADHEAT_TOUCHES(SYS_newfstatat, kZero, reads_text(2), writes(3, kStat))
DEADHEAT_TOUCHES(SYS_statx, kZero, reads_text(2), writes(5, sizeof(struct statx)))
DEADHEAT_TOUCHES(SYS_clock_gettime, kZero, writes(2, kTime))
DEADHEAT_TOUCHES(SYS_clock_getres, kZero, writes(2, kTime))
DEADHEAT_TOUCHES(SYS_clock_nanosleep, kAlways, reads(3, kTime))
DEADHEAT_TOUCHES(SYS_nanosleep, kAlways, reads(1, kTime))
DEADHEAT_TOUCHES(SYS_gettimeofday, kZero, writes(1, sizeof(timeval)))
DEADHEAT_TOUCHES(SYS_time, kCount, writes(1, sizeof(time_t)))
DEADHEAT_TOUCHES(SYS_uname, kZero, writes(1, sizeof(utsname)))
DEADHEAT_TOUCHES(SYS_sysinfo, kZero, writes(1, sizeof(struct sysinfo)))
DEADHEAT_TOUCHES(SYS_getrusage, kZero, writes(2, sizeof(rusage)))
DEADHEAT_TOUCHES(SYS_getrlimit, kZero, writes(2, sizeof(rlimit)))
DEADHEAT_TOUCHES(SYS_setrlimit, kAlways, reads(2, sizeof(rlimit)))
DEADHEAT_TOUCHES(SYS_prlimit64, kZero, reads(3, sizeof(rlimit)), writes(4, sizeof(rlimit)))
DEADHEAT_TOUCHES(SYS_getcpu, kZero, writes(1, sizeof(unsigned)), writes(2, sizeof(unsigned)))
DEADHEAT_TOUCHES(SYS_sched_getaffinity, kCount, writes_result(3))
DEADHEAT_TOUCHES(SYS_sched_setaffinity, kAlways, reads_bytes(3, 2))

template <long kNumber>
constexpr SystemCall call_of(void (*gives)(const Call&) = nullptr, void (*takes)(const Call&) = nullptr) {
  return {Touched<kNumber>::kAll, gives, takes};
}

#define DEADHEAT_CALL(number, ...)                                    \
  case number: {                                                      \
    static constexpr SystemCall kCall = call_of<number>(__VA_ARGS__); \
    return &kCall;                                                    \
  }

}  // namespace

const SystemCall* meaning_of(long number) {
  switch (number) {
    DEADHEAT_CALL(SYS_read, nullptr, receives<1>)
    DEADHEAT_CALL(SYS_pread64)
    DEADHEAT_CALL(SYS_readv, nullptr, receives<1>)
    DEADHEAT_CALL(SYS_preadv)
    DEADHEAT_CALL(SYS_preadv2)
    DEADHEAT_CALL(SYS_recvfrom, nullptr, receives<1>)
    DEADHEAT_CALL(SYS_recvmsg, nullptr, receives<1>)
    DEADHEAT_CALL(SYS_getdents64)
    DEADHEAT_CALL(SYS_getrandom)
    DEADHEAT_CALL(SYS_getcwd)
    DEADHEAT_CALL(SYS_readlink)
    DEADHEAT_CALL(SYS_readlinkat)
    DEADHEAT_CALL(SYS_write, sends<1>)
    DEADHEAT_CALL(SYS_pwrite64)
    DEADHEAT_CALL(SYS_writev, sends<1>)
    DEADHEAT_CALL(SYS_pwritev)
    DEADHEAT_CALL(SYS_pwritev2)
    DEADHEAT_CALL(SYS_sendto, sends<1>)
    DEADHEAT_CALL(SYS_sendmsg, sends<1>)
    DEADHEAT_CALL(SYS_shutdown, sends<1>)
    DEADHEAT_CALL(SYS_open, nullptr, opens<Made::kByName>)
    DEADHEAT_CALL(SYS_openat, nullptr, opens<Made::kByName>)
    DEADHEAT_CALL(SYS_socket, nullptr, opens<Made::kByName>)
    DEADHEAT_CALL(SYS_eventfd2, nullptr, opens<Made::kHere>)
    DEADHEAT_CALL(SYS_memfd_create, nullptr, opens<Made::kHere>)
    DEADHEAT_CALL(SYS_pipe, nullptr, opens_two)
    DEADHEAT_CALL(SYS_pipe2, nullptr, opens_two)
    DEADHEAT_CALL(SYS_socketpair, nullptr, opens_two)
    DEADHEAT_CALL(SYS_close, closes)
    DEADHEAT_CALL(SYS_unlink)
    DEADHEAT_CALL(SYS_unlinkat)
    DEADHEAT_CALL(SYS_mkdir)
    DEADHEAT_CALL(SYS_access)
    DEADHEAT_CALL(SYS_stat)
    DEADHEAT_CALL(SYS_lstat)
    DEADHEAT_CALL(SYS_fstat)
    DEADHEAT_CALL(SYS_newfstatat)
    DEADHEAT_CALL(SYS_statx)
    DEADHEAT_CALL(SYS_clock_gettime)
    DEADHEAT_CALL(SYS_clock_getres)
    DEADHEAT_CALL(SYS_clock_nanosleep)
    DEADHEAT_CALL(SYS_nanosleep)
    DEADHEAT_CALL(SYS_gettimeofday)
    DEADHEAT_CALL(SYS_time)
    DEADHEAT_CALL(SYS_uname)
    DEADHEAT_CALL(SYS_sysinfo)
    DEADHEAT_CALL(SYS_getrusage)
    DEADHEAT_CALL(SYS_getrlimit)
    DEADHEAT_CALL(SYS_setrlimit)
    DEADHEAT_CALL(SYS_prlimit64)
    DEADHEAT_CALL(SYS_getcpu)
    DEADHEAT_CALL(SYS_sched_getaffinity)
    DEADHEAT_CALL(SYS_sched_setaffinity)
    DEADHEAT_CALL(SYS_futex, wakes, is_woken)
    DEADHEAT_CALL(SYS_kill, signals_process)
    DEADHEAT_CALL(SYS_rt_sigqueueinfo, signals_process)
    DEADHEAT_CALL(SYS_pidfd_send_signal, signals_by_descriptor)
    DEADHEAT_CALL(SYS_tkill, signals_thread)
    DEADHEAT_CALL(SYS_tgkill, signals_thread_of)
    DEADHEAT_CALL(SYS_rt_tgsigqueueinfo, signals_thread_of)
    DEADHEAT_CALL(SYS_io_uring_setup, nullptr, makes_ring)
    DEADHEAT_CALL(SYS_io_uring_enter, enters_ring, leaves_ring)
    default:
      return nullptr;
  }
}

}  // namespace deadheat::runtime
