// SPDX-License-Identifier: Apache-2.0
// `deadheat analyze DIR`: the races of what `deadheat record` has recorded. Of perf.data, which
// has no log of synchronisation, only what could be rebuilt.
#pragma once

#include <functional>
#include <string>

#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/detector.h"
#include "report/analysis.h"
#include "report/suppressions.h"

namespace deadheat {

struct RecordingChoices {
  DetectorKind detector = DetectorKind::kFastTrack;
  ReportFormat format = ReportFormat::kText;
  ColourChoice colour = ColourChoice::kAuto;
  bool has_stats = false;
  bool is_single_block = false;
  bool is_raw = false;
  bool shows_suspects = false;
  Suppressions suppressions;
  // What becomes of the races besides the report, after so many seconds; yields the exit code.
  std::function<ExitCode(const Analysis&, double seconds)> deliver;
};

// What `deadheat record` or `perf record` wrote.
[[nodiscard]] bool is_recorded_run(const std::string& path);

[[nodiscard]] ExitCode analyze_recording(const std::string& directory, const RecordingChoices& choices, Output output);

}  // namespace deadheat
