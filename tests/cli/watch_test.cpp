// SPDX-License-Identifier: Apache-2.0
// `deadheat watch` on programs that were built without any help of ours.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

// Two threads that count together until they are told to stop.
constexpr char kRacy[] = R"(
#include <chrono>
#include <cstdio>
#include <thread>
long counter;
long own[64];
__attribute__((noinline)) void work(int thread) {
  for (int turn = 0; turn < 200; ++turn) {
    own[thread * 8] = own[thread * 8] * 3 + turn;
    asm volatile("" ::: "memory");
  }
}
void count(int thread) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (std::chrono::steady_clock::now() < end && std::fopen("stop", "r") == nullptr) {
    for (int turn = 0; turn < 1000; ++turn) {
      work(thread);
      ++counter;
      asm volatile("" ::: "memory");
    }
  }
}
int main() {
  std::thread first(count, 1);
  std::thread second(count, 2);
  first.join();
  second.join();
  std::puts("counted");
}
)";

bool can_watch(const CommandResult& result) { return !contains(result.errors, "the agent did not begin its work"); }

TEST(WatchTest, RaceOfAProgramAsItIsFoundWithItsLines) {
  const Shell shell;
  shell.write_file("racy.cpp", kRacy);
  ASSERT_EQ(shell.run("g++ -std=c++20 -O2 -g -pthread racy.cpp -o racy").exit_code, 0);
  // The first race ends the watch; the program goes on until the file is there.
  const CommandResult result = shell.run(
      "deadheat watch --until-race ./racy 2>errors & watch=$!; "
      "for turn in $(seq 1000); do grep -q 'race on' errors && break; sleep 0.1; done; touch stop; wait $watch; "
      "status=$?; cat errors >&2; exit $status");
  if (!can_watch(result)) GTEST_SKIP() << "no hardware breakpoints here: " << result.errors;
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_EQ(result.output, "counted\n");
  EXPECT_TRUE(contains(result.errors, "race on counter (8 bytes at 0x")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "racy.cpp:18")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "global 'counter' of 8 bytes")) << result.errors;
}

// What is measured with `deadheat watch`, whose stops are such delays, must be right without it.
TEST(WatchTest, LockFreeProgramsOfTheBenchmarkBearDelays) {
  const Shell shell;
  const CommandResult built =
      shell.run("g++ -std=c++20 -O2 -pthread '" DEADHEAT_SOURCE_DIR "/bench/programs/watch_lockfree.cpp' -o lockfree");
  ASSERT_EQ(built.exit_code, 0) << built.errors;
  for (const std::string what : {"ring", "publish", "ping-pong", "seqlock", "hazard"}) {
    EXPECT_EQ(shell.run("for turn in 1 2 3 4 5; do ./lockfree " + what + " 0.03 3000; done").output,
              "ok\nok\nok\nok\nok\n")
        << what;
  }
}

TEST(WatchTest, StatusAndOutputOfTheProgramAreItsOwn) {
  const Shell shell;
  const CommandResult result = shell.run("deadheat watch --duration 1s bash -c 'echo out; echo more >&2; exit 3'");
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_EQ(result.output, "out\n");
  EXPECT_TRUE(contains(result.errors, "more\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "; program ended with status 3")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: watched for ") || !can_watch(result)) << result.errors;
}

TEST(WatchTest, WhatCannotBeWatchedIsSaid) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat watch ./nothing-there").exit_code, 127);
  shell.write_file("text", "no program");
  EXPECT_NE(shell.run("deadheat watch ./text").exit_code, 0);
  const CommandResult pattern = shell.run("deadheat watch --module 'libnothing*' bash -c true");
  EXPECT_EQ(pattern.exit_code, 1);
  EXPECT_TRUE(contains(pattern.errors, "libnothing*")) << pattern.errors;
  EXPECT_EQ(shell.run("deadheat watch --watches 0 bash").exit_code, 2);
  EXPECT_EQ(shell.run("deadheat watch --limit soon bash").exit_code, 2);
  const CommandResult nobody = shell.run("deadheat watch --pid 4194304");
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_TRUE(contains(nobody.errors, "there is no process 4194304")) << nobody.errors;
  EXPECT_EQ(shell.run("deadheat watch --pid 4194304 bash").exit_code, 2);
}

TEST(WatchTest, WhatNoAgentCanBeLoadedWithIsRefused) {
  const Shell shell;
  shell.write_file("empty.c", "int main() { return 0; }\n");
  ASSERT_EQ(shell
                .run("gcc empty.c -static -o static && "
                     "gcc empty.c -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl && "
                     "printf '\\177ELF\\1\\1\\1%057d' 0 > narrow && chmod +x narrow")
                .exit_code,
            0);
  for (const std::string command : {"watch", "record -o recording"}) {
    for (const auto& [program, words] : {std::pair{"static", "is linked statically"},
                                         {"musl", "is a program for musl"},
                                         {"narrow", "is not a program for x86-64"}}) {
      const CommandResult result = shell.run("deadheat " + command + " ./" + program);
      EXPECT_EQ(result.exit_code, 1) << result.errors;
      EXPECT_TRUE(contains(result.errors, words)) << result.errors;
    }
  }
}

TEST(WatchTest, NothingLookedAtIsSaid) {
  const Shell shell;
  const CommandResult result = shell.run("deadheat watch --watches 1 /bin/true");
  EXPECT_TRUE(contains(result.errors, "nothing was looked at; program ended with status 0")) << result.errors;
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(shell.run("deadheat watch --exitcode 0 /bin/true").exit_code, 0);
}

TEST(WatchTest, AThreadIsNoProcess) {
  const Shell shell;
  shell.write_file("two.cpp",
                   "#include <thread>\n#include <unistd.h>\nint main() { std::thread([] { sleep(20); }).join(); }\n");
  ASSERT_EQ(shell.run("g++ -pthread two.cpp -o two").exit_code, 0);
  const CommandResult result = shell.run(
      "./two & process=$!; until [ $(ls /proc/$process/task | wc -l) = 2 ]; do sleep 0.01; done; "
      "deadheat watch --pid $(ls /proc/$process/task | grep -v \"^$process$\"); status=$?; kill $process; exit "
      "$status");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, " is a thread of process ")) << result.errors;
}

}  // namespace
}  // namespace deadheat
