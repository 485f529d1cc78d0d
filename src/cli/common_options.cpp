// SPDX-License-Identifier: Apache-2.0
#include "cli/common_options.h"

#include "cli/choice.h"
#include "report/describe.h"

namespace deadheat {

void add_format_option(CLI::App& command, ReportFormat& format) {
  add_choice<ReportFormat>(command, "--format", format, {{"text", ReportFormat::kText}, {"json", ReportFormat::kJson}},
                           "text (default) or json, on standard output");
}

void add_colour_option(CLI::App& command, ColourChoice& colour) {
  add_choice<ColourChoice>(
      command, "--color", colour,
      {{"auto", ColourChoice::kAuto}, {"always", ColourChoice::kAlways}, {"never", ColourChoice::kNever}},
      "auto (default: on a terminal, unless NO_COLOR is set), always or never");
}

void add_name_option(CLI::App& command) {
  command.add_flag_callback(
      "--full-names", [] { set_name_style(NameStyle::kWhole); },
      "Whole names of the standard library's types in text, with allocators and the like");
}

void add_suppressions_option(CLI::App& command, std::vector<std::string>& paths) {
  command.add_option("--suppressions", paths, "Races not to report, in TSan's syntax; may be given several times")
      ->allow_extra_args(false)
      ->option_text("FILE");
}

Result<Suppressions> read_suppressions(const std::vector<std::string>& paths) {
  Suppressions suppressions;
  for (const std::string& path : paths) {
    if (Status status = suppressions.add_file(path); !status.ok()) return status.error();
  }
  return suppressions;
}

}  // namespace deadheat
