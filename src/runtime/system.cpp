// SPDX-License-Identifier: Apache-2.0
#include "runtime/system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

namespace deadheat::runtime {

long raw_call(long number, long a, long b, long c, long d, long e, long f) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

void* raw_mmap(void* address, std::size_t bytes, int protection, int flags) {
  const long result =
      raw_call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(bytes), protection, flags, -1, 0);
  return result < 0 && result > -4096 ? MAP_FAILED : reinterpret_cast<void*>(result);
}

int raw_munmap(void* address, std::size_t bytes) {
  return static_cast<int>(raw_call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(bytes)));
}

int raw_madvise(void* address, std::size_t bytes, int advice) {
  return static_cast<int>(raw_call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes), advice));
}

namespace {

std::size_t append(char* line, std::size_t at, std::size_t limit, const char* text) {
  while (*text != 0 && at < limit) line[at++] = *text++;
  return at;
}

}  // namespace

void say(const char* text, const char* more) {
  char line[512];
  std::size_t size = append(line, 0, sizeof line - 1, "deadheat: ");
  size = append(line, size, sizeof line - 1, text);
  size = append(line, size, sizeof line - 1, more);
  line[size++] = '\n';
  raw_call(SYS_write, 2, reinterpret_cast<long>(line), static_cast<long>(size));
}

std::uint64_t read_clock(long clock) {
  timespec time{};
  raw_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&time));
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void say(const char* text) { say(text, ""); }

void die(const char* text) {
  say(text);
  raw_call(SYS_exit_group, 1);
  __builtin_unreachable();
}

namespace {

// One line of /proc/self/maps: "begin-end rwxp offset device inode   path".
bool parse_mapping(const char* line, Mapping& mapping) {
  const auto hexadecimal = [&line] {
    Address value = 0;
    for (;; ++line) {
      if (*line >= '0' && *line <= '9') {
        value = value * 16 + static_cast<Address>(*line - '0');
      } else if (*line >= 'a' && *line <= 'f') {
        value = value * 16 + static_cast<Address>(*line - 'a' + 10);
      } else {
        return value;
      }
    }
  };
  mapping.begin = hexadecimal();
  if (*line++ != '-') return false;
  mapping.end = hexadecimal();
  if (*line++ != ' ') return false;
  mapping.is_readable = line[0] == 'r';
  mapping.is_writable = line[1] == 'w';
  mapping.is_executable = line[2] == 'x';
  for (int field = 0; field < 4; ++field) {
    while (*line != 0 && *line != ' ') ++line;
    while (*line == ' ') ++line;
  }
  mapping.path = line;
  return true;
}

}  // namespace

bool for_each_mapping(bool (*visit)(const Mapping& mapping, void* context), void* context) {
  const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[8192];
  std::size_t filled = 0;
  bool wanted = true;
  while (wanted) {
    const long got = raw_call(SYS_read, file, reinterpret_cast<long>(buffer + filled),
                              static_cast<long>(sizeof buffer - 1 - filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    std::size_t begin = 0;
    for (std::size_t at = 0; at < filled && wanted; ++at) {
      if (buffer[at] != '\n') continue;
      buffer[at] = 0;
      Mapping mapping;
      if (parse_mapping(buffer + begin, mapping)) wanted = visit(mapping, context);
      begin = at + 1;
    }
    if (begin == 0 && filled == sizeof buffer - 1) filled = 0;  // a line longer than any path: skip it
    for (std::size_t at = begin; at < filled; ++at) buffer[at - begin] = buffer[at];
    filled -= begin < filled ? begin : filled;
  }
  raw_call(SYS_close, file);
  return true;
}

void SpinLock::lock_slow() {
  // Who looks too often takes the line away from who has the lock.
  constexpr std::uint32_t kMostPauses = 64;
  constexpr std::uint32_t kPatience = 16;
  std::uint32_t pauses = 1;
  for (std::uint32_t tries = 0;; ++tries) {
    if (tries > kPatience) {
      raw_call(SYS_sched_yield);
    } else {
      for (std::uint32_t pause = 0; pause < pauses; ++pause) __builtin_ia32_pause();
      if (pauses < kMostPauses) pauses *= 2;
    }
    if (__atomic_load_n(&held_, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(&held_, 1U, __ATOMIC_ACQUIRE) == 0) {
      return;
    }
  }
}

}  // namespace deadheat::runtime
