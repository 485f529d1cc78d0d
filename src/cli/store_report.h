// SPDX-License-Identifier: Apache-2.0
// `deadheat report` without a file: the races of the store, in every form that a run's have.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/live_output.h"
#include "cli/race_selection.h"

namespace deadheat {

ExitCode report_store(const LiveOutputOptions& options, const std::vector<std::string>& suppressions,
                      const RaceSelection& selection);

}  // namespace deadheat
