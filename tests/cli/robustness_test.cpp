// SPDX-License-Identifier: Apache-2.0
// The program under test survives us, and its races get out, when resources are
// short and ends are sudden: a real program with the real runtime.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

// One race between two threads, in an order that the detector cannot see, then
// what the first argument says. `done` is printed if the program gets there.
constexpr const char* kProgram = R"(
#include "turns.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int shared;
const char* mode = "";
static void first(void) { shared = 1; }
static void second(void) {
  if (strcmp(mode, "clean") != 0) shared = 2;
  if (strcmp(mode, "kill") == 0) raise(SIGKILL);
  if (strcmp(mode, "exit") == 0) _exit(5);
}
static void use_memory(void) {
  for (int i = 0; i < 96; i++) {
    size_t size = opaque(1u << 20);
    char* block = malloc(size);
    for (size_t at = 0; at < size; at += 8) block[at] = 1;
  }
}
int main(int argc, char** argv) {
  if (argc > 1) mode = argv[1];
  if (strcmp(mode, "close") == 0) for (int file = 0; file < 1024; file++) close(file);
  if (strcmp(mode, "memory") == 0) use_memory();
  in_turn(first, second);
  puts("done");
  fflush(stdout);
  return 3;
}
)";

class Robustness : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shell = std::make_unique<Shell>();
    shell->write_file("racer.c", kProgram);
    const CommandResult built =
        shell->run("deadheat cc -g -pthread -I'" DEADHEAT_SOURCE_DIR "/tests/programs/support' racer.c -o racer");
    is_built = built.exit_code == 0;
    ASSERT_TRUE(is_built) << built.errors;
  }
  static void TearDownTestSuite() { shell.reset(); }
  void SetUp() override { ASSERT_TRUE(is_built); }

  static CommandResult run(const std::string& command) { return shell->run("timeout 60 bash -c '" + command + "'"); }

  static inline std::unique_ptr<Shell> shell;
  static inline bool is_built = false;
};

TEST_F(Robustness, HuntHasTheRaceOfEveryRunOnce) {
  const CommandResult result = shell->run("deadheat hunt --runs 3 ./racer");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "), in 3 of 3 runs; deadheat hunt --again 1\n")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race in 3 runs; seed ")) << result.errors;
  EXPECT_EQ(shell->run("deadheat hunt --again 1").exit_code, 66);
}

TEST_F(Robustness, KillRightAfterARaceLosesNoReport) {
  for (int round = 0; round < 20; ++round) {
    const CommandResult result = run("deadheat run ./racer kill");
    ASSERT_EQ(result.exit_code, 66);
    ASSERT_TRUE(contains(result.errors, "write-write race on shared")) << result.errors;
    ASSERT_TRUE(contains(result.errors, "deadheat: 1 data race")) << result.errors;
  }
}

TEST_F(Robustness, KillRightAfterARaceLeavesACompleteRawFile) {
  const CommandResult result =
      run("rm -f raw.*; DEADHEAT_OPTIONS=log_path=raw ./racer kill; deadheat report raw.*; echo $?");
  EXPECT_TRUE(contains(result.output, "write-write race on shared")) << result.output << result.errors;
  EXPECT_TRUE(contains(result.output, "66\n")) << result.output;
}

TEST_F(Robustness, ExitWithoutHandlersOrDescriptorsLosesNoReport) {
  for (const std::string mode : {"exit", "close"}) {
    const CommandResult result = run("deadheat run ./racer " + mode);
    EXPECT_EQ(result.exit_code, 66) << mode;
    EXPECT_TRUE(contains(result.errors, "write-write race on shared")) << mode << ": " << result.errors;
    EXPECT_TRUE(contains(result.errors, "deadheat: 1 data race")) << mode << ": " << result.errors;
  }
}

TEST_F(Robustness, ClosedStandardErrorLosesNoReport) {
  const CommandResult result = run("deadheat run -o closed.txt ./racer race 2>&-");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.output, "done\n");
  EXPECT_TRUE(contains(shell->read_file("closed.txt"), "write-write race on shared"));
}

TEST_F(Robustness, ReportOnAFullDiskIsNotLost) {
  const CommandResult result = run("deadheat run -o /dev/full ./racer race");
  EXPECT_EQ(result.output, "done\n");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "No space left on device")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "write-write race on shared")) << result.errors;
}

TEST_F(Robustness, FileSizeLimitIsSaidAndTheProgramGoesOn) {
  const CommandResult result = run("(ulimit -f 0; deadheat run -o limited.txt ./racer race; echo $?) 2>&1 | cat");
  EXPECT_TRUE(contains(result.output, "done\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "File too large")) << result.output;
}

TEST_F(Robustness, ReportThatMayNotBeWrittenIsAnErrorBeforeTheProgramStarts) {
  const CommandResult result = run("deadheat run -o /proc/nowhere/report ./racer race");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "cannot write")) << result.errors;
}

TEST_F(Robustness, TooLittleAddressSpaceRunsTheProgramUnobservedAndSaysSo) {
  const CommandResult result = run("ulimit -v 4000000; deadheat run ./racer race");
  EXPECT_EQ(result.output, "done\n");
  EXPECT_EQ(result.exit_code, 3) << "the program's own status";
  EXPECT_TRUE(contains(result.errors, "deadheat: ")) << result.errors;
  EXPECT_FALSE(contains(result.errors, "no data races;")) << "nothing was checked: " << result.errors;
}

TEST_F(Robustness, DirectStartSaysHowToReadTheRaces) {
  const CommandResult result = run("rm -f deadheat.*; ./racer race; echo $?; deadheat report deadheat.*; echo $?");
  EXPECT_TRUE(contains(result.output, "done\n66\n")) << result.output;
  EXPECT_TRUE(contains(result.errors, "deadheat report ")) << result.errors;
  EXPECT_TRUE(contains(result.output, "write-write race on shared")) << result.output;
}

TEST_F(Robustness, DirectStartWithoutARaceLeavesNothing) {
  const CommandResult result = run("mkdir -p empty; cd empty; ../racer clean; echo $?; ls");
  EXPECT_EQ(result.output, "done\n3\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(Robustness, DirectStartWhereNoFileCanBeWrittenGoesOn) {
  const CommandResult unwritable = run("DEADHEAT_OPTIONS=log_path=/proc/nowhere/raw ./racer race; echo $?");
  EXPECT_EQ(unwritable.output, "done\n66\n") << unwritable.errors;
  EXPECT_TRUE(contains(unwritable.errors, "deadheat: ")) << unwritable.errors;
  const CommandResult limited = run("(ulimit -f 0; ./racer race; echo $?) 2>&1 | cat");
  EXPECT_TRUE(contains(limited.output, "done\n66\n"))
      << "the limit's signal must not end the program: " << limited.output;
}

TEST_F(Robustness, DirectStartWithoutStandardErrorGoesOn) {
  const CommandResult result = run("rm -f deadheat.*; ./racer race 2>&-; echo $?; deadheat report deadheat.*");
  EXPECT_TRUE(contains(result.output, "done\n66\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "write-write race on shared")) << result.output;
}

TEST_F(Robustness, HaltOnErrorEndsTheProgramAtTheFirstRace) {
  const CommandResult result = run("deadheat run --halt-on-error ./racer race");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "write-write race on shared")) << result.errors;
}

TEST_F(Robustness, MemoryLimitDropsHistoryAndSaysSo) {
  const CommandResult limited = run("deadheat run --memory-limit 16M ./racer memory");
  EXPECT_EQ(limited.exit_code, 66) << "what happens after the drop is checked again";
  EXPECT_EQ(limited.output, "done\n");
  EXPECT_TRUE(contains(limited.errors, "old history was dropped")) << limited.errors;
  const CommandResult roomy = run("deadheat run --memory-limit 4G ./racer memory");
  EXPECT_FALSE(contains(roomy.errors, "old history was dropped")) << roomy.errors;
}

}  // namespace
}  // namespace deadheat
