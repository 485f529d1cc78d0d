// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace deadheat {
namespace {

Result<int> parse_digit(char letter) {
  if (letter < '0' || letter > '9') return Error{ErrorCode::kMalformed, "not a digit"};
  return letter - '0';
}

Status require_even(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalid, "odd"};
  return {};
}

TEST(Result, HoldsTheValueOfASuccess) {
  const Result<int> result = parse_digit('7');
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.value(), 7);
}

TEST(Result, HoldsTheErrorOfAFailure) {
  const Result<int> result = parse_digit('x');
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().message, "not a digit");
}

TEST(Result, FalsyValuesAreSuccesses) {
  EXPECT_TRUE(Result<int>(0).ok());
  EXPECT_TRUE(Result<std::unique_ptr<int>>(nullptr).ok());
  EXPECT_TRUE(Result<std::string>(std::string{}).ok());
}

TEST(Result, ValueCanBeChangedInPlaceAndMovedOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(1);
  *result.value() = 2;
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 2);
}

TEST(Result, StatusIsASuccessUnlessGivenAnError) {
  EXPECT_TRUE(require_even(2).ok());
  const Status odd = require_even(3);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().message, "odd");
}

TEST(ResultDeathTest, TakingTheWrongSideIsABugOfTheCaller) {
  EXPECT_DEATH((void)parse_digit('x').value(), "check failed");
  EXPECT_DEATH((void)parse_digit('7').error(), "check failed");
  EXPECT_DEATH((void)Status{}.error(), "check failed");
}

}  // namespace
}  // namespace deadheat
