// SPDX-License-Identifier: Apache-2.0
#include "runtime/unseen_locks.h"

#include <gtest/gtest.h>

#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

class UnseenLocksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    current.runs_unchecked = 1;
    current.state->unseen_locks.count = 0;
  }
  void TearDown() override {
    current.runs_unchecked = 0;
    if (current.state != nullptr) current.state->unseen_locks.count = 0;
  }
};

TEST_F(UnseenLocksTest, AreGivenUpInTheReverseOrder) {
  EXPECT_TRUE(hold_unseen(0x1000, LockMode::kExclusive));
  EXPECT_TRUE(hold_unseen(0x2000, LockMode::kShared));
  EXPECT_FALSE(drop_unseen(0x1000));
  EXPECT_TRUE(drop_unseen(0x2000));
  EXPECT_TRUE(drop_unseen(0x1000));
  EXPECT_FALSE(drop_unseen(0x1000));
}

TEST_F(UnseenLocksTest, RememberHowTheyAreHeld) {
  EXPECT_TRUE(hold_unseen(0x1000, LockMode::kExclusive));
  EXPECT_TRUE(hold_unseen(0x1000, LockMode::kShared));
  const UnseenLocks& own = current.state->unseen_locks;
  ASSERT_EQ(own.count, 2U);
  EXPECT_EQ(own.locks[0], 0x1000U);
  EXPECT_EQ(own.locks[1], 0x1000U | UnseenLocks::kShared);
}

TEST_F(UnseenLocksTest, AreSeenWhenTheListIsFull) {
  for (std::uint32_t lock = 0; lock < UnseenLocks::kMost; ++lock) {
    EXPECT_TRUE(hold_unseen(0x1000 + lock * 64, LockMode::kExclusive));
  }
  EXPECT_FALSE(hold_unseen(0x9000, LockMode::kExclusive));
  EXPECT_EQ(current.state->unseen_locks.count, UnseenLocks::kMost);
}

// The lock may have been taken after a period has begun.
TEST_F(UnseenLocksTest, AreSeenWhenChecksAreAskedForMeanwhile) {
  EXPECT_TRUE(takes_locks_unseen());
  current.runs_unchecked = 0;
  EXPECT_FALSE(hold_unseen(0x1000, LockMode::kExclusive));
  EXPECT_FALSE(takes_locks_unseen());
}

}  // namespace
}  // namespace deadheat::runtime
