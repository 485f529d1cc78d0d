// SPDX-License-Identifier: Apache-2.0
// The words that an option takes, each with what it stands for.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace deadheat {

template <class Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

}  // namespace deadheat
