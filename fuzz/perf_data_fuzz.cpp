// SPDX-License-Identifier: Apache-2.0
// The perf.data container and the PT data in it; any bytes as the traces of processors.
#include <cstddef>
#include <cstdint>
#include <span>

#include "replay/code_space.h"
#include "replay/perf_data.h"
#include "replay/pt_decode.h"
#include "replay/trace_paths.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto parsed = deadheat::replay::parse_perf_data(bytes, "fuzz");
  if (parsed) {
    for (const auto& block : parsed.value().aux) (void)deadheat::replay::count_packets(block.bytes);
  }
  deadheat::replay::CodeSpace code;
  code.add(0x1000, bytes.subspan(0, size / 2));
  (void)deadheat::replay::decode_pt(bytes.subspan(size / 2), code);
  // Two processors and two threads; the first bytes say who had which part, and how samples are placed.
  if (size < 16) return 0;
  deadheat::Recording recording;
  recording.clocks = {{0, 0}, {1ULL << 40U, 1ULL << 40U}};
  for (std::uint32_t number = 0; number < 2; ++number) {
    deadheat::RecordedThread thread;
    thread.system_id = number + 1;
    deadheat::RegisterSample sample;
    sample.time = data[8 + number];
    sample.registers.ip = 0x1000U + data[10 + number];
    thread.samples = {sample, sample};
    recording.threads.push_back(std::move(thread));
    const auto half = bytes.subspan(size / 2 + number * (size / 4), size / 4);
    recording.trace.push_back({number, data[number], {half.begin(), half.end()}});
  }
  for (std::uint32_t number = 0; number < 4; ++number) {
    recording.trace_ranges.push_back({number % 2, data[number] + number * std::uint64_t{data[4]}, data[5],
                                      1U + data[number] % 3U, data[number + 2], data[6] == number});
  }
  recording.trace_timing = {data[7] % 16U, data[12], data[13], data[14]};
  (void)deadheat::replay::decode_traces(recording, code);
  return 0;
}
