// SPDX-License-Identifier: Apache-2.0
#include "runtime/system.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>

namespace deadheat::runtime {

namespace {

constinit std::atomic<std::uint64_t> own_bytes{0};

}  // namespace

std::uint64_t mapped_by_us() { return own_bytes.load(std::memory_order_relaxed); }

void* raw_mmap(void* address, std::size_t bytes, int protection, int flags) {
  const long result =
      raw_call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(bytes), protection, flags, -1, 0);
  if (is_error(result)) return MAP_FAILED;
  own_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return reinterpret_cast<void*>(result);
}

int raw_munmap(void* address, std::size_t bytes) {
  own_bytes.fetch_sub(bytes, std::memory_order_relaxed);
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

void say(const char* text) { say(text, ""); }

void die(const char* text) {
  say(text);
  raw_call(SYS_exit_group, 1);
  __builtin_unreachable();
}

void ask_for_short_turns() {
  constexpr std::uint64_t kTurn = 100'000;  // nanoseconds
  // As the system has it; its header and libc's do not go together.
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t turn, deadline, period;
  } attributes{};
  if (raw_call(SYS_sched_getattr, 0, reinterpret_cast<long>(&attributes), sizeof attributes, 0) != 0) return;
  if (attributes.policy != 0) return;  // only for the usual one
  attributes.turn = kTurn;
  raw_call(SYS_sched_setattr, 0, reinterpret_cast<long>(&attributes), 0);
}

}  // namespace deadheat::runtime
