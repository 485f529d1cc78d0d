// SPDX-License-Identifier: Apache-2.0
// Packets of watch/watch_packet.h, taken apart, and what they say in the words of other
// reports: a collision becomes the packet of a finding (raw_packet_reader.h), so that all that is
// known to show findings can show it.
//
// The bytes come from the watched process, so every count and text is checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "report/raw_packet_reader.h"
#include "watch/watch_packet.h"

namespace deadheat {

struct LoadedModules {
  std::vector<RawModule> modules;  // load_bias is not known yet: 0
};
struct WatchMessage {
  std::string text;
};
struct WatchEnd {};

struct WatchPacket {
  std::uint32_t process = 0;
  std::variant<watch::Hello, LoadedModules, watch::Collision, watch::Progress, WatchMessage, WatchEnd> body;
};

// The bytes of exactly one packet. Errors: kMalformed, kUnsupported (another version).
[[nodiscard]] Result<WatchPacket> parse_watch_packet(std::span<const std::byte> bytes);

// Threads are numbered in the order in which they are heard of; the one whose number is the
// process's is the main thread.
class CollisionTranslator {
 public:
  // The sampled access is the later one: it was about to be made. `number` counts findings
  // of the process, from 1.
  [[nodiscard]] RawPacket translate(const watch::Collision& collision, std::uint64_t number);

 private:
  std::uint32_t number_of(std::uint32_t process, std::uint32_t thread);

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> threads_;
};

}  // namespace deadheat
