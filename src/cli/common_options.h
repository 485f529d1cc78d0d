// SPDX-License-Identifier: Apache-2.0
// Options that several commands have. Their targets keep their values when the
// option is absent, and must outlive the parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal.h"
#include "report/suppressions.h"

namespace deadheat {

enum class ReportFormat : std::uint8_t { kText, kJson };

// --format
void add_format_option(CLI::App& command, ReportFormat& format);
// --color
void add_colour_option(CLI::App& command, ColourChoice& colour);
// --full-names: of text. JSON has whole names always.
void add_name_option(CLI::App& command);
// --suppressions
void add_suppressions_option(CLI::App& command, std::vector<std::string>& paths);
// Reads all files. Errors: those of Suppressions.
[[nodiscard]] Result<Suppressions> read_suppressions(const std::vector<std::string>& paths);

}  // namespace deadheat
