// SPDX-License-Identifier: Apache-2.0
#include "trace/recording_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <tuple>

#include "trace/log_record.h"

namespace deadheat {
namespace {

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The agent's files, by hand.
class FakeLog {
 public:
  explicit FakeLog(std::uint32_t thread) : thread_(thread) {
    put({0, 0, 0, log_where(LogKind::kPiece, 0, 0)});
    LogHeader header;
    header.thread = thread;
    header.system_id = 100 + thread;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&header);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof header);
  }
  FakeLog& add(std::uint64_t time, LogKind kind, std::uint64_t object, std::uint64_t extent = 0) {
    put({time, object, extent, log_where(kind, 0, 0x1000)});
    return *this;
  }
  // What another thread released is this one's by now, or (kReleasedBy) somebody's later.
  FakeLog& add_of(std::uint64_t time, LogKind kind, std::uint64_t object, std::uint32_t by,
                  std::uint64_t released = 0) {
    put({time, object, released, log_where(kind, 0, by)});
    return *this;
  }
  // A block that was freed and is not in the log yet.
  FakeLog& add_slot(std::uint64_t time, std::uint64_t object) {
    if (tail_.empty()) tail_.resize(kTailSize);
    const LogRecord record{time, object, 77, log_where(log_kind(EventKind::kFree), 0, 0x1000)};
    std::memcpy(tail_.data() + 2 * kLogPiece + slots_++ * sizeof record, &record, sizeof record);
    return *this;
  }
  [[nodiscard]] RecordingBytes::Log log() const { return {"log", thread_, bytes_, tail_}; }

 private:
  void put(const LogRecord& record) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof record);
  }
  std::uint32_t thread_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> tail_;
  std::size_t slots_ = 0;
};

class RecordingFileTest : public testing::Test {
 protected:
  RecordingFileTest() {
    auto writer = RecordingWriter::create(directory_);
    EXPECT_TRUE(writer.ok());
    Recording head;
    head.program = "/bin/true";
    head.arguments = {"true", "1"};
    head.backend = "clock";
    head.process = 100;
    writer.value()->add_head(head);
    CodeMapping mapping;
    mapping.begin = 0x1000;
    mapping.end = 0x2000;
    mapping.path = "/bin/true";
    mapping.build_id = {std::byte{7}};
    writer.value()->add_mapping(mapping);
    writer.value()->add_name(100, "first");
    for (const std::uint64_t time : {30, 10, 20}) {
      RegisterSample sample;
      sample.time = time;
      sample.registers.ip = 0x1000 + time;
      sample.stack = {std::byte{1}, std::byte{2}};
      writer.value()->add_sample(100, sample);
    }
    EXPECT_TRUE(writer.value()->finish(1.5, 4, "").ok());
    main_ = bytes_of(directory_ + "/recording.dhr");
    AgentState state;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&state);
    agent_.assign(bytes, bytes + sizeof state);
  }
  ~RecordingFileTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = testing::TempDir() + "deadheat-recording-" + std::to_string(getpid());
  std::vector<std::byte> main_;
  std::vector<std::byte> agent_;
};

TEST_F(RecordingFileTest, WhatWasWrittenIsRead) {
  const auto read = read_recording(directory_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Recording& recording = read.value();
  EXPECT_EQ(recording.program, "/bin/true");
  EXPECT_EQ(recording.arguments, (std::vector<std::string>{"true", "1"}));
  EXPECT_EQ(recording.lost_samples, 4U);
  EXPECT_DOUBLE_EQ(recording.seconds, 1.5);
  EXPECT_FALSE(recording.incomplete);
  EXPECT_FALSE(recording.has_log);
  ASSERT_EQ(recording.mappings.size(), 1U);
  EXPECT_EQ(recording.mappings[0].build_id.size(), 1U);
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].name, "first");
  ASSERT_EQ(recording.threads[0].samples.size(), 3U);
  EXPECT_EQ(recording.threads[0].samples[0].time, 10U);
  EXPECT_EQ(recording.threads[0].samples[2].registers.ip, 0x1000U + 30);
  EXPECT_EQ(recording.threads[0].samples[2].stack.size(), 2U);
}

TEST_F(RecordingFileTest, LogsBecomeEventsOfTheirThreads) {
  FakeLog first(0);
  first.add(1, LogKind::kBegin, 0x77)
      .add(2, log_kind(EventKind::kFork), 1)
      .add(3, LogKind::kForked, 0x88, 1)
      .add(9, LogKind::kJoined, 0x88, 4);
  FakeLog second(1);
  second.add(3, LogKind::kBegin, 0x88).add(5, log_kind(EventKind::kLockAcquire), 0x5000);
  const auto read = parse_recording({main_, agent_, {first.log(), second.log()}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().threads.size(), 2U);
  const auto& log = read.value().threads[0].log;
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[1].event.kind, EventKind::kJoin);
  EXPECT_EQ(log[1].event.other_thread(), ThreadId{1});
  EXPECT_EQ(read.value().threads[1].log.at(0).event.object, 0x5000U);
}

// A program that is killed leaves them in the tail: at their own times, and once if the log has them, too.
TEST_F(RecordingFileTest, BlocksThatWereJustFreedCount) {
  FakeLog first(0);
  first.add(1, log_kind(EventKind::kAlloc), 0x5000, 16)
      .add(2, log_kind(EventKind::kFree), 0x6000)
      .add(8, log_kind(EventKind::kLockAcquire), 0x7000);
  first.add_slot(2, 0x6000).add_slot(5, 0x5000);
  const auto read = parse_recording({main_, agent_, {first.log()}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& log = read.value().threads.at(0).log;
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[1].event.object, 0x6000U);
  EXPECT_EQ(log[2].event.kind, EventKind::kFree);
  EXPECT_EQ(log[2].event.object, 0x5000U);
  EXPECT_EQ(log[2].event.extent, 0U);
  EXPECT_EQ(log[3].event.object, 0x7000U);
}

// The release of a hand-over becomes an entry of who released, at its time, once; its code is nobody's.
TEST_F(RecordingFileTest, HandOversAreEntriesOfBoth) {
  FakeLog first(0);
  first.add(2, log_kind(EventKind::kAlloc), 0x6000, 16).add(9, log_kind(EventKind::kFree), 0x6000);
  FakeLog second(1);
  second.add_of(7, LogKind::kHandedOver, 0x5000, 0, 4).add_of(8, LogKind::kHandedOver, kAnyDescriptor, 0, 3);
  FakeLog third(2);
  third.add_of(9, LogKind::kHandedOver, 0x5000, 0, 4).add_of(5, LogKind::kReleasedBy, 0x7000, 1);
  third.add_of(10, LogKind::kHandedOver, 0x5000, 77, 4);  // there is no such thread
  const auto read = parse_recording({main_, agent_, {first.log(), second.log(), third.log()}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto told = [&](std::size_t thread) {
    std::vector<std::tuple<std::uint64_t, EventKind, std::uint64_t>> entries;
    for (const LoggedEvent& entry : read.value().threads.at(thread).log) {
      entries.emplace_back(entry.time, entry.event.kind, entry.event.object);
    }
    return entries;
  };
  using Entries = decltype(told(0));
  EXPECT_EQ(told(0), (Entries{{2, EventKind::kAlloc, 0x6000},
                              {3, EventKind::kHappensBefore, raw(kDescriptorsTag)},
                              {4, EventKind::kHappensBefore, 0x5000},
                              {9, EventKind::kFree, 0x6000}}));
  EXPECT_EQ(told(1), (Entries{{5, EventKind::kHappensBefore, 0x7000},
                              {7, EventKind::kHappensAfter, 0x5000},
                              {8, EventKind::kHappensAfter, raw(kDescriptorsTag)}}));
  EXPECT_EQ(told(2), (Entries{{9, EventKind::kHappensAfter, 0x5000}, {10, EventKind::kHappensAfter, 0x5000}}));
  EXPECT_EQ(read.value().lost_log_entries, 1U);
}

// Recordings of older versions have every lock.
TEST_F(RecordingFileTest, HeldLocksAreKnownIfAllAreLogged) {
  EXPECT_TRUE(parse_recording({main_, agent_, {}}).value().are_locks_known);
  AgentState state;
  state.locks = LoggedLocks::kHandedOn;
  std::memcpy(agent_.data(), &state, sizeof state);
  EXPECT_FALSE(parse_recording({main_, agent_, {}}).value().are_locks_known);
}

// A pthread_t is used again: the join is of the thread that had it when the join began.
TEST_F(RecordingFileTest, JoinsFindTheThreadOfTheirTime) {
  FakeLog first(0);
  first.add(2, LogKind::kForked, 0x88, 1).add(6, LogKind::kForked, 0x88, 2).add(9, LogKind::kJoined, 0x88, 4);
  const auto read = parse_recording({main_, agent_, {first.log()}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().threads[0].log.at(0).event.other_thread(), ThreadId{1});
}

TEST_F(RecordingFileTest, BarriersHavePhases) {
  FakeLog first(0);
  FakeLog second(1);
  constexpr LogKind kArrive = log_kind(EventKind::kBarrierArrive);
  constexpr LogKind kLeave = log_kind(EventKind::kBarrierLeave);
  first.add(1, LogKind::kBarrierInit, 0x9000, 2).add(2, kArrive, 0x9000).add(4, kLeave, 0x9000);
  first.add(5, kArrive, 0x9000).add(8, kLeave, 0x9000);
  second.add(3, kArrive, 0x9000).add(6, kLeave, 0x9000).add(7, kArrive, 0x9000);
  const auto read = parse_recording({main_, agent_, {first.log(), second.log()}});
  ASSERT_TRUE(read.ok());
  const auto phase = [&](std::size_t thread, std::size_t entry) {
    return read.value().threads[thread].log.at(entry).event.phase();
  };
  EXPECT_EQ(phase(0, 0), 0U);
  EXPECT_EQ(phase(0, 2), 1U);
  EXPECT_EQ(phase(1, 0), 0U);
  EXPECT_EQ(phase(1, 1), 0U);
  EXPECT_EQ(phase(1, 2), 1U);
}

TEST_F(RecordingFileTest, NothingCountsAfterTheLogStopped) {
  AgentState state;
  state.stopped_at = 15;
  state.stop = LogStop::kDisk;
  std::memcpy(agent_.data(), &state, sizeof state);
  FakeLog first(0);
  first.add(5, log_kind(EventKind::kLockAcquire), 1).add(20, log_kind(EventKind::kLockRelease), 1);
  const auto read = parse_recording({main_, agent_, {first.log()}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().threads[0].log.size(), 1U);
  EXPECT_EQ(read.value().threads[0].samples.size(), 1U);
  ASSERT_TRUE(read.value().incomplete);
  EXPECT_NE(read.value().incomplete->find("full disk"), std::string::npos);
}

TEST_F(RecordingFileTest, OtherVersionsAndForeignFilesAreNamed) {
  std::vector<std::byte> later = main_;
  later[8] = std::byte{9};
  const auto version = parse_recording({later, {}, {}});
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(version.error().message.find("version 9, newest known 1"), std::string::npos);
  const std::string text = "#!/bin/sh\necho this is no recording\n";
  EXPECT_FALSE(parse_recording({std::as_bytes(std::span(text)), {}, {}}).ok());
  std::vector<std::byte> agent = agent_;
  agent[4] = std::byte{4};
  const auto agent_version = parse_recording({main_, agent, {}});
  ASSERT_FALSE(agent_version.ok());
  EXPECT_NE(agent_version.error().message.find("version 4"), std::string::npos);
}

// Whatever is cut off or flipped: a recording, perhaps a shorter one, or an error.
TEST_F(RecordingFileTest, DamageIsSaid) {
  for (std::size_t size = 0; size < main_.size(); size += 7) {
    const auto read = parse_recording({std::span(main_).first(size), {}, {}});
    EXPECT_TRUE(!read.ok() || read.value().incomplete) << size;
  }
  std::mt19937 random(7);
  FakeLog log(0);
  log.add(5, log_kind(EventKind::kLockAcquire), 1).add(20, log_kind(EventKind::kLockRelease), 1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = main_;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    const auto read = parse_recording({damaged, agent_, {log.log()}});
    EXPECT_TRUE(!read.ok() || read.value().incomplete || damaged[12] != main_[12] || damaged[13] != main_[13] ||
                damaged[14] != main_[14] || damaged[15] != main_[15]);
  }
}

}  // namespace
}  // namespace deadheat
