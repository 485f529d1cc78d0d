// SPDX-License-Identifier: Apache-2.0
// `deadheat hunt --again RUN`: repeats a run of an earlier hunt with the locks in the
// order in which that run took them, and shows its races in full. How close the
// repetition came is counted: data races that the locks do not order may go either way.
#pragma once

#include <cstdint>
#include <string>

#include "cli/exit_codes.h"
#include "cli/hunt_screen.h"
#include "cli/run_settings.h"

namespace deadheat {

// `directory` is that of the hunt. Says what is wrong; the exit code as for a hunt.
[[nodiscard]] ExitCode hunt_again(std::uint32_t run, const std::string& directory, const HuntScreenOptions& screen,
                                  RunSettings settings);

}  // namespace deadheat
