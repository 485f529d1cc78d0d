// SPDX-License-Identifier: Apache-2.0
#include "record/perf_ring.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace deadheat::record {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::string refusal(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "not permitted (kernel.perf_event_paranoid above 2, or a container's seccomp profile)";
    case ENOSYS:
      return "this system has no perf_event_open";
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "this processor or virtual machine has no such event";
    case EMFILE:
      return "too many open files";
    default:
      return std::generic_category().message(error);
  }
}

}  // namespace

Result<PerfRing> PerfRing::open(perf_event_attr attributes, int processor, std::size_t data_pages, SampledTasks tasks) {
  attributes.size = sizeof attributes;
  const int task = tasks == SampledTasks::kEverybody ? -1 : 0;
  const auto result = syscall(SYS_perf_event_open, &attributes, task, processor, -1, PERF_FLAG_FD_CLOEXEC);
  if (result < 0) {
    return Error{ErrorCode::kIo, fmt::format("performance events: {}", refusal(errno))};
  }
  PerfRing ring(static_cast<int>(result), processor);
  const std::size_t size = (data_pages + 1) * page_size();
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.descriptor_, 0);
  if (memory == MAP_FAILED) {
    const bool is_locked = errno == EPERM || errno == EAGAIN;
    return Error{ErrorCode::kIo,
                 fmt::format("no memory for samples: {}", is_locked ? "raise kernel.perf_event_mlock_kb or ulimit -l"
                                                                    : std::generic_category().message(errno))};
  }
  ring.memory_ = static_cast<std::byte*>(memory);
  ring.memory_size_ = size;
  return ring;
}

Status PerfRing::turn_on() const {
  if (ioctl(descriptor_, PERF_EVENT_IOC_ENABLE, 0) == 0) return {};
  return Error{ErrorCode::kIo, fmt::format("performance events: {}", refusal(errno))};
}

void PerfRing::turn_off(std::uint64_t period) const {
  ioctl(descriptor_, PERF_EVENT_IOC_DISABLE, 0);
  ioctl(descriptor_, PERF_EVENT_IOC_PERIOD, &period);
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      processor_(other.processor_),
      memory_(std::exchange(other.memory_, nullptr)),
      memory_size_(other.memory_size_),
      trace_(std::exchange(other.trace_, nullptr)),
      trace_size_(other.trace_size_),
      whole_(std::move(other.whole_)) {}

PerfRing::~PerfRing() {
  if (trace_ != nullptr) munmap(trace_, trace_size_);
  if (memory_ != nullptr) munmap(memory_, memory_size_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint64_t PerfRing::end() const {
  const auto* const page = reinterpret_cast<const perf_event_mmap_page*>(memory_);
  return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);  // pairs with the kernel's store
}

void PerfRing::drain_until(std::uint64_t end, const Take& take) {
  auto* const page = reinterpret_cast<perf_event_mmap_page*>(memory_);
  const std::byte* const data = memory_ + page_size();
  const std::uint64_t size = memory_size_ - page_size();
  std::uint64_t tail = page->data_tail;
  while (end - tail >= sizeof(perf_event_header)) {
    perf_event_header header;
    const std::uint64_t at = tail % size;
    std::memcpy(&header, data + at, sizeof header);  // 8 bytes, aligned: never split
    if (header.size < sizeof header || header.size > end - tail) break;
    std::span<const std::byte> record(data + at, header.size);
    if (at + header.size > size) {
      whole_.resize(header.size);
      const std::size_t first = size - at;
      std::memcpy(whole_.data(), data + at, first);
      std::memcpy(whole_.data() + first, data, header.size - first);
      record = whole_;
    }
    take(header, record.subspan(sizeof header));
    tail += header.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);  // the kernel may write there again
}

Status PerfRing::open_trace(std::size_t aux_pages) {
  auto* const page = reinterpret_cast<perf_event_mmap_page*>(memory_);
  page->aux_offset = memory_size_;
  page->aux_size = aux_pages * page_size();
  void* const memory = mmap(nullptr, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                            static_cast<off_t>(page->aux_offset));
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kIo,
                 fmt::format("no memory for the processor's trace: {}", std::generic_category().message(errno))};
  }
  trace_ = static_cast<std::byte*>(memory);
  trace_size_ = page->aux_size;
  return {};
}

void PerfRing::drain_trace(const std::function<void(std::uint64_t offset, std::span<const std::byte>)>& take) {
  if (trace_ == nullptr) return;
  auto* const page = reinterpret_cast<perf_event_mmap_page*>(memory_);
  const std::uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);  // pairs with the kernel's store
  std::uint64_t tail = page->aux_tail;
  while (tail < head) {
    const std::uint64_t at = tail % trace_size_;
    const std::uint64_t size = std::min<std::uint64_t>(head - tail, trace_size_ - at);
    take(tail, {trace_ + at, static_cast<std::size_t>(size)});
    tail += size;
  }
  __atomic_store_n(&page->aux_tail, tail, __ATOMIC_RELEASE);  // the kernel may write there again
}

}  // namespace deadheat::record
