// SPDX-License-Identifier: Apache-2.0
// Recording by single steps.
#include <fmt/format.h>

#include <chrono>

#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/record_session.h"
#include "record/step_recorder.h"

namespace deadheat {

ExitCode record_by_steps(const RecordPlan& plan, RecordingWriter& writer) {
  record::StepCommand command;
  command.words = plan.words;
  command.words.front() = plan.path;
  command.environment = agent_settings(plan);
  command.is_layout_random = true;
  record::StepPlan steps;
  steps.head.program = plan.path;
  steps.head.arguments = plan.words;
  steps.head.backend = name_of(plan.backend);
  steps.period = plan.period;
  steps.functions = plan.functions;
  steps.stack_bytes = plan.stack_bytes;
  const auto begin = std::chrono::steady_clock::now();
  writer.add_clock(record::read_clocks());
  const auto recorder = plan.backend == record::Backend::kSoftwarePt ? make_software_pt_recorder(steps, writer)
                                                                     : make_path_recorder(steps, writer);
  const auto summary = record::step_program(command, *recorder);
  if (recorder->error()) return failed(*recorder->error(), ExitCode::kUsage);
  if (!summary.ok()) return failed(summary.error(), ExitCode::kFailure);
  recorder->finish();
  writer.add_clock(record::read_clocks());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (const Status status = writer.finish(seconds, 0, ""); !status.ok()) print_error(status.error().message);
  say_recorded(plan, seconds, recorder->samples());
  return exit_code(summary.value().exit_code);
}

}  // namespace deadheat
