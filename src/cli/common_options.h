// SPDX-License-Identifier: Apache-2.0
// Options that several commands have. Their targets keep their values when the
// option is absent, and must outlive the parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "cli/terminal.h"

namespace deadheat {

enum class ReportFormat : std::uint8_t { kText, kJson };

// --format
void add_format_option(CLI::App& command, ReportFormat& format);
// --color
void add_colour_option(CLI::App& command, ColourChoice& colour);

}  // namespace deadheat
