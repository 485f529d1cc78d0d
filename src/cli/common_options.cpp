// SPDX-License-Identifier: Apache-2.0
#include "cli/common_options.h"

#include "cli/choice.h"

namespace deadheat {

void add_format_option(CLI::App& command, ReportFormat& format) {
  add_choice<ReportFormat>(command, "--format", format, {{"text", ReportFormat::kText}, {"json", ReportFormat::kJson}},
                           "text (default) or json");
}

void add_colour_option(CLI::App& command, ColourChoice& colour) {
  add_choice<ColourChoice>(
      command, "--color", colour,
      {{"auto", ColourChoice::kAuto}, {"always", ColourChoice::kAlways}, {"never", ColourChoice::kNever}},
      "auto (default: on a terminal, unless NO_COLOR is set), always or never");
}

}  // namespace deadheat
