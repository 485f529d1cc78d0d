// SPDX-License-Identifier: Apache-2.0
// Two races are two races: their names, how builds and modes agree on them, and what a baseline hides.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cli/shell.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

#ifdef DEADHEAT_HAS_RUNTIME

// Two counters through one helper.
constexpr char kTwoCounters[] = R"(
#include <pthread.h>
int hits, errors;
__attribute__((noinline)) void put(int* where, int value) {
  *where = value;
}
void report_hit(int value) { put(&hits, value); }
void report_error(int value) { put(&errors, value); }
void* first(void* unused) {
  report_hit(1);
  report_error(1);
  return unused;
}
void* second(void* unused) {
  report_hit(2);
  report_error(2);
  return unused;
}
int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, first, 0);
  pthread_create(&other, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
}
)";

std::set<std::string> fingerprints_in(const std::string& json) {
  std::set<std::string> names;
  for (int at = 0;; ++at) {
    const std::string name = json_at(json, "/findings/" + std::to_string(at) + "/fingerprint");
    if (name.size() != 18) return names;
    names.insert(name.substr(1, 16));
  }
}

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() { shell.write_file("two.c", kTwoCounters); }

  std::string build_and_run(const std::string& compiler, const std::string& options) {
    const CommandResult result = shell.run("deadheat cc --cc=" + compiler + " " + options +
                                           " -pthread two.c -o two && deadheat run --no-store --json two.json "
                                           "--record two.trace ./two");
    EXPECT_EQ(result.exit_code, 66) << result.output << result.errors;
    text = result.errors;
    return shell.read_file("two.json");
  }

  Shell shell;
  std::string text;
};

TEST_F(IdentityTest, BuildsAgreeAsFarAsTheyKnow) {
  std::set<std::string> first;
  for (const std::string compiler : {"gcc", "clang-19"}) {
    for (const std::string options : {"-g1 -O2", "-g0 -O1", "-g -O0"}) {
      std::set<std::string> names = fingerprints_in(build_and_run(compiler, options));
      EXPECT_EQ(names.size(), 2U) << compiler << options;
      if (first.empty()) first = names;
      if (options.starts_with("-g0")) {
        std::set<std::string> fronts;
        for (const std::string& name : first) fronts.insert(name.substr(0, 12) + "0000");
        EXPECT_EQ(names, fronts) << compiler << options;
      } else {
        EXPECT_EQ(names, first) << compiler << options;
      }
    }
  }
  EXPECT_TRUE(contains(text, "deadheat: race 1 also on: errors, by report_error (race 2)\n")) << text;
}

TEST_F(IdentityTest, RecordedTraceHasTheSameNames) {
  const std::set<std::string> names = fingerprints_in(build_and_run("gcc", "-g"));
  const CommandResult result = shell.run("deadheat analyze --no-store --format json two.trace");
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_EQ(fingerprints_in(result.output), names);
}

TEST_F(IdentityTest, BaselineWithTheOneShowsTheOther) {
  const std::string json = build_and_run("gcc", "-g");
  ASSERT_EQ(fingerprints_in(json).size(), 2U);
  const std::string one = *fingerprints_in(json).begin();
  shell.write_file("known.json", R"({"findings":[{"fingerprint":")" + one + R"(","aliases":[]}]})");
  const CommandResult result = shell.run("deadheat run --no-store --baseline known.json ./two");
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_TRUE(contains(result.errors, "1 of 2 races not in the baseline")) << result.errors;
}

// As SARIF files of older versions: one name for both.
TEST_F(IdentityTest, OldNameOfTwoRacesIsNoneOfThem) {
  const std::string json = build_and_run("gcc", "-g");
  const std::string old = json_at(json, "/findings/0/aliases/0");
  EXPECT_EQ(json_at(json, "/findings/1/aliases/0"), old);
  shell.write_file("known.sarif",
                   R"({"runs":[{"results":[{"partialFingerprints":{"deadheatRace/v1":)" + old + "}}]}]}");
  const CommandResult result = shell.run("deadheat run --no-store --baseline known.sarif ./two");
  EXPECT_EQ(result.exit_code, 66) << result.errors;
  EXPECT_TRUE(contains(result.errors, "its names are of an older version, which had one for 2 of them"))
      << result.errors;
}

#endif

}  // namespace
}  // namespace deadheat
