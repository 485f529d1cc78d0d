// SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzzer are traces of the format's first version. That they
// read as they were written means that a change of the code was not a change
// of the format.
#include "binary_test_support.h"

namespace deadheat {
namespace {

const std::string kFolder = std::string{DEADHEAT_SOURCE_DIR} + "/fuzz/corpus/binary/";

class BinaryCorpusTest : public testing::TestWithParam<const char*> {};

TEST_P(BinaryCorpusTest, StoredTraceReadsAsItWasWritten) {
  const Outcome outcome = read_all(BinaryReader::open(kFolder + GetParam()));
  EXPECT_FALSE(outcome.error.has_value()) << outcome.error->message;
  EXPECT_FALSE(outcome.truncation.has_value()) << *outcome.truncation;
  EXPECT_EQ(outcome.events, golden_events());
  EXPECT_EQ(outcome.dictionary, small_dictionary());
}

INSTANTIATE_TEST_SUITE_P(Seeds, BinaryCorpusTest,
                         testing::Values("all_kinds.trace", "small_chunks.trace", "sequenced.trace",
                                         "uncompressed.trace"));

TEST(BinaryCorpusTest, StoredCutOffTraceYieldsItsPrefix) {
  const Outcome outcome = read_all(BinaryReader::open(kFolder + "cut_off.trace"));
  EXPECT_FALSE(outcome.error.has_value());
  EXPECT_TRUE(outcome.truncation.has_value());
  EXPECT_EQ(outcome.events.size(), 96U);
  EXPECT_TRUE(is_prefix(outcome.events, golden_events()));
}

}  // namespace
}  // namespace deadheat
