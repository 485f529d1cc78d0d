// SPDX-License-Identifier: Apache-2.0
#include "report/raw_packet_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "support/packet_builder.h"

namespace deadheat {
namespace {

using packets::Bytes;
using packets::FindingParts;

FindingParts finding_with_everything() {
  FindingParts parts(7, 0x1000);
  parts.finding.later.stack = parts.stack({0x10, 0x20});
  parts.finding.earlier.stack = parts.stack({0x30});
  raw_report::Lock lock;
  lock.address = 0x2000;
  lock.created = parts.stack({0x40});
  parts.finding.later.locks = parts.lock_list({lock});
  return parts;
}

template <class Body>
Body parsed(const Bytes& bytes) {
  auto packet = parse_packet(bytes);
  EXPECT_TRUE(packet.ok()) << packet.error().message;
  return std::get<Body>(packet.value().body);
}

std::string problem_of(const Bytes& bytes) {
  const auto packet = parse_packet(bytes);
  return packet.ok() ? "" : packet.error().message;
}

TEST(RawPacketReaderTest, EveryKindOfPacketIsTakenApart) {
  EXPECT_EQ(parse_packet(packets::hello(42, "/bin/bank", 41)).value().process, 42U);
  const auto hello = parsed<HelloPacket>(packets::hello(42, "/bin/bank", 41));
  EXPECT_EQ(hello.program, "/bin/bank");
  EXPECT_EQ(hello.parent_process, 41U);
  const auto modules = parsed<ModulesPacket>(packets::modules(1, {{1, 2, 3, "/a"}, {4, 5, 6, "/bc"}}));
  ASSERT_EQ(modules.modules.size(), 2U);
  EXPECT_EQ(modules.modules[1].path, "/bc");
  EXPECT_EQ(modules.modules[1].load_bias, 6U);
  const auto finding = parsed<FindingPacket>(finding_with_everything().bytes(1));
  EXPECT_EQ(finding.finding.id, 7U);
  EXPECT_EQ(finding.code, (std::vector<std::uint64_t>{0x10, 0x20, 0x30, 0x40}));
  EXPECT_EQ(finding.locks[0].address, 0x2000U);
  EXPECT_EQ(parsed<NoticePacket>(packets::notice(1, "hear")).text, "hear");
  const auto summary = parsed<SummaryPacket>(packets::summary(1, {{7, 100}}, {{"lost", 3, packets::Loss::kYes}}));
  EXPECT_TRUE(summary.is_final);
  EXPECT_EQ(summary.repeats[0].occurrences, 100U);
  EXPECT_EQ(summary.counters[0].name, "lost");
  EXPECT_TRUE(summary.counters[0].is_loss);
  const Event event = events::write(ThreadId{1}, 0x10, 4);
  EXPECT_EQ(parsed<EventsPacket>(packets::events(1, {event, event})).events, (std::vector{event, event}));
  EXPECT_EQ(parsed<SitesPacket>(packets::sites(1, {{5, 0, 0x99}})).sites[0].code, 0x99U);
  EXPECT_EQ(parsed<RecordingPacket>(packets::recording(1, {7, 0, 3})).parent_process, 7U);
  EXPECT_EQ(parsed<ForkingPacket>(packets::forking(1, 3)).fork, 3U);
  const auto suppressions = parsed<SuppressionsPacket>(packets::suppressions(1, "race:x\n", 9));
  EXPECT_EQ(suppressions.text, "race:x\n");
  EXPECT_EQ(suppressions.first_line, 9U);
  const auto amounts = parsed<SamplingPacket>(packets::sampling(1, packets::usual_sampling())).sampling;
  EXPECT_EQ(amounts.rate, 30'000U);
  EXPECT_EQ(amounts.checked_accesses, 7U);
}

TEST(RawPacketReaderTest, EveryPrefixOfAPacketIsRefused) {
  for (const Bytes& whole :
       {packets::hello(1, "x"), packets::modules(1, {{1, 2, 3, "/a"}}), finding_with_everything().bytes(1),
        packets::notice(1, "text"), packets::summary(1, {{7, 1}}, {{"n", 1}}), packets::events(1, {Event{}}),
        packets::sites(1, {{}}), packets::recording(1), packets::forking(1, 1), packets::suppressions(1, "x"),
        packets::sampling(1, {})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(parse_packet(std::span(whole).first(size)).ok()) << size;
    }
  }
}

TEST(RawPacketReaderTest, FieldsWithoutAnEndingZeroAreBounded) {
  const std::string name(500, 'x');
  EXPECT_EQ(parsed<HelloPacket>(packets::hello(1, name)).program, std::string(240, 'x'));
  EXPECT_EQ(parsed<SummaryPacket>(packets::summary(1, {}, {{name, 1}})).counters[0].name, std::string(56, 'x'));
}

TEST(RawPacketReaderTest, NumbersThatPointOutsideOfAFindingAreRefused) {
  const struct {
    std::function<void(FindingParts&)> damage;
    std::string problem;
  } cases[] = {
      {[](FindingParts& parts) { parts.finding.later.stack.first = 5; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.finding.later.stack.count = 5; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.finding.later.stack = {0xffffffff, 2}; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.threads[1].created = {4, 1}; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.locks[0].acquired = {0, 99}; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.finding.memory.freed = {9, 0}; }, "a stack lies outside of its finding"},
      {[](FindingParts& parts) { parts.finding.later.locks.count = 2; },
       "the locks of an access lie outside of its finding"},
      {[](FindingParts& parts) { parts.finding.earlier.thread = 2; },
       "an access is by a thread that its finding does not have"},
      {[](FindingParts& parts) { parts.finding.earlier.kind = 5; }, "an access is of an unknown kind"},
      {[](FindingParts& parts) { parts.finding.memory.thread = 2; },
       "memory belongs to a thread that its finding does not have"},
      {[](FindingParts& parts) { parts.finding.memory.kind = raw_report::MemoryKind{6}; },
       "memory is of an unknown kind"},
      {[](FindingParts& parts) { parts.locks[0].mode = 2; }, "a lock of a finding has an unknown mode"},
      {[](FindingParts& parts) { parts.finding.size = UINT64_MAX; }, "the bytes of a finding pass the end of memory"},
  };
  for (const auto& [damage, problem] : cases) {
    FindingParts parts = finding_with_everything();
    damage(parts);
    EXPECT_EQ(problem_of(parts.bytes(1)), problem);
  }
}

TEST(RawPacketReaderTest, SharesAboveTheWholeAreRefusedOrCutOff) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.sampled_work_ns = amounts.work_ns + 1;
  EXPECT_EQ(parsed<SamplingPacket>(packets::sampling(1, amounts)).sampling.sampled_work_ns, amounts.work_ns);
  amounts.rate = raw_report::kWholeRate + 1;
  EXPECT_EQ(problem_of(packets::sampling(1, amounts)), "a process samples at a rate above 100%");
  amounts.rate = raw_report::kWholeRate;
  amounts.budget = UINT64_MAX;
  EXPECT_EQ(problem_of(packets::sampling(1, amounts)), "a process samples with a budget above 100%");
}

TEST(RawPacketReaderTest, CountsThatOverflowAreRefused) {
  Bytes bytes = finding_with_everything().bytes(1);
  const std::uint32_t huge = 0xffffffff;
  for (const std::size_t field :
       {offsetof(raw_report::Finding, thread_count), offsetof(raw_report::Finding, lock_count),
        offsetof(raw_report::Finding, code_count)}) {
    Bytes damaged = bytes;
    std::memcpy(damaged.data() + sizeof(raw_report::PacketHeader) + field, &huge, sizeof(huge));
    EXPECT_EQ(problem_of(damaged), "a finding is shorter than its own counts say");
  }
}

TEST(RawPacketReaderTest, UnknownKindAndForeignBytesAreRefused) {
  EXPECT_EQ(problem_of(packets::packet(raw_report::PacketKind{99}, 1, {})),
            "a packet is of kind 99, which this version does not know");
  Bytes foreign = packets::notice(1, "x");
  foreign[0] = std::byte{0};
  EXPECT_EQ(problem_of(foreign), "a packet does not begin with 'DHR1'");
}

TEST(RawPacketReaderTest, FileIsCutIntoItsPacketsUpToTheDamage) {
  const Bytes first = packets::hello(1, "x");
  const Bytes second = packets::notice(1, "y");
  Bytes file = first;
  file.insert(file.end(), second.begin(), second.end());
  RawPacketReader whole(file);
  EXPECT_EQ(whole.next()->size(), first.size());
  EXPECT_EQ(whole.next()->size(), second.size());
  EXPECT_FALSE(whole.next().has_value());
  EXPECT_FALSE(whole.damage().has_value());

  file.pop_back();
  RawPacketReader cut(file);
  EXPECT_TRUE(cut.next().has_value());
  EXPECT_FALSE(cut.next().has_value());
  EXPECT_EQ(cut.damage()->message, "byte 264: the file ends in the middle of a packet");

  const Bytes text(100, std::byte{'a'});
  RawPacketReader foreign(text);
  EXPECT_FALSE(foreign.next().has_value());
  EXPECT_EQ(foreign.damage()->message, "this is not a raw report of Deadheat");
}

TEST(RawPacketReaderTest, CountsThatCannotBeAreRefused) {
  raw_report::Counts amounts;
  amounts.accesses = 10;
  raw_report::CountedLock lock;
  lock.accesses = 10;
  EXPECT_TRUE(parse_packet(packets::counts(1, amounts, {lock})).ok());
  lock.accesses = 11;
  EXPECT_FALSE(parse_packet(packets::counts(1, amounts, {lock})).ok()) << "more with the lock than there are";
  lock.accesses = 1;
  lock.lock.created = {0, 1};
  EXPECT_FALSE(parse_packet(packets::counts(1, amounts, {lock})).ok()) << "a stack beyond the packet";
  amounts.without_lock = 11;
  EXPECT_FALSE(parse_packet(packets::counts(1, amounts, {})).ok());
}

TEST(RawPacketReaderTest, AFlagHasKnownMemoryOrders) {
  packets::FindingParts parts(1, 0x1000);
  parts.flag = raw_report::Flag{0x2000, 1, 2, 0, 5};
  EXPECT_TRUE(parse_packet(parts.bytes(1)).ok());
  parts.flag->read_order = 6;
  EXPECT_FALSE(parse_packet(parts.bytes(1)).ok());
}

}  // namespace
}  // namespace deadheat
