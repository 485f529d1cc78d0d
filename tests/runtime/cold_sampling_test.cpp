// SPDX-License-Identifier: Apache-2.0
#include "runtime/cold_sampling.h"

#include <gtest/gtest.h>

#include "runtime/access_hooks.h"
#include "runtime/on_access.h"
#include "runtime/on_thread.h"
#include "runtime/shadow_memory.h"
#include "runtime/stand_in.h"

namespace deadheat::runtime {
namespace {

constexpr Address kCall = 0x1000;
constexpr Address kHot = 0x2000;   // a function that is called again and again
constexpr Address kCold = 0x3000;  // and one that is not
constexpr Address kAccess = 0x4000;

void call(Address function) {
  const bool is_open = push_frame(kCall) || enter_call(kCall, function);
  EXPECT_TRUE(is_open);
}
void end_call() {
  if (!pop_frame()) leave_call();
}

bool is_recorded(Address word) { return cell_of(word)->entries[0].load() != 0; }

// In a thread of its own, which has begun no call yet.
class ColdSamplingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    follows_calls = true;
  }
  ~ColdSamplingTest() override { follows_calls = false; }

  // With a call open that is not sampled.
  static void in_blind_call(const std::function<void()>& body) {
    run_threads(1, [&](int) {
      follow_call();
      for (int count = 0; count < 10; ++count) {
        call(kHot);
        EXPECT_FALSE(is_blind()) << count;
        end_call();
      }
      call(kHot);
      EXPECT_TRUE(is_blind());
      body();
    });
  }
};

TEST_F(ColdSamplingTest, AccessesOfABlindCallLeaveNothing) {
  WatchedWords words(4);
  in_blind_call([&] {
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(0)), kAccess);
    access<AccessKind::kRead, 4>(reinterpret_cast<void*>(words.address(0) + 2), kAccess);  // not aligned
    access_across<AccessKind::kWrite, 16>(reinterpret_cast<void*>(words.address(1) + 4), kAccess);
    on_write(reinterpret_cast<void*>(words.address(0)), 32, kAccess);
    for (std::size_t index = 0; index < words.size(); ++index) EXPECT_FALSE(is_recorded(words.address(index)));
  });
}

TEST_F(ColdSamplingTest, AtomicsAndFreeAreSeenInABlindCall) {
  WatchedWords words(2);
  in_blind_call([&] {
    {
      const RuntimeScope scope;
      check_atomic(*current.state, AccessKind::kAtomicWrite, words.address(0), 8, kAccess);
    }
    on_range(*current.state, AccessKind::kFree, words.address(1), 8, kAccess);
    EXPECT_TRUE(is_recorded(words.address(0)));
    EXPECT_TRUE(is_recorded(words.address(1)));
  });
}

TEST_F(ColdSamplingTest, ANewEpochStaysBlind) {
  WatchedWords words(1);
  in_blind_call([&] {
    current.state->clock.advance();
    renew_epoch(*current.state);
    EXPECT_TRUE(is_blind());
    EXPECT_TRUE(passes(*cell_to_check(words.address(0)), AccessKind::kWrite, 0xff));
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(0)), kAccess);
    EXPECT_FALSE(is_recorded(words.address(0)));
  });
}

TEST_F(ColdSamplingTest, EachCallIsLookedAtAsItsOwnFunctionSays) {
  WatchedWords words(2);
  in_blind_call([&] {
    call(kCold);
    EXPECT_FALSE(is_blind());
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(0)), kAccess);
    EXPECT_TRUE(is_recorded(words.address(0)));
    end_call();
    EXPECT_TRUE(is_blind());
    end_call();
    EXPECT_FALSE(is_blind()) << "no call is open";
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(1)), kAccess);
    EXPECT_TRUE(is_recorded(words.address(1)));
    end_call();
    EXPECT_EQ(current.top, current.state->frames + 1) << "one too many changes nothing";
  });
}

TEST_F(ColdSamplingTest, UnwindingGoesBackToWhatTheCallSays) {
  in_blind_call([&] {
    Frame* const blind = open_calls();
    call(kCold);
    Frame* const cold = open_calls();
    for (int count = 0; count < 5; ++count) call(kHot);
    EXPECT_TRUE(is_blind());
    unwind_calls(cold);
    EXPECT_FALSE(is_blind());
    unwind_calls(blind);
    EXPECT_TRUE(is_blind());
    unwind_calls(current.state->frames + 1);
    EXPECT_FALSE(is_blind());
  });
}

TEST_F(ColdSamplingTest, AFiberHasCallsOfItsOwn) {
  in_blind_call([&] {
    ThreadState& self = *current.state;
    ThreadState* const fiber = registry().add(&self, 0, 0);
    self.saved_top = current.top;
    activate(*fiber);
    EXPECT_FALSE(is_blind());
    activate(self);
    EXPECT_TRUE(is_blind());
    SpinHolder hold(registry().lock);
    registry().remove(fiber);
  });
}

TEST_F(ColdSamplingTest, CallsAreCountedAlsoThoseOfThreadsThatAreGone) {
  const raw_report::ColdCalls before = cold_call_totals();
  in_blind_call([] {});
  const raw_report::ColdCalls after = cold_call_totals();
  EXPECT_EQ(after.calls - before.calls, 11U);
  EXPECT_EQ(after.sampled_calls - before.sampled_calls, 10U);
}

// The last one: it is given up for good.
TEST_F(ColdSamplingTest, CodeWithoutCallsEndsIt) {
  WatchedWords words(2);
  in_blind_call([&] {
    __deadheat_inline_frames();
    EXPECT_FALSE(is_blind());
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(0)), kAccess);
    EXPECT_TRUE(is_recorded(words.address(0)));
    end_call();
    EXPECT_EQ(current.top, current.state->frames + 1);
    for (int count = 0; count < 20; ++count) call(kHot);
    EXPECT_EQ(current.top, current.state->frames + 21);
    access<AccessKind::kWrite, 8>(reinterpret_cast<void*>(words.address(1)), kAccess);
    EXPECT_TRUE(is_recorded(words.address(1)));
  });
}

}  // namespace
}  // namespace deadheat::runtime
