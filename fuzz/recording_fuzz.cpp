// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording: an error, or a recording that can be put in order. The first byte
// says how the rest is shared among the files.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/trace_paths.h"
#include "trace/log_record.h"
#include "trace/recorded_order.h"
#include "trace/recording_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const std::size_t main = bytes.size() * (data[0] & 15U) / 16;
  const std::size_t agent = std::min<std::size_t>(bytes.size() - main, 64);
  const auto log = bytes.subspan(main + agent);
  // The slots of freed blocks are far behind the beginning.
  std::vector<std::byte> tail((data[0] & 64U) != 0 ? 2 * deadheat::kLogPiece : 0);
  tail.insert(tail.end(), log.begin(), log.end());
  deadheat::RecordingBytes files{bytes.first(main), bytes.subspan(main, agent), {{"log.0", 0, log, tail}}};
  if ((data[0] & 16U) != 0) files.agent = {};
  auto recording = deadheat::parse_recording(files);
  if (!recording.ok()) return 0;
  deadheat::replay::CodeSpace code;
  code.add(0x1000, log);
  static_cast<void>(deadheat::replay::decode_traces(recording.value(), code));
  std::vector<deadheat::OrderedThread> threads;
  for (const auto& thread : recording.value().threads) threads.push_back({&thread, {}, (data[0] & 32U) != 0});
  static_cast<void>(deadheat::order_recording(threads, [](std::uint64_t) { return deadheat::SiteId::kUnknown; }));
  return 0;
}
