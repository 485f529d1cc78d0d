// SPDX-License-Identifier: Apache-2.0
// What would have ordered a race: the same words, and one fingerprint, whichever mode finds it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "cli/shell.h"

#ifdef DEADHEAT_HAS_RUNTIME

namespace deadheat {
namespace {

// peek() is the only one without the lock. push(0) and the first peek() are not ordered; then
// come 1,000 more of the one and 3 of the other.
constexpr const char* kQueue = R"(
#include <mutex>
#include <thread>
std::mutex queue_mutex;
long queue_tail;
long seen;
__attribute__((noinline)) void push(long value) {
  std::lock_guard<std::mutex> hold(queue_mutex);
  queue_tail = value;
}
__attribute__((noinline)) long peek() {
  __asm__ volatile("" ::: "memory");  // each call is one
  return queue_tail;
}
void push_many() {
  for (long value = 1; value <= 500; ++value) push(value);
}
int main() {
  std::thread first([] { push(0); });
  std::thread second([] { seen = peek(); });
  first.join();
  second.join();
  std::thread one(push_many);
  std::thread other(push_many);
  one.join();
  other.join();
  return peek() + peek() + peek() < 0;
}
)";

constexpr const char* kCounts = "1,000 of 1,003 accesses to this memory after the race was seen hold queue_mutex; ";

const std::string kFingerprints = "sed -n 's/.*\"fingerprint\": *\"\\([0-9a-f]*\\)\".*/\\1/p'";

class ExplainTest : public testing::Test {
 protected:
  // `how` is what stands between the command and the file.
  void build(const std::string& how, const char* source) {
    shell.write_file("queue.cpp", source);
    const CommandResult built = shell.run(how + " -g -O1 -pthread queue.cpp -o queue");
    ASSERT_EQ(built.exit_code, 0) << built.errors;
  }
  Shell shell;
};

TEST_F(ExplainTest, ARunCountsTheLockThatMostLaterAccessesHold) {
  for (const char* how : {"deadheat c++", "DEADHEAT_CXX=g++ deadheat c++"}) {
    SCOPED_TRACE(how);
    build(how, kQueue);
    const CommandResult run = shell.run("deadheat run --no-store --json report.json ./queue");
    EXPECT_EQ(run.exit_code, 66);
    EXPECT_TRUE(contains(run.errors, std::string("deadheat: race 1: ") + kCounts)) << run.errors;
    EXPECT_TRUE(contains(run.errors, " one here does not\n")) << run.errors;
    const std::string json = shell.read_file("report.json");
    EXPECT_TRUE(contains(json, kCounts)) << json;
    const std::string dense = shell.run("tr -d ' \\n' < report.json").output;
    EXPECT_TRUE(contains(dense, R"("locking":{"since":"race","complete":true,"accesses":1003,"locks":[{"id":"0x)"));
    EXPECT_TRUE(contains(dense, R"(,"name":"queue_mutex","accesses":1000}])")) << dense;
  }
}

TEST_F(ExplainTest, TheCountsAreInTheStoreAndInRawReports) {
  build("deadheat c++", kQueue);
  EXPECT_EQ(shell.run("deadheat run --store races.db ./queue").exit_code, 66);
  const CommandResult shown =
      shell.run("deadheat races show --store races.db $(deadheat races list --store races.db --format json | " +
                kFingerprints + ")");
  EXPECT_TRUE(contains(shown.output, "1,000 of 1,003 accesses")) << shown.output << shown.errors;
  EXPECT_NE(shell.run("DEADHEAT_OPTIONS=log_path=raw ./queue").exit_code, 0);
  const CommandResult later = shell.run("deadheat report --no-store raw.*");
  EXPECT_TRUE(contains(later.output + later.errors, "1,000 of 1,003 accesses")) << later.output << later.errors;
}

// A counter that everybody changes all the time must not stay slow.
TEST_F(ExplainTest, CountingEndsAfterEnough) {
  build("deadheat c++", R"(
#include <thread>
volatile long counter;
void work() { for (int round = 0; round < 300000; ++round) counter = counter + 1; }
int main() {
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
}
)");
  const CommandResult run = shell.run("deadheat run --no-store --json report.json ./queue");
  EXPECT_EQ(run.exit_code, 66);
  const std::string dense = shell.run("tr -d ' \\n' < report.json").output;
  EXPECT_TRUE(contains(dense, R"("locking":{"since":"race","complete":false,"accesses":100)")) << dense;
  EXPECT_TRUE(contains(shell.read_file("report.json"), "none of the first 100,0")) << dense;
}

TEST_F(ExplainTest, AFlagThatIsReadRelaxedIsNamed) {
  build("deadheat c++", R"(
#include <atomic>
#include <thread>
std::atomic<int> ready;
long data;
long seen;
int main() {
  std::thread producer([] {
    data = 42;
    ready.store(1, std::memory_order_release);
  });
  std::thread consumer([] {
    while (ready.load(std::memory_order_relaxed) == 0) {
    }
    seen = data;
  });
  producer.join();
  consumer.join();
}
)");
  const CommandResult run = shell.run("deadheat run --no-store ./queue");
  EXPECT_EQ(run.exit_code, 66);
  EXPECT_TRUE(contains(run.errors, "writes ready (")) << run.errors;
  EXPECT_TRUE(
      contains(run.errors, "but a write of memory_order_release and a read of memory_order_relaxed order nothing"))
      << run.errors;
}

// fingerprints of a report, sorted.
std::set<std::string> fingerprints(const Shell& shell, const std::string& file) {
  std::istringstream lines(shell.run(kFingerprints + " < " + file).output);
  std::set<std::string> all;
  for (std::string line; std::getline(lines, line);) all.insert(line);
  return all;
}

TEST_F(ExplainTest, ARunAndItsTraceHaveTheSameFingerprints) {
  build("deadheat c++", kQueue);
  EXPECT_EQ(shell.run("deadheat run --no-store --record queue.dht --json run.json ./queue").exit_code, 66);
  EXPECT_EQ(shell.run("deadheat analyze --no-store --json trace.json queue.dht").exit_code, 66);
  EXPECT_EQ(shell.run("deadheat trace convert queue.dht queue.txt").exit_code, 0);
  EXPECT_EQ(shell.run("deadheat analyze --no-store --json text.json queue.txt").exit_code, 66);
  const std::set<std::string> live = fingerprints(shell, "run.json");
  EXPECT_EQ(live.size(), 1U) << shell.read_file("run.json");
  EXPECT_EQ(live, fingerprints(shell, "trace.json"));
  EXPECT_EQ(live, fingerprints(shell, "text.json"));
  EXPECT_TRUE(contains(shell.read_file("trace.json"), "of 1,005 accesses to this memory hold queue_mutex"))
      << shell.read_file("trace.json");
}

// Of the same source, built with the pass, with calls, and not for Deadheat at all.
TEST_F(ExplainTest, ARunAndAWatchHaveTheSameFingerprint) {
  shell.write_file("spin.cpp", R"(
#include <stdlib.h>
#include <thread>
#include <unistd.h>
long counter;
long seen;
void put() { counter = 7; }
void get() { seen = counter; }
int main(int, char** arguments) {
  std::thread([] { for (;;) put(); }).detach();
  std::thread([] { for (;;) get(); }).detach();
  usleep(static_cast<unsigned>(atoi(arguments[1])) * 1000);
  _exit(0);
}
)");
  const CommandResult built = shell.run(
      "g++ -g -O0 -pthread spin.cpp -o plain && deadheat c++ -g -O0 -pthread spin.cpp -o checked && "
      "DEADHEAT_CXX=g++ deadheat c++ -g -O0 -pthread spin.cpp -o called");
  ASSERT_EQ(built.exit_code, 0) << built.errors;
  EXPECT_EQ(shell.run("deadheat run --no-store --json run.json ./checked 100").exit_code, 66);
  EXPECT_EQ(shell.run("deadheat run --no-store --json called.json ./called 100").exit_code, 66);
  const std::set<std::string> live = fingerprints(shell, "run.json");
  EXPECT_EQ(live.size(), 1U) << shell.read_file("run.json");
  EXPECT_EQ(live, fingerprints(shell, "called.json"));
  const CommandResult watch = shell.run("deadheat watch --no-store --json watch.json ./plain 2000");
  if (watch.exit_code != 66) GTEST_SKIP() << "watching found nothing in two seconds here: " << watch.errors;
  EXPECT_EQ(live, fingerprints(shell, "watch.json"));
}

}  // namespace
}  // namespace deadheat

#endif
