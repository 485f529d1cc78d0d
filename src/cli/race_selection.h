// SPDX-License-Identifier: Apache-2.0
// Which races of the store a command is about: --state, --since, --new-only, --kind, --mode, --run,
// --text.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace deadheat {

struct RaceSelection {
  std::string state;  // empty: open; "all": any
  std::string kind;
  std::string mode;
  std::string run;
  std::string text;
  std::optional<std::string> since;
  bool new_only = false;
};

void add_race_selection(CLI::App& command, RaceSelection& selection);

// A time as people say it: "2h" or "7d" ago, "2026-11-17", "2026-11-17 22:20" (UTC), or a run of the
// store, whose beginning it is. Errors: kInvalid; those of Store.
[[nodiscard]] Result<Microseconds> parse_since(const std::string& text, Store& store);

// Errors: those of parse_since() and Store::run().
[[nodiscard]] Result<RaceFilter> filter_of(const RaceSelection& selection, Store& store);

}  // namespace deadheat
