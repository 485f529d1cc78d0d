// SPDX-License-Identifier: Apache-2.0
// How this `deadheat` was built, for `deadheat --version`. cmake/BuildFacts.cmake writes the
// source at each build, so that the commit is the one that was built.
#pragma once

namespace deadheat {

// Whole lines, the first "deadheat 1.2.3".
extern const char kBuildFacts[];

}  // namespace deadheat
