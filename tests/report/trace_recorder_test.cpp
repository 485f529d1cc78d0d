// SPDX-License-Identifier: Apache-2.0
#include "report/trace_recorder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/random.h"
#include "report/live_fixture.h"
#include "report/report_fixture.h"
#include "support/temp_path.h"
#include "trace/event_source.h"

namespace deadheat {
namespace {

using live_fixture::kBase;
using live_fixture::kProcess;
using report_fixture::kMain;

ModuleMap bank_modules() {
  ModuleMap modules;
  modules.replace({{kBase, kBase + 0x10000, kBase, "/opt/bank"}});
  return modules;
}

RawPacket packet_of(const packets::Bytes& bytes) { return parse_packet(bytes).value(); }

Status finish(TraceRecorder& recorder, Symbolizer& symbolizer) {
  static const ModuleMap modules;
  return recorder.close([](std::uint32_t) -> const ModuleMap& { return modules; }, symbolizer);
}

// Of all events of a complete trace, which is removed.
std::vector<Address> addresses_in(const std::string& path) {
  auto source = open_trace(path).value();
  std::vector<Address> addresses;
  while (true) {
    const auto batch = source->next_batch().value();
    if (batch.empty()) break;
    for (const Event& event : batch) addresses.push_back(event.address());
  }
  EXPECT_FALSE(source->truncation().has_value()) << path;
  std::filesystem::remove(path);
  return addresses;
}

TEST(TraceRecorderTest, EventsKeepTheirOrderAndTheirSitesGetNames) {
  const std::string path = temp_path("recorded.dht");
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  const ModuleMap modules = bank_modules();
  ASSERT_TRUE(recorder->add(packet_of(packets::sites(kProcess, {{700, 0, kBase + 0x10}})), modules, symbolizer).ok());
  const Event known = events::at(events::write(kMain, 0x100, 4), SiteId{700});
  const Event unknown = events::at(events::read(kMain, 0x200, 8), SiteId{999});
  ASSERT_TRUE(recorder->add(packet_of(packets::events(kProcess, {known, unknown})), modules, symbolizer).ok());
  ASSERT_TRUE(finish(*recorder, symbolizer).ok());

  auto source = open_trace(path).value();
  const auto batch = source->next_batch().value();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0].address(), 0x100U);
  EXPECT_EQ(batch[1].address(), 0x200U);
  EXPECT_EQ(source->dictionary().sites[batch[0].site], (Site{"", "", 0, "/opt/bank", 0xf}));
  EXPECT_EQ(batch[1].site, SiteId::kUnknown);
  EXPECT_TRUE(source->next_batch().value().empty());
  EXPECT_FALSE(source->truncation().has_value());
  std::filesystem::remove(path);
}

TEST(TraceRecorderTest, EachProcessHasATraceOfItsOwn) {
  const std::string path = temp_path("first.dht");
  const std::string second = path + "." + std::to_string(kProcess + 1);
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  const Event event = events::write(kMain, 0x100, 4);
  const Event other = events::write(kMain, 0x200, 4);
  ASSERT_TRUE(recorder->add(packet_of(packets::events(kProcess, {event})), {}, symbolizer).ok());
  ASSERT_TRUE(recorder->add(packet_of(packets::events(kProcess + 1, {other, other})), {}, symbolizer).ok());
  ASSERT_TRUE(finish(*recorder, symbolizer).ok());
  EXPECT_EQ(recorder->event_count(), 1U);
  EXPECT_EQ(recorder->other_files(), std::vector<std::string>{second});
  EXPECT_EQ(addresses_in(path), (std::vector<Address>{0x100}));
  EXPECT_EQ(addresses_in(second), (std::vector<Address>{0x200, 0x200}));
}

TEST(TraceRecorderTest, TraceOfAChildBeginsWithItsParentsUpToTheFork) {
  const std::string path = temp_path("forked.dht");
  const std::string child_path = path + "." + std::to_string(kProcess + 1);
  const std::string grandchild_path = path + "." + std::to_string(kProcess + 2);
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  const auto add = [&](const packets::Bytes& bytes) {
    ASSERT_TRUE(recorder->add(packet_of(bytes), {}, symbolizer).ok());
  };
  const auto write = [](Address address) { return std::vector<Event>{events::write(kMain, address, 4)}; };
  add(packets::recording(kProcess));
  add(packets::events(kProcess, write(0x100)));
  add(packets::forking(kProcess, 1));
  add(packets::events(kProcess, write(0x101)));
  add(packets::recording(kProcess + 1, {kProcess, 0, 1}));
  add(packets::forking(kProcess + 1, 2));  // before it had an event of its own
  add(packets::events(kProcess + 1, write(0x200)));
  add(packets::recording(kProcess + 2, {kProcess + 1, 0, 2}));
  add(packets::events(kProcess + 2, write(0x300)));
  ASSERT_TRUE(finish(*recorder, symbolizer).ok());
  EXPECT_EQ(addresses_in(path), (std::vector<Address>{0x100, 0x101}));
  EXPECT_EQ(addresses_in(child_path), (std::vector<Address>{0x100, 0x200}));
  EXPECT_EQ(addresses_in(grandchild_path), (std::vector<Address>{0x100, 0x300}));
}

TEST(TraceRecorderTest, ProgramThatReplacesAnotherHasATraceOfItsOwn) {
  const std::string path = temp_path("replaced.dht");
  const std::string second = path + "." + std::to_string(kProcess);
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  for (const Address address : {0x100, 0x200, 0x300}) {
    ASSERT_TRUE(recorder->add(packet_of(packets::recording(kProcess)), {}, symbolizer).ok());
    const Event event = events::write(kMain, address, 4);
    ASSERT_TRUE(recorder->add(packet_of(packets::events(kProcess, {event})), {}, symbolizer).ok());
  }
  ASSERT_TRUE(finish(*recorder, symbolizer).ok());
  EXPECT_EQ(addresses_in(path), (std::vector<Address>{0x100}));
  EXPECT_EQ(addresses_in(second), (std::vector<Address>{0x200}));
  EXPECT_EQ(addresses_in(second + ".2"), (std::vector<Address>{0x300}));
}

// A process that was killed at the worst moments.
TEST(TraceRecorderTest, WhatAProcessHasNotSentIsTakenFromItsBuffer) {
  const struct {
    std::uint64_t sent;
    std::uint32_t count;
    std::vector<Address> expected;
  } cases[] = {
      {1, 2, {0x100, 0x201, 0x202}},  // after a packet
      {0, 2, {0x100, 0x202}},         // the packet is sent, the counts are still there
      {0, 0, {0x100}},                // the counts are gone, `sent` has not grown yet
      {0, 4000, {0x100}},             // nonsense
  };
  for (const auto& [sent, count, expected] : cases) {
    const std::string path = temp_path("buffer.dht");
    Symbolizer symbolizer;
    auto recorder = TraceRecorder::create(path).value();
    auto shared = std::make_unique<raw_report::RecordingBuffer>();
    shared->sent = sent;
    shared->event_count = count;
    for (std::uint64_t index = 0; index < 2; ++index) {
      const Event event = events::write(kMain, 0x201 + index, 4);
      std::memcpy(shared->events[index], &event, sizeof(event));
    }
    const int descriptor = memfd_create("buffer", 0);
    ASSERT_EQ(write(descriptor, shared.get(), sizeof(*shared)), static_cast<ssize_t>(sizeof(*shared)));
    ASSERT_TRUE(recorder->add(packet_of(packets::recording(kProcess)), {}, symbolizer, descriptor).ok());
    ::close(descriptor);
    const Event event = events::write(kMain, 0x100, 4);
    ASSERT_TRUE(recorder->add(packet_of(packets::events(kProcess, {event})), {}, symbolizer).ok());
    const Status closed = finish(*recorder, symbolizer);
    if (count <= 2) {
      ASSERT_TRUE(closed.ok());
      EXPECT_EQ(addresses_in(path), expected);
    }
  }
}

TEST(TraceRecorderTest, EventThatNoTraceMayHaveEndsTheRecording) {
  const std::string path = temp_path("invalid.dht");
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  Event event = events::write(kMain, 0x100, 4);
  event.kind = EventKind{200};
  EXPECT_FALSE(recorder->add(packet_of(packets::events(kProcess, {event})), {}, symbolizer).ok());
  EXPECT_TRUE(recorder->add(packet_of(packets::events(kProcess, {event})), {}, symbolizer).ok()) << "said once";
  EXPECT_TRUE(finish(*recorder, symbolizer).ok());
  std::filesystem::remove(path);
}

// A limit on the size of files stands for a full disk.
TEST(TraceRecorderTest, FullDiskEndsTheRecordingAndLeavesAReadableBeginning) {
  const std::string path = temp_path("full.dht");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1000000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);

  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  Random random(1);
  Status status;
  for (int round = 0; round < 10000 && status.ok(); ++round) {
    std::vector<Event> some;
    for (int count = 0; count < 1000; ++count) some.push_back(events::write(kMain, random.next() >> 17U, 4));
    status = recorder->add(packet_of(packets::events(kProcess, some)), {}, symbolizer);
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("File too large"), std::string::npos) << status.error().message;
  EXPECT_TRUE(finish(*recorder, symbolizer).ok());
  recorder.reset();

  auto source = open_trace(path).value();
  std::uint64_t events = 0;
  while (true) {
    const auto batch = source->next_batch();
    ASSERT_TRUE(batch.ok());
    if (batch.value().empty()) break;
    events += batch.value().size();
  }
  EXPECT_GT(events, 0U);
  EXPECT_TRUE(source->truncation().has_value());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace deadheat
