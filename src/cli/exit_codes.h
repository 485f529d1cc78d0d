// SPDX-License-Identifier: Apache-2.0
// What the exit status of `deadheat` means. Scripts rely on it; the help text
// repeats it.
#pragma once

namespace deadheat {

enum class ExitCode : int {
  kSuccess = 0,      // done, and no race was found
  kFailure = 1,      // the input is bad or the machine refused; stderr says which
  kUsage = 2,        // the command line makes no sense
  kNothingSeen = 3,  // done, but nothing was looked at: says nothing about races
  kRacesFound = 66,  // done, and races were found; the number that TSan uses
};

}  // namespace deadheat
