// SPDX-License-Identifier: Apache-2.0
// Sampler: registers of a running program, by the system's performance events.
//
//   clock  the software clock: every so many nanoseconds of processor time, the registers and a
//          little of the stack. Works in every virtual machine; knows nothing of the path between.
//   intel  every so many loads or stores, and the path between by Intel PT. The samples are interrupts, not PEBS
//          records: an interrupt is seen in the trace, so its place on the path is known exactly
//          (docs/decisions/0013-interrupts-not-pebs.md).
//
// Events are opened for the caller itself and inherited by what it starts, from exec on; so the
// sampler is opened first and the program started next.
//
// The clock's timer has two forms. One that goes with the threads is stopped and started at every switch of threads,
// which costs a server that waits for its clients more than the samples do. One that goes with the processors runs
// through; it interrupts everybody, what it sees of others is dropped, and it takes a privilege
// (docs/decisions/0018-timers-of-processors.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/perf_ring.h"
#include "trace/recording_file.h"

namespace deadheat::record {

enum class Backend : std::uint8_t { kClock, kIntel, kStep, kSoftwarePt };

[[nodiscard]] constexpr bool is_stepped(Backend backend) {
  return backend == Backend::kStep || backend == Backend::kSoftwarePt;
}

// kAuto: of processors where that is permitted.
enum class Timers : std::uint8_t { kAuto, kThreads, kProcessors };

struct SamplerRequest {
  Backend backend = Backend::kClock;
  std::uint64_t period = 1'000'000;  // nanoseconds, or memory instructions
  std::uint32_t stack_bytes = 256;   // a multiple of 8
  Timers timers = Timers::kAuto;     // of the clock
  std::string program;               // whose code the processor's trace is limited to
};

struct SamplerCounts {
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;        // the memory for them was full
  std::uint64_t lost_trace = 0;  // bytes of trace were lost, so many times
  std::uint64_t trace_bytes = 0;
  std::uint64_t throttled = 0;  // the system found that there were too many
};

// Why a backend does not work here: what is missing, by name. Nothing: it works.
[[nodiscard]] std::optional<std::string> missing_for(Backend backend);

class Sampler {
 public:
  // kIo: refused by the system. kUnsupported: missing_for().
  [[nodiscard]] static Result<std::unique_ptr<Sampler>> open(const SamplerRequest& request);

  // To poll for input.
  [[nodiscard]] std::vector<int> descriptors() const;
  // What came since the last time: samples, mappings and names of the process and its threads.
  void drain(std::uint32_t process, RecordingWriter& writer);

  [[nodiscard]] const SamplerCounts& counts() const { return counts_; }
  // The program became another by exec; it is not recorded since.
  [[nodiscard]] bool was_replaced() const { return executions_ > 1; }
  [[nodiscard]] bool has_processor_timers() const { return !timers_.empty(); }

 private:
  explicit Sampler(const SamplerRequest& request) : request_(request) {}
  [[nodiscard]] Status open_processor_timers();
  [[nodiscard]] bool is_of_program(std::uint32_t sample_process, std::uint64_t time, std::uint32_t process) const;
  void take(const PerfRing& ring, const perf_event_header& header, std::span<const std::byte> bytes,
            std::uint32_t process, RecordingWriter& writer);
  void take_trace_range(const PerfRing& ring, std::span<const std::byte> bytes, std::uint32_t process,
                        RecordingWriter& writer);
  void take_sample(std::span<const std::byte> bytes, std::uint32_t process, RecordingWriter& writer);
  void take_mapping(std::span<const std::byte> bytes, std::uint32_t process, RecordingWriter& writer);
  void take_name(const perf_event_header& header, std::span<const std::byte> bytes, std::uint32_t process,
                 RecordingWriter& writer);

  SamplerRequest request_;
  std::vector<PerfRing> rings_;   // inherited
  std::vector<PerfRing> timers_;  // of processors
  std::vector<PerfRing> traces_;
  SamplerCounts counts_;
  std::uint32_t executions_ = 0;
  std::uint64_t began_at_ = 0;         // the first of them
  std::uint64_t replaced_at_ = ~0ULL;  // the second
};

// The moment in both clocks, as close together as can be had.
[[nodiscard]] ClockPair read_clocks();
// Whether the processor's counter is what the system itself keeps time by.
[[nodiscard]] bool has_steady_counter();

}  // namespace deadheat::record
