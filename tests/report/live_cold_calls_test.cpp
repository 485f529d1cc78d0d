// SPDX-License-Identifier: Apache-2.0
#include "report/live_cold_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/raw_packet_reader.h"
#include "support/packet_builder.h"

namespace deadheat {
namespace {

using Lines = std::vector<std::string>;

Lines words_of(const std::vector<raw_report::ColdCalls>& processes) {
  LiveColdCalls cold;
  for (const raw_report::ColdCalls& one : processes) cold.add(one);
  return describe_cold_calls(cold);
}

TEST(LiveColdCallsTest, ProcessesAreAddedUp) {
  EXPECT_EQ(words_of({{1000, 20, 0}, {1, 1, 0}}),
            (Lines{"cold code was sampled: 21 of 1,001 calls; which share of the accesses was in them is not known",
                   kColdCodeNote}));
  LiveColdCalls much;
  much.add({UINT64_MAX, UINT64_MAX, 0});
  much.add({1, 1, 0});
  EXPECT_EQ(much.calls, UINT64_MAX);
}

TEST(LiveColdCallsTest, WhereEverythingWasCheckedNothingIsSaidToBeMissed) {
  EXPECT_EQ(words_of({{0, 0, 1}}),
            (Lines{"cold code was not sampled, everything was checked: the program was not built with calls"}));
  EXPECT_EQ(words_of({{0, 0, 0}}), (Lines{"no calls were seen that could be sampled: everything was checked"}));
}

TEST(LiveColdCallsTest, CodeThatCameLaterAndOtherProcessesAreSaid) {
  EXPECT_EQ(words_of({{10, 10, 1}}).back(),
            "later everything was checked: code was loaded that was not built with calls");
  EXPECT_EQ(words_of({{10, 10, 0}, {0, 0, 1}}).back(),
            "1 of 2 processes had code that was not built with calls, and checked everything");
}

TEST(LiveColdCallsTest, MoreCallsSampledThanMadeAreMalformed) {
  EXPECT_TRUE(parse_packet(packets::cold_calls(7, {10, 10, 0})).ok());
  EXPECT_FALSE(parse_packet(packets::cold_calls(7, {10, 11, 0})).ok());
}

}  // namespace
}  // namespace deadheat
