// SPDX-License-Identifier: Apache-2.0
// The agent in a program that knows its own instructions (watched_program.cpp).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "watch_agent/watched_run.h"
#include "watch_agent/watched_sites.h"

namespace deadheat::watch {
namespace {

// Tests end when the work that they count was done; this is for what hangs.
constexpr double kPatience = 100;

// So much that hot code is interrupted all the time.
constexpr const char* kAllTheTime = "rate=100000:limit_us=20:cpu_share=1000000:slots=2";

class WatchAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (!has_breakpoints(reason)) GTEST_SKIP() << reason;
  }

  RunResult run(
      const std::string& arguments, const std::string& options,
      const std::function<bool(const RunResult&)>& is_enough = [](const RunResult&) { return false; },
      double seconds = kPatience) {
    RunResult result = run_watched(sites, arguments, options, is_enough, seconds);
    EXPECT_TRUE(result.said_hello);
    EXPECT_TRUE(result.said_bye);
    EXPECT_TRUE(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0) << std::hex << result.status;
    const Progress& progress = result.progress;
    std::cout << options << ": start " << result.hello.start_ns / 1000 << " us, elapsed "
              << progress.elapsed_ns / 1000000 << " ms, threads " << progress.threads << ", sites "
              << progress.sites_covered << "/" << progress.sites << ", hits " << progress.hits << ", watches "
              << progress.watches << ", trips " << progress.trips << ", suspects " << progress.suspects << ", stalls "
              << progress.stalls << " (" << progress.stalled_ns / 1000000 << " ms), confirmed " << progress.confirmed
              << ", agent " << progress.agent_ns / 1000 << " us, watched " << progress.watched_ns / 1000 << " us, lost "
              << progress.lost << "\n";
    return result;
  }

  // Both are instructions of the race, at least one is the store.
  void expect_racy_pair(const RunResult& result, const Collision& collision) {
    const auto [sampled, tripped] = result.names(collision, sites);
    EXPECT_TRUE((sampled == kRacyLoad && tripped == kRacyStore) || (sampled == kRacyStore && tripped == kRacyLoad))
        << sampled << " " << tripped;
    EXPECT_NE(collision.sampled.thread, collision.tripped.thread);
    EXPECT_EQ(collision.sampled.address, collision.tripped.address);
    EXPECT_EQ(collision.sampled.size, 4U);
    // The program has frame pointers: the thread's function, at least.
    EXPECT_GE(collision.sampled.frame_count, 1U);
    EXPECT_GE(collision.tripped.frame_count, 1U);
  }

  WatchedSites sites;
};

bool has_confirmed(const RunResult& result) { return result.count_confirmed() != 0; }
bool has_suspect(const RunResult& result) { return result.count_suspects() != 0; }

TEST_F(WatchAgentTest, CollideConfirmsARace) {
  const RunResult result = run("race", "method=collide", has_confirmed);
  ASSERT_TRUE(has_confirmed(result));
  for (const Collision& collision : result.collisions) expect_racy_pair(result, collision);
  EXPECT_EQ(result.count_suspects(), 0U);
  EXPECT_EQ(result.output, "raced\n");
}

TEST_F(WatchAgentTest, ConfirmConfirmsARace) {
  const RunResult result = run("race", "method=confirm", has_confirmed);
  ASSERT_TRUE(has_confirmed(result));
  for (const Collision& collision : result.collisions) expect_racy_pair(result, collision);
  EXPECT_EQ(result.output, "raced\n");
}

TEST_F(WatchAgentTest, ClockSuspectsARace) {
  const RunResult result = run("race", "method=clock", has_suspect);
  ASSERT_TRUE(has_suspect(result));
  for (const Collision& collision : result.collisions) expect_racy_pair(result, collision);
  EXPECT_EQ(result.progress.stalls, 0U);
  EXPECT_EQ(result.output, "raced\n");
}

TEST_F(WatchAgentTest, TheSamePairIsToldAtMostThreeTimes) {
  const RunResult result = run("race", "method=collide:rate=1000:stall_share=1000000:cpu_share=1000000",
                               [](const RunResult& so_far) { return so_far.progress.confirmed > 20; });
  EXPECT_GT(result.progress.confirmed, 20U);
  EXPECT_LE(result.count_confirmed(), 3U);
}

TEST_F(WatchAgentTest, AnAtomicInstructionThatTripsIsNoRace) {
  const RunResult result = run("atomic", "method=confirm:rate=1000:stall_share=500000:cpu_share=1000000",
                               [](const RunResult& so_far) { return so_far.progress.trips >= 50; });
  EXPECT_GE(result.progress.trips, 50U);
  EXPECT_EQ(result.collisions.size(), 0U);
  EXPECT_EQ(result.output, "counted\n");
}

TEST_F(WatchAgentTest, AMutexLeavesNothingToTell) {
  for (const char* options :
       {"method=confirm:rate=1000:stall_share=200000:cpu_share=1000000", "method=clock:rate=1000:cpu_share=1000000"}) {
    const RunResult result =
        run("locked", options, [](const RunResult& so_far) { return so_far.progress.watches >= 300; });
    EXPECT_GE(result.progress.watches, 300U);
    EXPECT_EQ(result.collisions.size(), 0U);
    EXPECT_EQ(result.output, "exact\n");
  }
}

TEST_F(WatchAgentTest, FlagsWithReleaseAndAcquireConfirmNothing) {
  const RunResult result = run("ping-pong", "method=confirm:rate=1000:stall_share=500000:cpu_share=1000000",
                               [](const RunResult& so_far) { return so_far.progress.stalls >= 200; });
  EXPECT_GE(result.progress.stalls, 200U);
  EXPECT_EQ(result.count_confirmed(), 0U);
  for (const Collision& collision : result.collisions) {
    const auto [sampled, tripped] = result.names(collision, sites);
    EXPECT_TRUE(sampled == kPassedLoad || sampled == kPassedStore) << sampled;
    EXPECT_TRUE(tripped == kPassedLoad || tripped == kPassedStore) << tripped;
  }
  EXPECT_EQ(result.output, "exact\n");
}

TEST_F(WatchAgentTest, TenThousandsOfTrapsChangeNothing) {
  const std::string arguments = "many 2000000";
  // With one slot nothing is kept for sites that are hit rarely: hits that find no slot are wasted, which is wanted
  // here.
  const RunResult result = run(arguments, "rate=100000:limit_us=20:cpu_share=1000000:slots=1");
  EXPECT_GT(result.progress.hits, 10000U);
  EXPECT_EQ(result.progress.threads, 9U);
  EXPECT_EQ(result.output, run_alone(arguments).output);
  EXPECT_EQ(result.collisions.size(), 0U);
}

TEST_F(WatchAgentTest, CodeThatMayNotBeMadeWritableIsPatchedThroughItsFile) {
  const std::string through_file = std::string(kAllTheTime) + ":refuse_write=1";
  const RunResult result = run("many 200000", through_file);
  EXPECT_GT(result.progress.hits, 100U);
  EXPECT_EQ(result.output, run_alone("many 200000").output);
  EXPECT_EQ(run("fork", through_file).output, "forked\n");
  EXPECT_EQ(run("spawn", through_file).output, "spawned\n");
}

// By the agent's own account, which leaves out what it cannot see.
TEST_F(WatchAgentTest, EachBudgetIsKept) {
  // Of the program's processor time, which is what it is given in proportion to.
  const auto seconds = [](double wanted) {
    return
        [wanted](const RunResult& so_far) { return static_cast<double>(so_far.progress.processor_ns) > wanted * 1e9; };
  };
  const auto share = [](std::uint64_t time, double of) {
    return static_cast<std::uint64_t>(static_cast<double>(time) * of);
  };
  {
    const Progress spent = run("race", "rate=20:cpu_share=1000000:stall_share=1000000", seconds(1.4)).progress;
    EXPECT_EQ(spent.rate, 20U);
    // Half a second's worth may have been saved, and 50 ms be owed.
    EXPECT_LE(spent.watches, share(spent.elapsed_ns, 20e-9) + 12);
    EXPECT_GT(spent.watches, 0U);
  }
  {
    const Progress spent =
        run("race", "method=collide:rate=1000:cpu_share=1000000:stall_share=10000", seconds(1.4)).progress;
    EXPECT_EQ(spent.stall_share, 10000U);
    // Eight stops of a millisecond are given, and two may be on their way, of which each waits two more for its
    // breakpoints at most.
    EXPECT_LE(spent.stalled_ns, share(spent.processor_ns, 0.01) + 8'000'000 + 2 * 3'000'000);
    EXPECT_GT(spent.stalls, 0U);
  }
  {
    const Progress spent = run("race", "rate=100000:limit_us=20:cpu_share=10000:stall_share=0", seconds(1.4)).progress;
    EXPECT_EQ(spent.cpu_share, 10000U);
    // The first 10 ms are given; the rest is what some rounds of work take on a busy machine.
    EXPECT_LE(spent.agent_ns + spent.slow_ns, share(spent.processor_ns, 0.01) + 50'000'000);
    EXPECT_GT(spent.watches, 0U);
    EXPECT_GT(spent.processor_ns, 0U);
  }
}

TEST_F(WatchAgentTest, TheProgramsDescriptorsAreItsOwn) {
  const RunResult result = run("descriptors", kAllTheTime);
  EXPECT_EQ(result.output, "0 wrong\n");
  EXPECT_GT(result.progress.watches, 10U);
}

TEST_F(WatchAgentTest, HundredsOfThreadsAtOnce) {
  const RunResult result = run("crowd", kAllTheTime);
  EXPECT_EQ(result.output, "crowded\n");
  EXPECT_EQ(result.progress.threads, 301U);
}

TEST_F(WatchAgentTest, WhatTheProgramBecomesByExecRunsUnwatched) {
  const RunResult result = run_watched(sites, "exec", kAllTheTime, [](const RunResult&) { return false; }, kPatience);
  EXPECT_TRUE(result.said_hello);
  EXPECT_EQ(result.output, "another\n");
  EXPECT_EQ(result.status, 0);
}

TEST_F(WatchAgentTest, WatchingEndsBeforeAProgramConfinesItself) {
  for (const char* const way : {"confine", "confine-by-prctl", "confine-by-number"}) {
    const RunResult result = run(way, kAllTheTime);
    EXPECT_EQ(result.output, "confined\n") << way;
    ASSERT_EQ(result.messages.size(), 1U) << way;
    EXPECT_NE(result.messages[0].find("seccomp"), std::string::npos) << result.messages[0];
  }
}

TEST_F(WatchAgentTest, ThreadsComeAndGo) {
  const RunResult result = run("churn", kAllTheTime);
  EXPECT_EQ(result.output, "churned\n");
  EXPECT_EQ(result.progress.threads, 1U + 100 * 8);
  EXPECT_EQ(result.messages.size(), 0U);
}

TEST_F(WatchAgentTest, ForkedChildrenRunUnwatched) { EXPECT_EQ(run("fork", kAllTheTime).output, "forked\n"); }

TEST_F(WatchAgentTest, ChildrenOfABareForkRunUnwatched) { EXPECT_EQ(run("bare-fork", kAllTheTime).output, "forked\n"); }

TEST_F(WatchAgentTest, SpawnedChildrenRunUnwatched) { EXPECT_EQ(run("spawn", kAllTheTime).output, "spawned\n"); }

TEST_F(WatchAgentTest, WhenNobodyListensTheProgramGoesOn) {
  const RunResult result = run_unheard(sites, "race", kAllTheTime);
  EXPECT_TRUE(result.said_hello);
  EXPECT_EQ(result.output, "raced\n");
  EXPECT_EQ(result.status, 0);
}

TEST_F(WatchAgentTest, TheProgramsOwnTrapsAreItsOwn) {
  const RunResult result = run("own-traps", kAllTheTime);
  EXPECT_EQ(result.output, "own handler\n200 traps\n");
  EXPECT_GT(result.progress.hits, 0U);
}

TEST_F(WatchAgentTest, BlockedSignalsSeemBlocked) {
  const RunResult result = run("blocked", kAllTheTime);
  EXPECT_EQ(result.output, "blocked\n0 traps while blocked\n1 traps\nnot blocked\n");
  EXPECT_GT(result.progress.hits, 0U);
}

// The first event of the system in a second is opened after a grace period of all processors, of 10 ms. Some runs do
// not tell, as others may have events open; one may be interrupted.
TEST_F(WatchAgentTest, TheProgramDoesNotWaitForTheFirstBreakpoint) {
  std::vector<std::uint64_t> starts;
  for (int times = 0; times < 4; ++times) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    starts.push_back(run("many 1", "rate=1").hello.start_ns);
  }
  std::sort(starts.begin(), starts.end());
  EXPECT_LT(starts[2], 4'000'000U);
}

TEST_F(WatchAgentTest, WithoutBreakpointsTheProgramRunsAlone) {
  const RunResult result =
      run_watched(sites, "many 100", "refuse=1", [](const RunResult&) { return false; }, kPatience);
  ASSERT_EQ(result.messages.size(), 1U);
  EXPECT_NE(result.messages[0].find("runs unwatched: data breakpoints"), std::string::npos) << result.messages[0];
  EXPECT_FALSE(result.said_hello);
  EXPECT_EQ(result.output, run_alone("many 100").output);
  EXPECT_EQ(result.status, 0);
}

}  // namespace
}  // namespace deadheat::watch
