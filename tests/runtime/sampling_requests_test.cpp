// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling_requests.h"

#include <gtest/gtest.h>

#include <string_view>

namespace deadheat::runtime {
namespace {

using What = Request::What;

Request parse(std::string_view text) { return parse_request(text.data(), text.size()); }

TEST(SamplingRequests, AreUnderstood) {
  EXPECT_EQ(parse("status").what, What::kStatus);
  EXPECT_EQ(parse("status\n").what, What::kStatus);
  EXPECT_EQ(parse("rate=30000").what, What::kRate);
  EXPECT_EQ(parse("rate=30000").value, 30'000U);
  EXPECT_EQ(parse("rate=0").value, 0U);
  EXPECT_EQ(parse("rate=1000000").value, 1'000'000U);
  EXPECT_EQ(parse("budget=50000").what, What::kBudget);
  EXPECT_EQ(parse("budget=50000").value, 50'000U);
}

TEST(SamplingRequests, OfOtherFormsAreRefused) {
  for (const std::string_view text : {"", "statu", "status now", "rate", "rate=", "rate=-1", "rate=3%", "rate=1000001",
                                      "rate=99999999999999999999", "budget=", "budget=0x10", "RATE=1", "=1"}) {
    EXPECT_EQ(parse(text).what, What::kUnknown) << text;
  }
}

}  // namespace
}  // namespace deadheat::runtime
