// SPDX-License-Identifier: Apache-2.0
#include "support/temp_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace deadheat {

std::string temp_path(std::string_view name) {
  return fmt::format("{}deadheat-{}-{}", testing::TempDir(), getpid(), name);
}

}  // namespace deadheat
