// SPDX-License-Identifier: Apache-2.0
#include "core/version_epoch.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

TEST(VersionEpoch, IsNullUntilItNamesAVersion) {
  EXPECT_TRUE(VersionEpoch{}.is_null());
  EXPECT_FALSE((VersionEpoch{ThreadSlot{0}, 1}).is_null());
}

TEST(VersionVector, RemembersTheLatestVersionOfEachSlot) {
  BasicVersionVector<> versions;
  EXPECT_EQ(versions.of(ThreadSlot{9}), 0U);
  versions.raise({ThreadSlot{9}, 5});
  versions.raise({ThreadSlot{2}, 7});
  versions.raise({ThreadSlot{9}, 3});  // older
  versions.raise({});
  EXPECT_EQ(versions.of(ThreadSlot{9}), 5U);
  EXPECT_EQ(versions.of(ThreadSlot{2}), 7U);
  EXPECT_EQ(versions.of(ThreadSlot{0}), 0U);
  versions.reset();
  EXPECT_EQ(versions.of(ThreadSlot{9}), 0U);
}

}  // namespace
}  // namespace deadheat
