// SPDX-License-Identifier: Apache-2.0
#include "report/trace_recorder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "base/random.h"
#include "report/live_fixture.h"
#include "support/temp_path.h"
#include "trace/event_source.h"

namespace deadheat {
namespace {

using live_fixture::kBase;
using live_fixture::kProcess;

constexpr ThreadId kMain{1};

ModuleMap bank_modules() {
  ModuleMap modules;
  modules.replace({{kBase, kBase + 0x10000, kBase, "/opt/bank"}});
  return modules;
}

RawPacket parsed(const packets::Bytes& bytes) { return parse_packet(bytes).value(); }

TEST(TraceRecorderTest, EventsKeepTheirOrderAndTheirSitesGetNames) {
  const std::string path = temp_path("recorded.dht");
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  const ModuleMap modules = bank_modules();
  ASSERT_TRUE(recorder->add(parsed(packets::sites(kProcess, {{700, 0, kBase + 0x10}})), modules, symbolizer).ok());
  const Event known = events::at(events::write(kMain, 0x100, 4), SiteId{700});
  const Event unknown = events::at(events::read(kMain, 0x200, 8), SiteId{999});
  ASSERT_TRUE(recorder->add(parsed(packets::events(kProcess, {known, unknown})), modules, symbolizer).ok());
  ASSERT_TRUE(recorder->close().ok());

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

TEST(TraceRecorderTest, OnlyTheFirstProcessIsRecorded) {
  const std::string path = temp_path("first.dht");
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  const Event event = events::write(kMain, 0x100, 4);
  ASSERT_TRUE(recorder->add(parsed(packets::events(kProcess, {event})), {}, symbolizer).ok());
  ASSERT_TRUE(recorder->add(parsed(packets::events(kProcess + 1, {event, event})), {}, symbolizer).ok());
  EXPECT_EQ(recorder->event_count(), 1U);
  EXPECT_EQ(recorder->left_out(), 2U);
  std::filesystem::remove(path);
}

TEST(TraceRecorderTest, EventThatNoTraceMayHaveEndsTheRecording) {
  const std::string path = temp_path("invalid.dht");
  Symbolizer symbolizer;
  auto recorder = TraceRecorder::create(path).value();
  Event event = events::write(kMain, 0x100, 4);
  event.kind = EventKind{200};
  EXPECT_FALSE(recorder->add(parsed(packets::events(kProcess, {event})), {}, symbolizer).ok());
  EXPECT_TRUE(recorder->add(parsed(packets::events(kProcess, {event})), {}, symbolizer).ok()) << "said once";
  EXPECT_TRUE(recorder->close().ok());
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
    status = recorder->add(parsed(packets::events(kProcess, some)), {}, symbolizer);
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("File too large"), std::string::npos) << status.error().message;
  EXPECT_TRUE(recorder->close().ok());
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
