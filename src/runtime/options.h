// SPDX-License-Identifier: Apache-2.0
// Options of the runtime: read once, before the first event, from DEADHEAT_OPTIONS
// and, for the names both know, TSAN_OPTIONS. An unknown name or a value that
// makes no sense is said once on standard error and otherwise ignored: the
// user's program goes on.
#pragma once

#include <cstdint>

namespace deadheat::runtime {

struct Options {
  using Flag = bool;
  using Number = std::int64_t;
  using Bytes = std::uint64_t;
  using Text = const char*;  // lives as long as the process
#define DEADHEAT_OPTION(type, name, default_value, meaning) type name = default_value;
#include "runtime/options.def"
#undef DEADHEAT_OPTION
};

// Valid from read_options() on; the defaults before.
[[nodiscard]] const Options& options();

// Reads the environment without allocating from the program's heap.
void read_options();

// One setting "name=value" or several with ':' or spaces between; values with
// either inside stand in quotes. `source` names them in complaints.
void apply_settings(Options& target, const char* settings, const char* source);

}  // namespace deadheat::runtime
