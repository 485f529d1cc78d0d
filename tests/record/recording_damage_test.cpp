// SPDX-License-Identifier: Apache-2.0
// A recording in which one bit is another: nobody may take it for the recording that it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "trace/log_record.h"
#include "trace/recording_file.h"

namespace deadheat {
namespace {

std::vector<char> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The log of a thread, as far as one piece of it goes.
std::vector<char> make_log(std::uint32_t thread) {
  std::vector<LogRecord> records(kLogPiece / sizeof(LogRecord));
  records[0].where = log_where(LogKind::kPiece, 0, 0);
  LogHeader header;
  header.thread = thread;
  header.system_id = 100 + thread;
  header.is_root = 1;
  *reinterpret_cast<LogHeader*>(&records[1]) = header;
  for (std::uint64_t number = 0; number < 40; ++number) {
    const EventKind kind = number % 2 == 0 ? EventKind::kLockAcquire : EventKind::kLockRelease;
    records[3 + number] = {100 * number + thread, 0x5000, 0, log_where(log_kind(kind), 0, 0x1000 + number)};
  }
  const auto* const bytes = reinterpret_cast<const char*>(records.data());
  return {bytes, bytes + kLogPiece};
}

class RecordingDamageTest : public testing::Test {
 protected:
  RecordingDamageTest() {
    auto writer = RecordingWriter::create(directory_);
    EXPECT_TRUE(writer.ok());
    AgentState state;
    state.threads = 2;
    const auto* const bytes = reinterpret_cast<const char*>(&state);
    write_file(directory_ + "/agent", {bytes, bytes + sizeof state});
    for (const std::uint32_t thread : {0U, 1U}) {
      write_file(directory_ + "/log." + std::to_string(thread), make_log(thread));
    }
    Recording head;
    head.program = "/bin/true";
    head.backend = "clock";
    writer.value()->add_head(head);
    RegisterSample sample;
    sample.time = 500;
    writer.value()->add_sample(101, sample);
    EXPECT_TRUE(writer.value()->finish(1.5, 0, "").ok());
  }
  ~RecordingDamageTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = testing::TempDir() + "deadheat-damage-" + std::to_string(getpid());
};

TEST_F(RecordingDamageTest, AWholeOneIsRead) {
  const auto read = read_recording(directory_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read.value().incomplete);
  ASSERT_EQ(read.value().threads.size(), 2U);
  EXPECT_EQ(read.value().threads[1].log.size(), 40U);
}

TEST_F(RecordingDamageTest, NoSingleBitPassesUnnoticed) {
  constexpr int kFlipsOfEach = 150;
  Random random(24);
  for (const std::string name : {"recording.dhr", "agent", "log.0", "log.1"}) {
    const std::string path = directory_ + "/" + name;
    const std::vector<char> whole = contents_of(path);
    ASSERT_FALSE(whole.empty());
    for (int flip = 0; flip < kFlipsOfEach; ++flip) {
      const std::size_t bit = random.below(whole.size() * 8);
      std::vector<char> damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      write_file(path, damaged);
      const auto read = read_recording(directory_);
      EXPECT_TRUE(!read.ok() || read.value().incomplete) << "bit " << bit << " of " << name;
    }
    write_file(path, whole);
  }
}

TEST_F(RecordingDamageTest, ALogThatIsMissingOrShorterIsNamed) {
  const std::vector<char> whole = contents_of(directory_ + "/log.1");
  write_file(directory_ + "/log.1", {whole.begin(), whole.begin() + 4096});
  EXPECT_NE(read_recording(directory_).error().message.find("log.1"), std::string::npos);
  std::filesystem::remove(directory_ + "/log.1");
  EXPECT_NE(read_recording(directory_).error().message.find("log.1"), std::string::npos);
}

}  // namespace
}  // namespace deadheat
