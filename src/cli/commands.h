// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each adds itself to the command line and, when it was named,
// runs from its callback and leaves its exit code in `result`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/exit_codes.h"

namespace deadheat {

void add_run_command(CLI::App& app, ExitCode& result);
// Before the parsing: CLI11 would take a "--" of `run` and its kin for its own.
void keep_double_dash(int argument_count, char** arguments);
void add_hunt_command(CLI::App& app, ExitCode& result);
void add_watch_command(CLI::App& app, ExitCode& result);
void add_record_command(CLI::App& app, ExitCode& result);
void add_report_command(CLI::App& app, ExitCode& result);
void add_serve_command(CLI::App& app, ExitCode& result);
void add_races_command(CLI::App& app, ExitCode& result);
void add_tune_command(CLI::App& app, ExitCode& result);
void add_analyze_command(CLI::App& app, ExitCode& result);

// `cc` and `c++`, for the list of commands only: compile.h runs them before the
// command line is parsed.
void add_compile_commands(CLI::App& app);
void add_doctor_command(CLI::App& app, ExitCode& result);

// What the command line says about itself; last, because the others must be there.
void add_completion_command(CLI::App& app, ExitCode& result);
void add_man_command(CLI::App& app, ExitCode& result);

// Below `trace`.
void add_trace_check_command(CLI::App& trace, ExitCode& result);
void add_trace_stats_command(CLI::App& trace, ExitCode& result);
void add_trace_convert_command(CLI::App& trace, ExitCode& result);
void add_trace_generate_command(CLI::App& trace, ExitCode& result);

}  // namespace deadheat
