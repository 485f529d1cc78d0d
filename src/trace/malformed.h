// SPDX-License-Identifier: Apache-2.0
// The error of every reader of a format: the bytes are not what the format says.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/result.h"

namespace deadheat {

template <class... Arguments>
Error malformed(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {ErrorCode::kMalformed, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

}  // namespace deadheat
