// SPDX-License-Identifier: Apache-2.0
// Those of us that are in a process already. Two agents in one process would take each other's breakpoints for the
// program's code, and each other's handlers for the program's.
#pragma once

#include <string>
#include <vector>

#include "watch/attach/signal_masks.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"

namespace deadheat::watch {

enum class Company {
  kNone,     // left-overs of others are taken out
  kLeaving,  // let the process go on, and look again in a moment
  kStays,    // `reason` says who it is
};

struct CompanyFound {
  Company what = Company::kNone;
  std::string reason;
};

[[nodiscard]] CompanyFound meet_company(TracedProcess& target, const std::vector<TargetMapping>& mappings,
                                        SignalMasks& masks);

}  // namespace deadheat::watch
