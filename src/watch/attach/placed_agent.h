// SPDX-License-Identifier: Apache-2.0
// The work of putting an agent into a running process and of taking it out again (inject.h says why and how), done by
// whoever traces the process: the keeper (keeper.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "watch/attach/agent_region.h"

namespace deadheat::watch {

struct InjectRequest {
  pid_t process = 0;
  std::string agent;             // path of its library
  std::vector<std::byte> table;  // of sites
  std::string options;           // as agent/settings.h has them
  bool despite_seccomp = false;
};

struct PlacedAgent {
  AgentPlace place;
  pid_t process = 0;
  pid_t agent_thread = 0;
  int channel = -1;  // our end of the socket that the agent tells by; the caller's to close
  // The numbers of calls that are counted, and of threads that were there.
  std::uint64_t call_count = 0;
  std::uint64_t thread_count = 0;
};

// For `watcher`, a process of ours. Errors as InjectedAgent::inject().
[[nodiscard]] Result<PlacedAgent> place_agent(const InjectRequest& request, pid_t watcher);

// Asks the agent to finish and takes it out. A process that has ended is ok. kIo: it stays in memory, idle.
[[nodiscard]] Status withdraw_agent(const PlacedAgent& agent);

}  // namespace deadheat::watch
