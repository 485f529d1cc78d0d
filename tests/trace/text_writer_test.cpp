// SPDX-License-Identifier: Apache-2.0
#include "trace/text_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "support/temp_path.h"
#include "support/threads.h"
#include "trace/event_validity.h"
#include "trace/text_format.h"
#include "trace/text_reader.h"

namespace deadheat {
namespace {

void expect_round_trip(const std::vector<Event>& events, const Dictionary& dictionary) {
  const Result<std::string> text = write_text_trace(events, dictionary);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const Result<ParsedTrace> back = parse_text_trace(text.value());
  ASSERT_TRUE(back.ok()) << back.error().message << "\n" << text.value();
  EXPECT_TRUE(back.value().events == events) << text.value();
  EXPECT_TRUE(back.value().dictionary == dictionary) << text.value();
}

// Any event that event_validity.h allows; objects and sites near those of the
// dictionary below, so that names and numbers both occur.
Event random_small_event(Random& random) {
  Event event;
  event.kind = EventKind{static_cast<std::uint8_t>(random.below(kEventKindCount))};
  event.thread = ThreadId{static_cast<std::uint32_t>(random.below(4))};
  event.site = SiteId{static_cast<std::uint32_t>(random.below(8))};
  const EventKindInfo& meaning = info(event.kind);
  if (meaning.object == ObjectMeaning::kThread) event.object = random.below(kThreadLimit);
  if (meaning.object == ObjectMeaning::kSync) event.object = random.chance(0.9) ? random.below(8) : random.next();
  if (meaning.object == ObjectMeaning::kAddress)
    event.object = random.chance(0.9) ? random.below(96) : random.next() / 2;
  if (meaning.extent == ExtentMeaning::kSize) event.extent = 1 + random.below(16);
  if (meaning.extent == ExtentMeaning::kMutex) event.extent = random.below(8);
  if (meaning.extent == ExtentMeaning::kPhase) event.extent = random.next();
  if (meaning.detail == DetailMeaning::kOrder) event.detail = static_cast<std::uint8_t>(random.below(6));
  if (meaning.detail == DetailMeaning::kFlavour) event.detail = static_cast<std::uint8_t>(random.below(2));
  if (meaning.detail == DetailMeaning::kIgnore) event.detail = static_cast<std::uint8_t>(1 + random.below(7));
  if (meaning.detail == DetailMeaning::kLock) {
    event.detail = static_cast<std::uint8_t>(random.below(4));
    event.depth = static_cast<std::uint16_t>(random.chance(0.8) ? random.below(3) : random.next());
  }
  return event;
}

Dictionary awkward_dictionary() {
  Dictionary dictionary;
  dictionary.sites.add({"increment", "counter.cpp", 12, "", 0});
  dictionary.sites.add({});
  dictionary.sites.add(
      {"operator==(A const&, A const&)", "/src/my file.cpp", 4'000'000'000U, "lib x.so", 0x1234, 3'999'999'999U});
  dictionary.sites.add({"-", "a:12", 0, "", 1});
  dictionary.sites.add({"", "b.cpp", 0, "=@#", ~0ULL});
  dictionary.ranges = {{0, {4, "x"}},     {8, {8, "two words"}}, {16, {8, "same"}},
                       {24, {8, "same"}}, {32, {0, "empty"}},    {40, {16, "vector<int>[3]"}},
                       {64, {8, "0x10"}}, {72, {1, ""}},         {73, {7, "plus+1"}}};
  dictionary.syncs = {{SyncId{1}, "m"}, {SyncId{2}, "m"}, {SyncId{3}, "n"}, {SyncId{4}, "@n # \"\\\n\x01\xff"}};
  dictionary.threads = {{ThreadId{0}, "main"}, {ThreadId{1}, "T0"}, {ThreadId{2}, "site"}, {ThreadId{3}, "main"}};
  return dictionary;
}

TEST(TextWriterTest, EveryEventAndDictionaryRoundTrips) {
  constexpr std::uint64_t kSeed = 20260;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  std::vector<Event> events;
  for (int i = 0; i < 5000; ++i) {
    events.push_back(random_small_event(random));
    ASSERT_TRUE(is_valid(events.back()));
  }
  expect_round_trip(events, awkward_dictionary());
}

TEST(TextWriterTest, ExtremeFieldsRoundTrip) {
  const ThreadId last{kThreadLimit - 1};
  Event failed_blocking = events::try_failed(kMain, SyncId{~0ULL});
  failed_blocking.detail = 0;
  failed_blocking.depth = 7;
  Event odd_wait = events::wait_begin(kMain, SyncId{1}, SyncId{2});
  odd_wait.detail = lock_detail(LockMode::kShared, LockAttempt::kTry);
  odd_wait.depth = 0;
  expect_round_trip(
      {events::read(last, ~0ULL - 1, 1), events::write(kMain, 0, kMaxAccessSize), failed_blocking, odd_wait,
       events::on_range(EventKind::kAlloc, kMain, 16, 0), events::on_range(EventKind::kFree, kMain, 0, ~0ULL),
       events::at(events::plain(EventKind::kFunctionEnter, kMain), SiteId{~0U})},
      {});
}

TEST(TextWriterTest, LinesUseNamesWhereTheyAreClear) {
  Dictionary dictionary;
  dictionary.sites.add({"deposit", "bank.cpp", 12, "", 0});
  dictionary.ranges = {{0x1000, {8, "balance"}}};
  dictionary.syncs = {{SyncId{7}, "m"}};
  dictionary.threads = {{ThreadId{1}, "teller"}};
  const std::vector<Event> events = {
      events::acquire(ThreadId{1}, SyncId{7}),
      events::at(events::write(ThreadId{1}, 0x1004, 4), SiteId{1}),
      events::release(ThreadId{1}, SyncId{8}, LockMode::kShared, 2),
  };
  const Result<std::string> text = write_text_trace(events, dictionary);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(),
            "site 1 deposit bank.cpp:12\n"
            "name balance 0x1000 8\n"
            "sync m 0x7\n"
            "thread 1 teller\n"
            "1 acquire m\n"
            "1 write balance+4 4 @1\n"
            "1 release 0x8 shared depth=2\n");
}

TEST(TextWriterTest, DictionaryMayGrowWhileWriting) {
  const std::string path = temp_path("text_writer_test.trace");
  Dictionary dictionary;
  std::vector<Event> written;
  {
    auto sink = create_text_trace(path);
    ASSERT_TRUE(sink.ok()) << sink.error().message;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      dictionary.sites.add({"f" + std::to_string(i), "a.cpp", i + 1, "", 0});
      // The name repeats: at first it can be used for its range, later it is ambiguous.
      dictionary.ranges[0x1000 - 16ULL * (i % 100)] = {8, "v" + std::to_string(i % 50)};
      dictionary.syncs[SyncId{i / 2}] = "lock" + std::to_string(i / 4);
      written.push_back(events::at(events::write(kMain, 0x1000 - 16ULL * (i % 100), 8), SiteId{i + 1}));
      written.push_back(events::acquire(kMain, SyncId{i / 2}));
      ASSERT_TRUE(sink.value()->update(dictionary).ok());
      ASSERT_TRUE(sink.value()->write(std::span<const Event>(written).last(2)).ok());
    }
    ASSERT_TRUE(sink.value()->close().ok());
  }
  auto source = open_text_trace(path);
  ASSERT_TRUE(source.ok());
  std::vector<Event> read;
  for (;;) {
    const auto batch = source.value()->next_batch();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    if (batch.value().empty()) break;
    read.insert(read.end(), batch.value().begin(), batch.value().end());
  }
  EXPECT_TRUE(read == written);
  EXPECT_TRUE(source.value()->dictionary() == dictionary);
  std::remove(path.c_str());
}

TEST(TextWriterTest, BrokenEventsAndDictionariesAreRefused) {
  const Event empty_read = events::read(kMain, 0x10, 0);
  const auto broken = write_text_trace({&empty_read, 1}, {});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code, ErrorCode::kInvalid);

  Dictionary overlapping;
  overlapping.ranges = {{0x10, {8, "a"}}, {0x14, {8, "b"}}};
  const auto overlap = write_text_trace({}, overlapping);
  ASSERT_FALSE(overlap.ok());
  EXPECT_EQ(overlap.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(overlap.error().message, "the range 'b' at 0x14 overlaps another, or the end of memory");

  Dictionary endless;
  endless.threads = {{kMain, std::string(1U << 20, 'n')}};
  const auto name = write_text_trace({}, endless);
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, ErrorCode::kInvalid);
}

TEST(TextWriterTest, LongNamesRoundTripWithoutBeingUsed) {
  Dictionary dictionary;
  const std::string name(15'000, 'n');
  dictionary.syncs = {{SyncId{1}, name}, {SyncId{2}, name + "2"}};
  expect_round_trip({events::wait_begin(kMain, SyncId{1}, SyncId{2})}, dictionary);
}

TEST(TextWriterTest, UncreatableFileIsAnIoError) {
  const auto sink = create_text_trace("/nonexistent/x.trace");
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().code, ErrorCode::kIo);
}

TEST(TextWriterTest, FullDiskIsReportedAtTheLatestByClose) {
  auto sink = create_text_trace("/dev/full");
  if (!sink.ok()) GTEST_SKIP() << "this machine has no /dev/full";
  const Event event = events::read(kMain, 0x10, 4);
  ASSERT_TRUE(sink.value()->write({&event, 1}).ok());
  const Status status = sink.value()->close();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "cannot write '/dev/full': No space left on device");
}

TEST(ToTextTest, SaysAllInWords) {
  Dictionary dictionary;
  const SiteId deposit = dictionary.sites.add({"deposit", "bank.cpp", 12, "", 0});
  const SiteId module = dictionary.sites.add({"", "", 0, "libbank.so", 0x2a});
  dictionary.ranges = {{0x1000, {8, "the balance"}}};
  EXPECT_EQ(to_text(events::at(events::write(kMain, 0x1000, 8), deposit), dictionary),
            "0 write the balance 8 @bank.cpp:12(deposit)");
  EXPECT_EQ(to_text(events::at(events::read(kMain, 0x2000, 8), module), dictionary),
            "0 read 0x2000 8 @libbank.so+0x2a");
  EXPECT_EQ(to_text(events::at(events::read(kMain, 0x2000, 8), SiteId{99}), dictionary), "0 read 0x2000 8 @99");
}

TEST(ToTextTest, DamagedEventIsSaidToBeDamaged) {
  Event event = events::fence(kMain, MemoryOrder{77});
  EXPECT_EQ(to_text(event, {}), "0 (damaged event of kind 5)");
}

}  // namespace
}  // namespace deadheat
