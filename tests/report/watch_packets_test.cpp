// SPDX-License-Identifier: Apache-2.0
#include "report/watch_packets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <variant>

#include "model/finding.h"
#include "watch/site_table.h"

namespace deadheat {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& packet, std::size_t size = sizeof(T)) {
  return std::as_bytes(std::span(&packet, 1)).first(size);
}

watch::Collision collision() {
  watch::Collision packet;
  packet.head = {watch::PacketKind::kCollision, watch::kWatchPacketVersion, 40, sizeof packet};
  packet.is_confirmed = 1;
  packet.sampled = {
      .code = 0x1000, .address = 0x5000, .size = 8, .flags = watch::kReads, .thread = 40, .frame_count = 1};
  packet.sampled.frames[0] = 0x2000;
  packet.tripped = {.code = 0x1100, .address = 0x5004, .size = 4, .flags = watch::kWrites, .thread = 41};
  return packet;
}

TEST(WatchPackets, ACollisionBecomesAFinding) {
  const auto parsed = parse_watch_packet(bytes_of(collision()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  CollisionTranslator translator;
  const RawPacket raw = translator.translate(std::get<watch::Collision>(parsed.value().body), 7);
  EXPECT_EQ(raw.process, 40U);
  const auto& packet = std::get<FindingPacket>(raw.body);
  EXPECT_EQ(packet.finding.id, 7U);
  EXPECT_EQ(packet.finding.address, 0x5004U);
  EXPECT_EQ(packet.finding.size, 4U);
  EXPECT_EQ(packet.finding.earlier.kind, static_cast<std::uint8_t>(AccessKind::kWrite));
  EXPECT_EQ(packet.finding.later.kind, static_cast<std::uint8_t>(AccessKind::kRead));
  // The main thread, and the first other one.
  EXPECT_EQ(packet.threads[packet.finding.later.thread].id, 1U);
  EXPECT_EQ(packet.threads[packet.finding.earlier.thread].id, 2U);
  const raw_report::Stack stack = packet.finding.later.stack;
  ASSERT_EQ(stack.count, 2U);
  EXPECT_EQ(packet.code[stack.first], 0x1001U);
  EXPECT_EQ(packet.code[stack.first + 1], 0x2000U);
}

TEST(WatchPackets, NumbersThatDoNotFitAreRefused) {
  watch::Collision packet = collision();
  packet.sampled.frame_count = watch::kWatchFrames + 1;
  EXPECT_FALSE(parse_watch_packet(bytes_of(packet)).ok());
  packet = collision();
  packet.tripped.size = 0;
  EXPECT_FALSE(parse_watch_packet(bytes_of(packet)).ok());
  packet = collision();
  packet.tripped.address = ~std::uint64_t{0};
  EXPECT_FALSE(parse_watch_packet(bytes_of(packet)).ok());
  packet = collision();
  EXPECT_FALSE(parse_watch_packet(bytes_of(packet, sizeof packet - 1)).ok());
  packet.head.version = 99;
  EXPECT_EQ(parse_watch_packet(bytes_of(packet)).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(parse_watch_packet({}).ok());
}

TEST(WatchPackets, ModulesAreLines) {
  watch::Modules packet;
  const std::string lines = "1000 3000 /bin/a b\nff00 ff10 /lib/x.so\n";
  std::memcpy(packet.lines, lines.c_str(), lines.size() + 1);
  const std::size_t size = sizeof(watch::PacketHead) + lines.size() + 1;
  packet.head = {watch::PacketKind::kModules, watch::kWatchPacketVersion, 40, static_cast<std::uint32_t>(size)};
  const auto parsed = parse_watch_packet(bytes_of(packet, size));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto& modules = std::get<LoadedModules>(parsed.value().body).modules;
  ASSERT_EQ(modules.size(), 2U);
  EXPECT_EQ(modules[0].begin, 0x1000U);
  EXPECT_EQ(modules[0].end, 0x3000U);
  EXPECT_EQ(modules[0].path, "/bin/a b");
  packet.lines[0] = '?';
  EXPECT_FALSE(parse_watch_packet(bytes_of(packet, size)).ok());
}

}  // namespace
}  // namespace deadheat
