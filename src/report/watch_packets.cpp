// SPDX-License-Identifier: Apache-2.0
#include "report/watch_packets.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "model/finding.h"
#include "watch/site_table.h"

namespace deadheat {

namespace {

using watch::Collision;
using watch::PacketHead;
using watch::WatchedAccess;

Error bad_watch_packet(std::string message) {
  return {ErrorCode::kMalformed, "packet of a watch: " + std::move(message)};
}

// A packet of fixed size.
template <class T>
Result<WatchPacket> whole_packet(std::span<const std::byte> bytes) {
  T body;
  if (bytes.size() != sizeof body) return bad_watch_packet("wrong size");
  std::memcpy(&body, bytes.data(), sizeof body);
  return WatchPacket{body.head.process, body};
}

// "BEGIN END PATH".
Result<RawModule> parse_loaded_module(std::string_view line) {
  RawModule module;
  const char* const end = line.data() + line.size();
  const auto begin = std::from_chars(line.data(), end, module.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == end || *begin.ptr != ' ') return bad_watch_packet("bad module");
  const auto after = std::from_chars(begin.ptr + 1, end, module.end, 16);
  if (after.ec != std::errc{} || after.ptr == end || *after.ptr != ' ') return bad_watch_packet("bad module");
  if (module.end < module.begin) return bad_watch_packet("bad module");
  module.path.assign(after.ptr + 1, end);
  return module;
}

Result<WatchPacket> parse_loaded_modules(std::span<const std::byte> bytes, std::uint32_t process) {
  const auto text = bytes.subspan(sizeof(PacketHead));
  const std::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
  std::string_view rest = lines.substr(0, lines.find('\0'));
  LoadedModules loaded;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    auto module = parse_loaded_module(rest.substr(0, end));
    if (!module.ok()) return module.error();
    loaded.modules.push_back(std::move(module).value());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return WatchPacket{process, std::move(loaded)};
}

Result<WatchPacket> parse_watch_message(std::span<const std::byte> bytes, std::uint32_t process) {
  const auto text = bytes.subspan(sizeof(PacketHead));
  const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  return WatchPacket{process, WatchMessage{std::string(all.substr(0, all.find('\0')))}};
}

bool is_sane(const WatchedAccess& access) {
  return access.frame_count <= watch::kWatchFrames && access.size >= 1 && access.size <= 64 &&
         access.address + access.size > access.address;
}

Result<WatchPacket> parse_collision(std::span<const std::byte> bytes) {
  auto packet = whole_packet<Collision>(bytes);
  if (!packet.ok()) return packet;
  const auto& collision = std::get<Collision>(packet.value().body);
  if (collision.sampled_stack.size > watch::kStackCopy || collision.tripped_stack.size > watch::kStackCopy) {
    return bad_watch_packet("bad stack");
  }
  if (!is_sane(collision.sampled) || !is_sane(collision.tripped)) return bad_watch_packet("bad access");
  return packet;
}

bool writes_memory(const WatchedAccess& access) { return (access.flags & watch::kWrites) != 0; }

}  // namespace

Result<WatchPacket> parse_watch_packet(std::span<const std::byte> bytes) {
  PacketHead head;
  if (bytes.size() < sizeof head) return bad_watch_packet("too short");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.version != watch::kWatchPacketVersion) {
    return Error{ErrorCode::kUnsupported, "packet of a watch: the agent is of another version"};
  }
  if (head.size != bytes.size()) return bad_watch_packet("wrong size");
  switch (head.kind) {
    case watch::PacketKind::kHello:
      return whole_packet<watch::Hello>(bytes);
    case watch::PacketKind::kModules:
      return parse_loaded_modules(bytes, head.process);
    case watch::PacketKind::kCollision:
      return parse_collision(bytes);
    case watch::PacketKind::kProgress:
      return whole_packet<watch::Progress>(bytes);
    case watch::PacketKind::kMessage:
      return parse_watch_message(bytes, head.process);
    case watch::PacketKind::kBye:
      return WatchPacket{head.process, WatchEnd{}};
  }
  return bad_watch_packet("unknown kind");
}

std::uint32_t CollisionTranslator::number_of(std::uint32_t process, std::uint32_t thread) {
  if (thread == process) return 1;
  const auto [entry, is_new] = threads_.try_emplace({process, thread}, 0);
  if (is_new) entry->second = static_cast<std::uint32_t>(threads_.size()) + 1;
  return entry->second;
}

RawPacket CollisionTranslator::translate(const Collision& collision, std::uint64_t number) {
  FindingPacket packet;
  const auto add_side = [&](const WatchedAccess& access, bool is_write) {
    raw_report::Side side;
    side.thread = static_cast<std::uint32_t>(packet.threads.size());
    side.kind = static_cast<std::uint8_t>(is_write ? AccessKind::kWrite : AccessKind::kRead);
    side.flags = raw_report::kAccessLocksUnknown;
    side.address = access.address;
    side.size = access.size;
    side.stack = {static_cast<std::uint32_t>(packet.code.size()), access.frame_count + 1};
    // Stacks are return addresses, which are looked up one byte before.
    packet.code.push_back(access.code + 1);
    packet.code.insert(packet.code.end(), access.frames, access.frames + access.frame_count);
    raw_report::Thread thread;
    thread.id = number_of(collision.head.process, access.thread);
    thread.os_id = access.thread;
    thread.flags = thread.id == 1 ? raw_report::kThreadMain : 0;
    std::memcpy(thread.name, access.thread_name, sizeof thread.name);
    packet.threads.push_back(thread);
    return side;
  };
  packet.finding.id = number;
  packet.finding.earlier = add_side(collision.tripped, writes_memory(collision.tripped));
  packet.finding.later = add_side(collision.sampled, writes_memory(collision.sampled));
  const std::uint64_t begin = std::max(collision.sampled.address, collision.tripped.address);
  const std::uint64_t end =
      std::min(collision.sampled.address + collision.sampled.size, collision.tripped.address + collision.tripped.size);
  packet.finding.address = begin < end ? begin : collision.sampled.address;
  packet.finding.size = begin < end ? end - begin : collision.sampled.size;
  packet.finding.memory.thread = raw_report::kNoThread;
  packet.finding.memory.freed_by = raw_report::kNoThread;
  packet.finding.thread_count = static_cast<std::uint32_t>(packet.threads.size());
  packet.finding.code_count = static_cast<std::uint32_t>(packet.code.size());
  return RawPacket{collision.head.process, std::move(packet)};
}

}  // namespace deadheat
