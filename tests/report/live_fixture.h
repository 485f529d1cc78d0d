// SPDX-License-Identifier: Apache-2.0
// A process with one module that no file stands behind, so that every site is
// "bank+offset", and packets of its races.
#pragma once

#include <cstdint>

#include "report/live_report.h"
#include "support/packet_builder.h"

namespace deadheat::live_fixture {

inline constexpr std::uint64_t kBase = 0x400000;
inline constexpr std::uint32_t kProcess = 4711;

inline LiveReport::News feed(LiveReport& report, const packets::Bytes& bytes) {
  auto packet = parse_packet(bytes);
  DEADHEAT_CHECK(packet.ok());
  return report.add(packet.value());
}

inline void begin_process(LiveReport& report, std::uint32_t process, std::uint32_t parent = 1) {
  feed(report, packets::hello(process, "/opt/bank", parent));
  feed(report, packets::modules(process, {{kBase, kBase + 0x10000, kBase, "/opt/bank"}}));
}

// A race between the code before kBase + earlier and kBase + later.
inline packets::FindingParts race(std::uint64_t id, std::uint64_t earlier, std::uint64_t later) {
  packets::FindingParts parts(id, 0x7f0000001000);
  parts.finding.earlier.stack = parts.stack({kBase + earlier, kBase + 0x900});
  parts.finding.later.stack = parts.stack({kBase + later, kBase + 0x800});
  return parts;
}

}  // namespace deadheat::live_fixture
