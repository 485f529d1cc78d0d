// SPDX-License-Identifier: Apache-2.0
// `deadheat record` and `deadheat analyze DIR` on programs that were built without any help of ours.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

const std::string kPrograms = std::string(DEADHEAT_SOURCE_DIR) + "/bench/programs/";

CommandResult build(const Shell& shell, const std::string& name) {
  return shell.run("g++ -std=c++20 -O1 -g -pthread " + kPrograms + name + ".cpp -o " + name);
}

// Performance events can be forbidden.
bool can_record(const CommandResult& result) { return !contains(result.errors, "cannot record by"); }

TEST(RecordTest, RaceIsFoundThatSamplesAloneDoNotShow) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_racy").exit_code, 0);
  const CommandResult recorded = shell.run("deadheat record --hz 5000 -o run ./record_racy 40000000 4096");
  if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
  EXPECT_EQ(recorded.exit_code, 0) << recorded.errors;
  EXPECT_TRUE(contains(recorded.errors, "next: deadheat analyze")) << recorded.errors;
  const CommandResult analysed = shell.run("deadheat analyze run --stats");
  EXPECT_EQ(analysed.exit_code, 66) << analysed.output << analysed.errors;
  EXPECT_TRUE(contains(analysed.output, "bare")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "(rebuilt)")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "record_racy.cpp:")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "conflicts 0")) << analysed.output;
  EXPECT_FALSE(contains(analysed.output, "on (anonymous namespace)::locked")) << analysed.output;
}

// No race; on a busy machine perhaps because no sample hit the program's own code, which is said.
bool is_quiet(const CommandResult& analysed) {
  return analysed.exit_code == 0 ||
         (analysed.exit_code == 3 && contains(analysed.output, "deadheat: nothing was looked at: "));
}

TEST(RecordTest, OrderedProgramsHaveNoRace) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_ordered").exit_code, 0);
  for (const char* way : {"mutex 50000", "heap 100000", "queue 20000", "barrier 3000", "semaphore 3000", "pipe 3000",
                          "readers 30000", "threads 1000", "static 100000"}) {
    const CommandResult recorded =
        shell.run(std::string("deadheat record -q --hz 5000 -o run ./record_ordered ") + way);
    if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
    const CommandResult analysed = shell.run("deadheat analyze run");
    EXPECT_TRUE(is_quiet(analysed)) << way << analysed.output << analysed.errors;
    EXPECT_FALSE(contains(analysed.errors, "no pair can be called a race")) << way << analysed.errors;
  }
}

// What is handed from thread to thread in whatever way is ordered, though most of it is not logged call by call; and
// what comes after the last hand-over is not.
TEST(RecordTest, WhatIsHandedOnIsOrderedAndNothingElse) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_handed").exit_code, 0);
  for (const std::string way :
       {"normal 10000",       "adaptive 10000",    "recursive 5000", "checked 5000",   "robust 2000",
        "inherit 2000",       "shared 2000",       "chain 3000",     "cancelled 60",   "foreign 5000",
        "refused 10000",      "misused 1",         "renewed 300",    "c11 20000",      "pipes 3000",
        "one-pipe 5000",      "new-pipes 100",     "waits 2000",     "many-waits 500", "handler 1000",
        "first-write 200000", "stream-pipes 3000", "many-pipes 500", "late-waits 2000"}) {
    for (const bool is_racy : {false, true}) {
      const CommandResult recorded =
          shell.run("timeout 60 deadheat record -q --hz 5000 -o run ./record_handed " + way + (is_racy ? " racy" : ""));
      if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
      ASSERT_EQ(recorded.exit_code, 0) << way << recorded.errors;
      const CommandResult analysed = shell.run("deadheat analyze run");
      EXPECT_TRUE(is_racy ? analysed.exit_code == 66 : is_quiet(analysed)) << way << analysed.output << analysed.errors;
      EXPECT_EQ(contains(analysed.output, "race on (anonymous namespace)::bare"), is_racy) << way << analysed.output;
      EXPECT_FALSE(contains(analysed.output, "race on (anonymous namespace)::items")) << way << analysed.output;
      EXPECT_FALSE(contains(analysed.output, "race on (anonymous namespace)::told")) << way << analysed.output;
    }
  }
}

TEST(RecordTest, HeldLocksAreToldIfTheyWereLogged) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_racy").exit_code, 0);
  for (const bool has_locks : {false, true}) {
    const CommandResult recorded = shell.run(std::string("deadheat record -q --hz 5000 ") +
                                             (has_locks ? "--held-locks" : "") + " -o run ./record_racy 40000000 4096");
    if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
    const CommandResult analysed = shell.run("deadheat analyze run");
    ASSERT_EQ(analysed.exit_code, 66) << analysed.output << analysed.errors;
    EXPECT_EQ(contains(analysed.output, "neither holds a lock"), has_locks) << analysed.output;
    EXPECT_EQ(contains(analysed.output, "which locks they held was not recorded"), !has_locks) << analysed.output;
  }
}

TEST(RecordTest, AtomicOperationsMakeSuspectsAndNoRace) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_lock_free").exit_code, 0);
  const CommandResult recorded = shell.run("deadheat record -q --hz 5000 -o run ./record_lock_free 300000");
  if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
  const CommandResult analysed = shell.run("deadheat analyze run --suspects");
  EXPECT_EQ(analysed.exit_code, 0) << analysed.output;
  EXPECT_TRUE(contains(analysed.errors, "std::atomic in its debug information")) << analysed.errors;
}

// The allocator's own threads come without a word to anybody and log with the allocator's locks held (jemalloc's do):
// the agent must not allocate then.
TEST(RecordTest, ThreadsOfTheAllocatorDoNotHang) {
  const Shell shell;
  shell.write_file("own_heap.cpp", R"(
#include <dlfcn.h>
#include <pthread.h>
#include <cstdlib>
#include <cstring>
pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
char store[1 << 20];
std::size_t used = 0;
extern "C" void* malloc(std::size_t size) {
  pthread_mutex_lock(&heap_lock);
  void* const block = store + used;
  used += (size + 15) / 16 * 16;
  pthread_mutex_unlock(&heap_lock);
  return block;
}
extern "C" void free(void*) {}
extern "C" void* calloc(std::size_t count, std::size_t size) { return std::memset(malloc(count * size), 0, count * size); }
extern "C" void* realloc(void* old, std::size_t size) {
  void* const block = malloc(size);
  return old == nullptr ? block : std::memcpy(block, old, size);
}
void* keep_house(void*) {
  pthread_mutex_lock(&heap_lock);
  pthread_mutex_unlock(&heap_lock);
  return nullptr;
}
int main() {
  void* const library = dlopen("libc.so.6", RTLD_NOW);
  const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(library, "pthread_create"));
  pthread_t thread;
  create(&thread, nullptr, keep_house, nullptr);
  pthread_join(thread, nullptr);
}
)");
  ASSERT_EQ(shell.run("g++ -g -pthread own_heap.cpp -o own_heap").exit_code, 0);
  const CommandResult recorded = shell.run("timeout 20 deadheat record -q -o run ./own_heap");
  if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
  EXPECT_TRUE(recorded.exit_code == 0 || recorded.exit_code == 3) << recorded.errors;
}

TEST(RecordTest, TimersOfThreadsAndOfProcessorsSeeTheProgram) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_racy").exit_code, 0);
  for (const char* timers : {"threads", "processors"}) {
    // Samples are taken at random: on a busy machine one recording in some has none of either access.
    constexpr int kRecordings = 5;
    int status = 0;
    for (int recording = 0; recording < kRecordings && status == 0; ++recording) {
      const CommandResult recorded = shell.run(std::string("deadheat record --backend clock --hz 5000 --timers ") +
                                               timers + " -o run ./record_racy 40000000 4096");
      if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
      const CommandResult analysed = shell.run("deadheat analyze run --stats");
      status = analysed.exit_code;
      EXPECT_FALSE(contains(analysed.output, "on (anonymous namespace)::locked")) << timers << analysed.output;
    }
    EXPECT_EQ(status, 66) << timers;
  }
}

// Tracing by single steps can be forbidden as well.
bool can_step(const CommandResult& result) { return !contains(result.errors, "cannot trace the program"); }

// What the stepping backends share: `work` alone is stepped, its race is found, and the locked variable has none.
void expect_race_by(const std::string& backend) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_racy").exit_code, 0);
  const CommandResult recorded =
      shell.run("deadheat record --backend " + backend + " --function work --period 500 -o run ./record_racy 400 100");
  if (!can_step(recorded)) GTEST_SKIP() << recorded.errors;
  ASSERT_EQ(recorded.exit_code, 0) << recorded.errors;
  const CommandResult analysed = shell.run("deadheat analyze run --stats");
  EXPECT_EQ(analysed.exit_code, 66) << analysed.output << analysed.errors;
  EXPECT_TRUE(contains(analysed.output, "by " + backend + ":")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "on (anonymous namespace)::bare")) << analysed.output;
  EXPECT_FALSE(contains(analysed.output, "on (anonymous namespace)::locked")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "(rebuilt)")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "record_racy.cpp:")) << analysed.output;
  EXPECT_TRUE(contains(analysed.output, "conflicts 0")) << analysed.output;
  // Who called is told, or that it is not known.
  EXPECT_TRUE(contains(analysed.output, "::_M_run()") || contains(analysed.output, "callers not known"))
      << analysed.output;
  EXPECT_TRUE(backend != "step" || contains(analysed.output, "::_M_run()")) << analysed.output;
}

void expect_no_race_by(const std::string& backend) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_ordered").exit_code, 0);
  for (const char* way : {"mutex 20", "barrier 10", "pipe 10"}) {
    const CommandResult recorded = shell.run("deadheat record -q --backend " + backend +
                                             " --function work_on --period 100 -o run ./record_ordered " + way);
    if (!can_step(recorded)) GTEST_SKIP() << recorded.errors;
    ASSERT_EQ(recorded.exit_code, 0) << recorded.errors;
    const CommandResult analysed = shell.run("deadheat analyze run --stats");
    EXPECT_EQ(analysed.exit_code, 0) << way << analysed.output << analysed.errors;
    // Something was compared.
    EXPECT_FALSE(contains(analysed.output, "compared 0;")) << way << analysed.output;
  }
}

TEST(RecordTest, StepsFindARace) { expect_race_by("step"); }
TEST(RecordTest, StepsOfOrderedProgramsHaveNoRace) { expect_no_race_by("step"); }

// The same way as a recording of Intel's hardware: processors' traces, ranges of threads, samples by time alone.
TEST(RecordTest, IntelTraceMadeBySoftwareFindsARace) { expect_race_by("software-pt"); }
TEST(RecordTest, IntelTraceOfOrderedProgramsHasNoRace) { expect_no_race_by("software-pt"); }

TEST(RecordTest, FunctionsThatAreNotThereAreNamed) {
  const Shell shell;
  const CommandResult recorded = shell.run("deadheat record --backend step -o run --function nothing_like_it true");
  if (!can_step(recorded)) GTEST_SKIP() << recorded.errors;
  EXPECT_EQ(recorded.exit_code, 2) << recorded.errors;
  EXPECT_TRUE(contains(recorded.errors, "has no function 'nothing_like_it'")) << recorded.errors;
  EXPECT_EQ(shell.run("deadheat record --backend clock --function main -o run true").exit_code, 2);
}

TEST(RecordTest, WhatIsWrongIsSaidInOneLine) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat record true").exit_code, 2);
  EXPECT_EQ(shell.run("deadheat record -o run ./nothing-there").exit_code, 127);
  shell.write_file("other", "text");
  ASSERT_EQ(shell.run("mkdir -p full && mv other full/").exit_code, 0);
  const CommandResult full = shell.run("deadheat record -o full true");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_TRUE(contains(full.errors, "has other files in it")) << full.errors;
  const CommandResult foreign = shell.run("deadheat analyze full");
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_TRUE(contains(foreign.errors, "not a recording")) << foreign.errors;
}

// Killed in the middle: what was logged and sampled before is there.
TEST(RecordTest, AKilledProgramLeavesItsRecording) {
  const Shell shell;
  ASSERT_EQ(build(shell, "record_racy").exit_code, 0);
  const CommandResult recorded =
      shell.run("deadheat record --hz 5000 -o run ./record_racy 2000000000 & sleep 1; pkill -KILL -P $!; wait $!");
  if (!can_record(recorded)) GTEST_SKIP() << recorded.errors;
  EXPECT_EQ(recorded.exit_code, 137) << recorded.errors;
  const CommandResult analysed = shell.run("deadheat analyze run");
  EXPECT_EQ(analysed.exit_code, 66) << analysed.errors;
}

}  // namespace
}  // namespace deadheat
