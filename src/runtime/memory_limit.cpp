// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_limit.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>

#include "runtime/counters.h"
#include "runtime/options.h"
#include "runtime/shadow_memory.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kLookEvery = 4 << 20;
constexpr std::size_t kPage = 4096;

std::atomic<std::size_t> allocated{0};

// The second number of /proc/self/statm, in bytes.
std::size_t resident_bytes() {
  char text[128];
  const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/statm"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const long got = raw_call(SYS_read, file, reinterpret_cast<long>(text), sizeof text);
  raw_call(SYS_close, file);
  std::size_t pages = 0;
  int field = 0;
  for (long at = 0; at < got && field < 2; ++at) {
    if (text[at] == ' ') {
      ++field;
    } else if (field == 1) {
      pages = pages * 10 + static_cast<std::size_t>(text[at] - '0');
    }
  }
  return pages * kPage;
}

}  // namespace

void count_allocation(std::size_t size) {
  if (options().memory_limit == 0) [[likely]]
    return;
  if (allocated.fetch_add(size, std::memory_order_relaxed) % kLookEvery + size < kLookEvery) return;
  if (resident_bytes() <= options().memory_limit) return;
  drop_all_shadow();
  count_loss(Loss::kShadowDropped);
}

}  // namespace deadheat::runtime
