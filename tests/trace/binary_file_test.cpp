// SPDX-License-Identifier: Apache-2.0
// The binary format meets the operating system: full disks, killed writers,
// things that are not files.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "binary_test_support.h"
#include "trace/event_sink.h"

namespace deadheat {
namespace {

std::string open_error(const std::string& path) {
  const auto source = open_trace(path);
  return source ? "opened" : source.error().message;
}

TEST(BinaryFileTest, FullDiskIsAnErrorWithReasonAndPath) {
  const auto writer = BinaryWriter::create("/dev/full");
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::kIo);
  EXPECT_NE(writer.error().message.find("No space left on device"), std::string::npos) << writer.error().message;
  EXPECT_NE(writer.error().message.find("/dev/full"), std::string::npos);
}

// A limit on the size of files stops the writer in the middle of a chunk.
TEST(BinaryFileTest, RefusedWriteCutsOffThePartialChunkAndStaysAnError) {
  const TemporaryFile file{"limit"};
  const std::vector<Event> events = random_events(2, 4000);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20000, 20000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = BinaryWriter::create(file.path(), {.chunk_events = 500});
    const Status first = writer.value()->write(events);
    const Status second = writer.value()->write(events);
    const Status third = writer.value()->close();
    const bool as_expected = !first && !second && !third && first.error().code == ErrorCode::kIo &&
                             first.error().message == third.error().message;
    ::_exit(as_expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Outcome outcome = read_all(BinaryReader::open(file.path()));
  EXPECT_FALSE(outcome.error.has_value());
  ASSERT_TRUE(outcome.truncation.has_value());
  EXPECT_NE(outcome.truncation->find("without its end marker"), std::string::npos) << *outcome.truncation;
  EXPECT_GT(outcome.events.size(), 0U);
  EXPECT_EQ(outcome.events.size() % 500, 0U);
  EXPECT_TRUE(is_prefix(outcome.events, events));
}

TEST(BinaryFileTest, KilledWriterLeavesReadablePrefix) {
  const TemporaryFile file{"killed"};
  const std::vector<Event> events = random_events(11, 1000);
  Random random{12};
  for (int round = 0; round < 10; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto writer = BinaryWriter::create(file.path(), {.chunk_events = 100});
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      while (writer.value()->write(events)) {
      }
      ::_exit(1);
    }
    char letter = 0;
    ASSERT_EQ(::read(ready[0], &letter, 1), 1);
    ::usleep(static_cast<useconds_t>(random.below(20000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(ready[0]);
    ::close(ready[1]);

    const Outcome outcome = read_all(BinaryReader::open(file.path()));
    EXPECT_FALSE(outcome.error.has_value()) << outcome.error->message;
    EXPECT_TRUE(outcome.truncation.has_value());
    for (std::size_t index = 0; index < outcome.events.size(); ++index) {
      ASSERT_EQ(outcome.events[index], events[index % events.size()]) << "event " << index;
    }
  }
}

TEST(BinaryFileTest, FlushMakesEverythingWrittenReadable) {
  const TemporaryFile file{"flush"};
  auto writer = BinaryWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  const std::vector<Event> events = random_events(13, 10);
  ASSERT_TRUE(writer.value()->write(events).ok());
  EXPECT_TRUE(read_all(BinaryReader::open(file.path())).events.empty());
  ASSERT_TRUE(writer.value()->flush().ok());
  EXPECT_EQ(read_all(BinaryReader::open(file.path())).events, events);
}

TEST(BinaryFileTest, ThingsThatAreNoTracesGiveClearErrors) {
  const TemporaryFile empty{"empty"};
  std::ofstream{empty.path()}.close();
  EXPECT_NE(open_error(empty.path()).find("it is empty"), std::string::npos);
  EXPECT_NE(open_error("/tmp").find("it is a directory"), std::string::npos);
  EXPECT_NE(open_error("/dev/null").find("neither a file nor a pipe"), std::string::npos);
  EXPECT_NE(open_error("/no/such/file").find("No such file"), std::string::npos);
  EXPECT_NE(open_error("/no/such/file").find("/no/such/file"), std::string::npos);
}

TEST(BinaryFileTest, UncreatableFileGivesReasonAndPath) {
  const auto sink = create_trace("/no/such/folder/x.trace", TraceFormat::kBinary);
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().code, ErrorCode::kIo);
  EXPECT_NE(sink.error().message.find("/no/such/folder/x.trace"), std::string::npos);
  EXPECT_NE(sink.error().message.find("No such file"), std::string::npos);
}

TEST(BinaryFileTest, FormatsAreRecognisedByContent) {
  const TemporaryFile file{"formats"};
  const std::vector<Event> events = {events::write(ThreadId{0}, 0x1000, 8)};
  for (const TraceFormat format : {TraceFormat::kBinary, TraceFormat::kText, TraceFormat::kStd}) {
    auto sink = create_trace(file.path(), format);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE(sink.value()->write(events).ok());
    ASSERT_TRUE(sink.value()->close().ok());
    const Outcome outcome = read_all(open_trace(file.path()));
    EXPECT_FALSE(outcome.error.has_value()) << outcome.error->message;
    ASSERT_EQ(outcome.events.size(), 1U);
    EXPECT_EQ(outcome.events[0].kind, EventKind::kWrite);
  }
}

}  // namespace
}  // namespace deadheat
