// SPDX-License-Identifier: Apache-2.0
// PerfRing: one event of the system on one processor, with the memory through which it tells its
// samples: of processes that the caller starts later (the event is inherited, and begins at exec), or of
// whoever runs on the processor, which takes a privilege.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"

namespace deadheat::record {

enum class SampledTasks : std::uint8_t { kInherited, kEverybody };

class PerfRing {
 public:
  // `data_pages`: a power of two. kIo: refused; the message says why and what would help.
  [[nodiscard]] static Result<PerfRing> open(perf_event_attr attributes, int processor, std::size_t data_pages,
                                             SampledTasks tasks = SampledTasks::kInherited);

  PerfRing(PerfRing&& other) noexcept;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] int processor() const { return processor_; }

  // Of an event that was opened disabled. kIo: refused.
  [[nodiscard]] Status turn_on() const;
  // The next turn_on() begins a whole period, and not what is left of one.
  void turn_off(std::uint64_t period) const;

  // Hands over all whole records that are there, or were when end() was asked. The bytes are valid during the call.
  using Take = std::function<void(const perf_event_header&, std::span<const std::byte>)>;
  void drain(const Take& take) { drain_until(end(), take); }
  void drain_until(std::uint64_t end, const Take& take);
  [[nodiscard]] std::uint64_t end() const;

  // Room for a processor's trace of its own; kIo as above. `aux_pages`: a power of two.
  [[nodiscard]] Status open_trace(std::size_t aux_pages);
  // The trace's new bytes, in at most two pieces, with the offset of the first.
  void drain_trace(const std::function<void(std::uint64_t offset, std::span<const std::byte>)>& take);

 private:
  PerfRing(int descriptor, int processor) : descriptor_(descriptor), processor_(processor) {}

  int descriptor_ = -1;
  int processor_ = 0;
  std::byte* memory_ = nullptr;
  std::size_t memory_size_ = 0;
  std::byte* trace_ = nullptr;
  std::size_t trace_size_ = 0;
  std::vector<std::byte> whole_;  // a record that goes over the end
};

}  // namespace deadheat::record
