// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <gtest/gtest.h>

#include <string>

namespace deadheat::runtime {
namespace {

struct Applied {
  Options options;
  std::string said;
};

Applied apply(const char* settings) {
  Applied result;
  testing::internal::CaptureStderr();
  apply_settings(result.options, settings, "DEADHEAT_OPTIONS");
  result.said = testing::internal::GetCapturedStderr();
  return result;
}

TEST(RuntimeOptions, SettingsAreSeparatedByColonsOrSpaces) {
  const Applied got = apply("exitcode=3:halt_on_error=1 stats=true,verbose=yes");
  EXPECT_EQ(got.options.exitcode, 3);
  EXPECT_TRUE(got.options.halt_on_error);
  EXPECT_TRUE(got.options.stats);
  EXPECT_TRUE(got.options.verbose);
  EXPECT_EQ(got.said, "");
}

TEST(RuntimeOptions, SizesHaveLetters) {
  EXPECT_EQ(apply("memory_limit=4096").options.memory_limit, 4096U);
  EXPECT_EQ(apply("memory_limit=64K").options.memory_limit, 65536U);
  EXPECT_EQ(apply("memory_limit=512m").options.memory_limit, 512ULL << 20);
  EXPECT_EQ(apply("memory_limit=2G").options.memory_limit, 2ULL << 30);
}

TEST(RuntimeOptions, QuotesKeepSeparators) {
  EXPECT_STREQ(apply("log_path='/tmp/a b:c':exitcode=4").options.log_path, "/tmp/a b:c");
  EXPECT_EQ(apply("log_path=\"x y\":exitcode=4").options.exitcode, 4);
}

TEST(RuntimeOptions, NonsenseIsSaidAndChangesNothing) {
  for (const char* bad : {"exitcode=three", "memory_limit=12X", "memory_limit=99999999999999999999G", "halt_on_error=2",
                          "memory_limit=", "exitcode=-", "no_such_option=1", "exitcode"}) {
    const Applied got = apply(bad);
    const Options defaults;
    EXPECT_EQ(got.options.exitcode, defaults.exitcode) << bad;
    EXPECT_EQ(got.options.memory_limit, defaults.memory_limit) << bad;
    EXPECT_EQ(got.options.halt_on_error, defaults.halt_on_error) << bad;
    EXPECT_NE(got.said.find("ignored"), std::string::npos) << bad;
  }
}

TEST(RuntimeOptions, ALaterSettingWins) { EXPECT_EQ(apply("exitcode=3:exitcode=5").options.exitcode, 5); }

TEST(RuntimeOptions, OddPunctuationIsHarmless) {
  for (const char* odd : {"", ":::", "=", "=1", "a=b=c", "'", "exitcode='", "log_path=\"", " = = "}) {
    EXPECT_EQ(apply(odd).options.stats, false) << odd;
  }
}

}  // namespace
}  // namespace deadheat::runtime
