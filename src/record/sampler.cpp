// SPDX-License-Identifier: Apache-2.0
#include "record/sampler.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstring>
#include <ctime>
#include <fstream>

#include "image/elf_image.h"
#include "record/intel_events.h"
#include "record/tick_phase.h"

namespace deadheat::record {
namespace {

constexpr std::size_t kDataPages = 128;
constexpr std::size_t kSilentPages = 16;
// Bits of perf's register numbers: ax..flags and r8..r15.
constexpr std::uint64_t kRegisters = 0xff03ff;
// Where perf's registers, in the order of their numbers, belong in ours; -1: ip and flags follow.
constexpr Register kOrder[] = {Register::kRax, Register::kRbx, Register::kRcx, Register::kRdx,
                               Register::kRsi, Register::kRdi, Register::kRbp, Register::kRsp};

class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (bytes_.size() >= sizeof value) {
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_ = bytes_.subspan(sizeof value);
    } else {
      bytes_ = {};
      is_bad_ = true;
    }
    return value;
  }
  std::span<const std::byte> take_bytes(std::uint64_t size) {
    if (size > bytes_.size()) {
      is_bad_ = true;
      return {};
    }
    const auto part = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(size));
    return part;
  }
  std::string take_text() {
    const auto* const text = reinterpret_cast<const char*>(bytes_.data());
    return {text, strnlen(text, bytes_.size())};
  }
  [[nodiscard]] bool is_bad() const { return is_bad_; }

 private:
  std::span<const std::byte> bytes_;
  bool is_bad_ = false;
};

// The time that ends every record which is no sample (sample_id_all: thread, time).
std::uint64_t time_at_end(std::span<const std::byte> bytes) {
  std::uint64_t time = 0;
  if (bytes.size() >= sizeof time) std::memcpy(&time, bytes.data() + bytes.size() - sizeof time, sizeof time);
  return time;
}

perf_event_attr clock_event(const SamplerRequest& request) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = request.period;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
  attributes.sample_regs_user = kRegisters;
  return attributes;
}

// Names and mappings only.
perf_event_attr silent_event() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  return attributes;
}

void take_stack(perf_event_attr& attributes, std::uint32_t stack_bytes) {
  if (stack_bytes == 0) return;
  attributes.sample_type |= PERF_SAMPLE_STACK_USER;
  attributes.sample_stack_user = stack_bytes;
}

void set_common(perf_event_attr& attributes, std::size_t pages) {
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC_RAW;
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<std::uint32_t>(pages * 4096 / 4);
}

void make_inherited(perf_event_attr& attributes, std::size_t pages) {
  set_common(attributes, pages);
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
  attributes.sample_id_all = 1;
}

bool is_offline(int processor) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/online", processor));
  int state = 1;
  return static_cast<bool>(file >> state) && state == 0;
}

}  // namespace

std::optional<std::string> missing_for(Backend backend) {
  if (backend == Backend::kIntel) return missing_for_intel();
  if (backend == Backend::kStep || backend == Backend::kSoftwarePt) return std::nullopt;
  perf_event_attr attributes = clock_event({});
  take_stack(attributes, 256);
  make_inherited(attributes, 1);
  const auto ring = PerfRing::open(attributes, 0, 1);
  if (!ring.ok()) return ring.error().message;
  return std::nullopt;
}

Result<std::unique_ptr<Sampler>> Sampler::open(const SamplerRequest& request) {
  if (const auto missing = missing_for(request.backend)) return Error{ErrorCode::kUnsupported, *missing};
  std::unique_ptr<Sampler> sampler(new Sampler(request));
  if (request.backend == Backend::kClock && request.timers != Timers::kThreads) {
    if (const Status status = sampler->open_processor_timers(); !status.ok()) {
      if (request.timers == Timers::kProcessors) return status.error();
      sampler->timers_.clear();
    }
  }
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int processor = 0; processor < processors; ++processor) {
    const std::size_t pages = sampler->has_processor_timers() ? kSilentPages : kDataPages;
    std::vector<perf_event_attr> events;
    if (request.backend == Backend::kIntel) {
      events = memory_events(request.period, kRegisters);
    } else {
      events = {sampler->has_processor_timers() ? silent_event() : clock_event(request)};
    }
    for (perf_event_attr& attributes : events) {
      if (!sampler->has_processor_timers()) take_stack(attributes, request.stack_bytes);
      make_inherited(attributes, pages);
      auto ring = PerfRing::open(attributes, processor, pages);
      if (!ring.ok()) {
        if (is_offline(processor)) continue;
        return ring.error();
      }
      sampler->rings_.push_back(std::move(ring).value());
    }
    if (request.backend != Backend::kIntel) continue;
    auto trace = open_processor_trace(processor, request.program);
    if (!trace.ok()) return trace.error();
    sampler->traces_.push_back(std::move(trace).value());
  }
  if (sampler->rings_.empty()) return Error{ErrorCode::kIo, "performance events: no processor has them"};
  return sampler;
}

Status Sampler::open_processor_timers() {
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int processor = 0; processor < processors; ++processor) {
    perf_event_attr attributes = clock_event(request_);
    take_stack(attributes, request_.stack_bytes);
    set_common(attributes, kDataPages);
    attributes.exclude_idle = 1;
    attributes.disabled = 1;
    auto ring = PerfRing::open(attributes, processor, kDataPages, SampledTasks::kEverybody);
    if (!ring.ok()) {
      if (is_offline(processor)) continue;
      return ring.error();
    }
    timers_.push_back(std::move(ring).value());
  }
  if (timers_.empty()) return Error{ErrorCode::kIo, "performance events: no processor has them"};
  return turn_on_in_phase(timers_, request_.period);
}

std::vector<int> Sampler::descriptors() const {
  std::vector<int> all;
  for (const auto* rings : {&rings_, &timers_, &traces_}) {
    for (const PerfRing& ring : *rings) all.push_back(ring.descriptor());
  }
  return all;
}

void Sampler::drain(std::uint32_t process, RecordingWriter& writer) {
  // What a processor's timer saw is the program's only if it is known when the program began: so its samples
  // come last, and only those that were there first.
  std::vector<std::uint64_t> ends;
  for (const PerfRing& timer : timers_) ends.push_back(timer.end());
  for (auto* rings : {&rings_, &traces_}) {
    for (PerfRing& ring : *rings) {
      ring.drain([&](const perf_event_header& header, std::span<const std::byte> bytes) {
        take(ring, header, bytes, process, writer);
      });
      ring.drain_trace([&](std::uint64_t offset, std::span<const std::byte> bytes) {
        counts_.trace_bytes += bytes.size();
        writer.add_trace(static_cast<std::uint32_t>(ring.processor()), offset, bytes);
      });
    }
  }
  for (std::size_t at = 0; at < timers_.size(); ++at) {
    timers_[at].drain_until(ends[at], [&](const perf_event_header& header, std::span<const std::byte> bytes) {
      take(timers_[at], header, bytes, process, writer);
    });
  }
}

void Sampler::take(const PerfRing& ring, const perf_event_header& header, std::span<const std::byte> bytes,
                   std::uint32_t process, RecordingWriter& writer) {
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      return take_sample(bytes, process, writer);
    case PERF_RECORD_MMAP2:
      return take_mapping(bytes, process, writer);
    case PERF_RECORD_COMM:
      return take_name(header, bytes, process, writer);
    case PERF_RECORD_LOST: {
      Fields fields(bytes);
      fields.take<std::uint64_t>();  // of the event
      counts_.lost += fields.take<std::uint64_t>();
      return;
    }
    case PERF_RECORD_AUX:
      return take_trace_range(ring, bytes, process, writer);
    case PERF_RECORD_THROTTLE:
      ++counts_.throttled;
      return;
    default:
      return;
  }
}

// An inherited event begins with the program; a timer of the processor has been there before.
bool Sampler::is_of_program(std::uint32_t sample_process, std::uint64_t time, std::uint32_t process) const {
  if (sample_process != process) return false;
  if (!has_processor_timers()) return !was_replaced();
  return executions_ != 0 && time >= began_at_ && time < replaced_at_;
}

void Sampler::take_sample(std::span<const std::byte> bytes, std::uint32_t process, RecordingWriter& writer) {
  Fields fields(bytes);
  const auto sample_process = fields.take<std::uint32_t>();
  const auto thread = fields.take<std::uint32_t>();
  RegisterSample sample;
  sample.time = fields.take<std::uint64_t>();
  const auto abi = fields.take<std::uint64_t>();
  // Nothing of the program: in the kernel, or 32 bits.
  if (abi != PERF_SAMPLE_REGS_ABI_64 || !is_of_program(sample_process, sample.time, process)) return;
  for (const Register name : kOrder) {
    sample.registers.general[static_cast<std::size_t>(name)] = fields.take<std::uint64_t>();
  }
  sample.registers.ip = fields.take<std::uint64_t>();
  sample.registers.flags = fields.take<std::uint64_t>();
  for (std::size_t number = 8; number < kRegisterCount; ++number) {
    sample.registers.general[number] = fields.take<std::uint64_t>();
  }
  if (request_.stack_bytes != 0) {
    const auto size = fields.take<std::uint64_t>();
    const auto stack = fields.take_bytes(size);
    const std::uint64_t filled = size == 0 ? 0 : fields.take<std::uint64_t>();
    const auto known = stack.first(std::min<std::size_t>(stack.size(), static_cast<std::size_t>(filled)));
    sample.stack.assign(known.begin(), known.end());
  }
  if (fields.is_bad()) return;
  ++counts_.samples;
  writer.add_sample(thread, sample);
}

// The system writes one when it takes a thread off the processor, in that thread's name.
void Sampler::take_trace_range(const PerfRing& ring, std::span<const std::byte> bytes, std::uint32_t process,
                               RecordingWriter& writer) {
  Fields fields(bytes);
  TraceRange range;
  range.processor = static_cast<std::uint32_t>(ring.processor());
  range.offset = fields.take<std::uint64_t>();
  range.size = fields.take<std::uint64_t>();
  range.has_loss = (fields.take<std::uint64_t>() & PERF_AUX_FLAG_TRUNCATED) != 0;
  const auto owner = fields.take<std::uint32_t>();
  range.system_id = fields.take<std::uint32_t>();
  range.time = fields.take<std::uint64_t>();
  if (range.has_loss) ++counts_.lost_trace;
  if (!fields.is_bad() && owner == process && !was_replaced()) writer.add_trace_range(range);
}

void Sampler::take_mapping(std::span<const std::byte> bytes, std::uint32_t process, RecordingWriter& writer) {
  Fields fields(bytes);
  const auto owner = fields.take<std::uint32_t>();
  fields.take<std::uint32_t>();  // thread
  CodeMapping mapping;
  mapping.begin = fields.take<std::uint64_t>();
  mapping.end = mapping.begin + fields.take<std::uint64_t>();
  mapping.file_offset = fields.take<std::uint64_t>();
  fields.take_bytes(24);  // device, inode, its generation
  const auto protection = fields.take<std::uint32_t>();
  fields.take<std::uint32_t>();  // flags
  mapping.path = fields.take_text();
  mapping.from_time = time_at_end(bytes);
  if (fields.is_bad() || owner != process || was_replaced() || (protection & PROT_EXEC) == 0) return;
  if (mapping.path.empty() || mapping.path[0] != '/') return;
  if (const auto image = ElfImage::open(mapping.path); image.ok()) {
    const auto id = image.value().build_id();
    mapping.build_id.assign(id.begin(), id.end());
  }
  writer.add_mapping(mapping);
}

void Sampler::take_name(const perf_event_header& header, std::span<const std::byte> bytes, std::uint32_t process,
                        RecordingWriter& writer) {
  Fields fields(bytes);
  const auto owner = fields.take<std::uint32_t>();
  const auto thread = fields.take<std::uint32_t>();
  if (owner != process || fields.is_bad()) return;
  if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
    ++executions_;
    if (executions_ == 1) began_at_ = time_at_end(bytes);
    if (executions_ == 2) replaced_at_ = time_at_end(bytes);
  }
  if (!was_replaced()) writer.add_name(thread, fields.take_text());
}

ClockPair read_clocks() {
  ClockPair best;
  std::uint64_t shortest = ~0ULL;
  for (int round = 0; round < 20; ++round) {
    unsigned ignored = 0;
    const std::uint64_t before = __rdtscp(&ignored);
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    const std::uint64_t after = __rdtscp(&ignored);
    if (after - before >= shortest) continue;
    shortest = after - before;
    best.ticks = before + shortest / 2;
    best.time = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  }
  return best;
}

bool has_steady_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return static_cast<bool>(file >> name) && name == "tsc";
}

}  // namespace deadheat::record
