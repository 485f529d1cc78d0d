// SPDX-License-Identifier: Apache-2.0
#include "report/live_sampling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/packet_builder.h"

namespace deadheat {
namespace {

std::vector<std::string> words_of(const raw_report::Sampling& amounts) {
  LiveSampling sampling;
  sampling.add(amounts);
  return describe_sampling(sampling);
}

TEST(LiveSamplingTest, AUsualRunSaysHowMuchAndHowManyRunsItTakes) {
  EXPECT_EQ(words_of(packets::usual_sampling()),
            (std::vector<std::string>{
                "sampled 2.98% of the work (asked for 3%) in 298 periods: 48,211,034 accesses; it took 4.76% of the "
                "processor time; seed 81234",
                "a race that occurs once in every run is found in a run with probability 3%",
                "one run says little: it takes 99 runs without a report to exclude such a race with 95% confidence, "
                "and 998 to know that it occurs in less than 10% of the runs"}));
}

TEST(LiveSamplingTest, ChancesAreThoseOfTheExpectedShareNotOfThisRunsLuck) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.rate = 80'000;
  amounts.expected_work_ns = amounts.work_ns * 8 / 100;
  amounts.sampled_work_ns = amounts.work_ns / 5;
  const std::vector<std::string> words = words_of(amounts);
  EXPECT_EQ(words[0].rfind("sampled 20% of the work (asked for 8%) in ", 0), 0U) << words[0];
  EXPECT_EQ(words[1], "a race that occurs once in every run is found in a run with probability 8%");
  EXPECT_EQ(words[2].rfind("one run says little: it takes 36 runs without a report ", 0), 0U) << words[2];
  EXPECT_EQ(expected_rate(amounts), 0.08);
  amounts.work_ns = 0;
  EXPECT_EQ(expected_rate(amounts), 0.08) << "too short to be measured";
}

TEST(LiveSamplingTest, AHorizonSaysWhatItTakesAway) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.horizon_us = 10'000;
  amounts.expired_records = 1'234;
  const std::vector<std::string> words = words_of(amounts);
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(
      words[1],
      "a race that occurs once in every run, its two accesses at most 10 ms of work apart, is found in a run with "
      "probability 3%");
  EXPECT_EQ(
      words[3],
      "1,234 records expired, 10 ms of work after their period or later: a race with them whose second access came "
      "after that was not seen (--horizon forever keeps them)");
}

TEST(LiveSamplingTest, WithABudgetTheRateIsThatOfTheEnd) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.budget = 50'000;
  EXPECT_EQ(words_of(amounts)[0].rfind("sampled 2.98% of the work (rate 3% at the end, for a budget of 5%) in ", 0), 0U)
      << words_of(amounts)[0];
}

TEST(LiveSamplingTest, WhereAlmostEverythingWasSampledOneRunSaysSomething) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.sampled_work_ns = amounts.expected_work_ns = amounts.work_ns;
  const std::vector<std::string> words = words_of(amounts);
  EXPECT_EQ(words[1], "a race that occurs once in every run is found in a run with probability 100%");
  EXPECT_EQ(words[2],
            "a race that this run did not report occurs in less than 95% of the runs, with 95% confidence; it takes 29 "
            "runs without a report to know that it occurs in less than 10% of the runs");
}

TEST(LiveSamplingTest, NothingSampledSaysWhatToDo) {
  const std::vector<std::string> words{
      "nothing was sampled (asked for 3%), so this run by itself says nothing about races: run longer, or take a "
      "higher rate or "
      "shorter periods"};
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.sampled_work_ns = 0;
  EXPECT_EQ(words_of(amounts), words);
  amounts.work_ns = 0;
  amounts.cost_ns = 0;
  EXPECT_EQ(words_of(amounts), words) << "not even work was measured";
}

TEST(LiveSamplingTest, ProcessesThatDidNotSayAreSaid) {
  LiveSampling sampling;
  sampling.add(packets::usual_sampling());
  sampling.silent_processes = 1;
  EXPECT_EQ(describe_sampling(sampling).back(), "how much 1 of 2 processes sampled is not known");
}

TEST(LiveSamplingTest, SumsStayAtTheLargestNumber) {
  raw_report::Sampling amounts = packets::usual_sampling();
  amounts.work_ns = UINT64_MAX;
  amounts.sampled_work_ns = UINT64_MAX;
  amounts.cost_ns = UINT64_MAX;
  LiveSampling sampling;
  sampling.add(amounts);
  sampling.add(amounts);
  EXPECT_EQ(sampling.totals.work_ns, UINT64_MAX);
  EXPECT_EQ(effective_rate(sampling.totals), 1);
  EXPECT_EQ(cost_share(sampling.totals), 1);
}

TEST(LiveSamplingTest, PeriodsHaveTheUnitThatSuits) {
  EXPECT_EQ(describe_period(50), "50 us");
  EXPECT_EQ(describe_period(1000), "1 ms");
  EXPECT_EQ(describe_period(1500), "1.5 ms");
  EXPECT_EQ(describe_period(10'000'000), "10 s");
}

}  // namespace
}  // namespace deadheat
