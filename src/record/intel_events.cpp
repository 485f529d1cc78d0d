// SPDX-License-Identifier: Apache-2.0
#include "record/intel_events.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <random>
#include <string_view>
#include <system_error>

namespace deadheat::record {
namespace {

constexpr char kDevices[] = "/sys/bus/event_source/devices";
constexpr std::size_t kTracePages = 1024;  // 4 MiB for each processor
constexpr std::size_t kSidePages = 16;
// A stamp every 8 ticks of the crystal clock: a third of a microsecond.
constexpr std::uint64_t kMtcPeriod = 3;
// MEM_INST_RETIRED.ALL_LOADS and ALL_STORES, the same from Haswell on.
constexpr std::uint64_t kAllLoads = 0x81d0;
constexpr std::uint64_t kAllStores = 0x82d0;

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

bool is_intel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("vendor_id")) return line.find("GenuineIntel") != std::string::npos;
  }
  return false;
}

// The bit that "config:N" in a format file names; nothing if the processor has no such setting.
std::uint64_t trace_bit(std::string_view name) {
  std::ifstream file(fmt::format("{}/intel_pt/format/{}", kDevices, name));
  std::string text;
  if (!(file >> text) || !text.starts_with("config:")) return 0;
  const int bit = std::atoi(text.c_str() + 7);
  return bit >= 0 && bit < 64 ? 1ULL << static_cast<unsigned>(bit) : 0;
}

// "config:A-B" of a format file: its lowest bit.
std::optional<unsigned> trace_field(std::string_view name) {
  std::ifstream file(fmt::format("{}/intel_pt/format/{}", kDevices, name));
  std::string text;
  if (!(file >> text) || !text.starts_with("config:")) return std::nullopt;
  const int bit = std::atoi(text.c_str() + 7);
  return bit >= 0 && bit < 64 ? std::optional(static_cast<unsigned>(bit)) : std::nullopt;
}

}  // namespace

TraceTiming processor_trace_timing() {
  TraceTiming timing;
  timing.mtc_period = kMtcPeriod;
  timing.nominal_frequency = number_in(fmt::format("{}/intel_pt/max_nonturbo_ratio", kDevices)).value_or(0);
  std::ifstream ratio(fmt::format("{}/intel_pt/tsc_art_ratio", kDevices));
  char colon = 0;
  if (!(ratio >> timing.counter_ratio >> colon >> timing.ratio_divisor) || colon != ':') return {};
  return timing;
}

std::optional<std::string> missing_for_intel() {
  if (!is_intel()) return "the processor is not Intel's: it has no PT";
  if (!number_in(fmt::format("{}/intel_pt/type", kDevices))) {
    return fmt::format("no Intel PT: there is no {}/intel_pt (a virtual machine?)", kDevices);
  }
  if (!number_in(fmt::format("{}/cpu/type", kDevices))) return "the processor's counters are not passed on to us";
  return std::nullopt;
}

std::vector<perf_event_attr> memory_events(std::uint64_t period, std::uint64_t registers) {
  std::random_device random;
  std::vector<perf_event_attr> events;
  for (const std::uint64_t config : {kAllLoads, kAllStores}) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_RAW;
    attributes.config = config;
    // Up to an eighth less, by chance: periods in step with a loop would always see the same access.
    attributes.sample_period = period - random() % (period / 8 + 1);
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
    attributes.sample_regs_user = registers;
    events.push_back(attributes);
  }
  return events;
}

Result<PerfRing> open_processor_trace(int processor, const std::string& program) {
  perf_event_attr attributes{};
  attributes.type = static_cast<std::uint32_t>(number_in(fmt::format("{}/intel_pt/type", kDevices)).value_or(0));
  attributes.config = trace_bit("tsc") | trace_bit("mtc") | trace_bit("noretcomp") | trace_bit("branch");
  if (const auto field = trace_field("mtc_period")) attributes.config |= kMtcPeriod << *field;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC_RAW;
  attributes.aux_watermark = kTracePages * 4096 / 4;
  auto ring = PerfRing::open(attributes, processor, kSidePages);
  if (!ring.ok()) return ring.error();
  if (const Status status = ring.value().open_trace(kTracePages); !status.ok()) return status.error();
  const auto ranges = number_in(fmt::format("{}/intel_pt/nr_addr_filters", kDevices));
  struct stat about{};
  if (ranges && *ranges > 0 && stat(program.c_str(), &about) == 0) {
    const std::string filter = fmt::format("filter 0/{}@{}", about.st_size, program);
    // Without the filter the trace is larger and otherwise the same.
    static_cast<void>(ioctl(ring.value().descriptor(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()));
  }
  return ring;
}

}  // namespace deadheat::record
