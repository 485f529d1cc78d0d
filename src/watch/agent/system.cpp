// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/system.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <csignal>
#include <ctime>

namespace deadheat::watch {

void* map_memory(std::size_t bytes) {
  const long result = raw_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}

std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

bool same_text(const char* one, const char* other) {
  while (*one != 0 && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

std::size_t copy_text(char* to, std::size_t capacity, const char* from) {
  std::size_t at = 0;
  for (; from[at] != 0 && at + 1 < capacity; ++at) to[at] = from[at];
  to[at] = 0;
  return at;
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

void say(const char* text, const char* more) {
  char line[512];
  std::size_t size = copy_text(line, sizeof line - 1, "deadheat: ");
  size += copy_text(line + size, sizeof line - 1 - size, text);
  size += copy_text(line + size, sizeof line - 1 - size, more);
  line[size++] = '\n';
  raw_call(SYS_write, 2, as_argument(line), static_cast<long>(size));
}

std::size_t peek_bytes(Address address, void* to, std::size_t bytes) {
  // In pieces: of one that is not there in whole, nothing may be read.
  constexpr std::size_t kPage = 4096;
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t to_page_end = kPage - (address + done) % kPage;
    const std::size_t piece = bytes - done < to_page_end ? bytes - done : to_page_end;
    const iovec local{static_cast<char*>(to) + done, piece};
    const iovec remote{reinterpret_cast<void*>(address + done), piece};
    const long got =
        raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), as_argument(&local), 1, as_argument(&remote), 1, 0);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::uint64_t peek_memory(Address address, std::size_t bytes) {
  std::uint64_t value = 0;
  const iovec to{&value, bytes < sizeof value ? bytes : sizeof value};
  const iovec from{reinterpret_cast<void*>(address), to.iov_len};
  raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), as_argument(&to), 1, as_argument(&from), 1, 0);
  return value;
}

void wait_while(const volatile void* word, std::uint32_t value, std::uint64_t nanoseconds) {
  const timespec time{static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
  raw_call(SYS_futex, as_argument(word), FUTEX_WAIT_PRIVATE, value, as_argument(&time));
}

void wake_waiters(const volatile void* word) { raw_call(SYS_futex, as_argument(word), FUTEX_WAKE_PRIVATE, 64); }

void ask_to_run_soon() {
  struct {
    std::uint32_t size = sizeof(*this);
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100 * kMicrosecond;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  const long nice = raw_call(SYS_getpriority, PRIO_PROCESS, 0);  // 40 to 1 for -20 to 19
  if (nice <= 0) return;
  attributes.nice = static_cast<std::int32_t>(20 - nice);
  if (raw_call(SYS_sched_getscheduler, 0) != SCHED_OTHER) return;
  raw_call(SYS_sched_setattr, 0, as_argument(&attributes), 0);
}

}  // namespace deadheat::watch
