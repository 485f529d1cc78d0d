// SPDX-License-Identifier: Apache-2.0
// The keeper: a child process that puts the agent into a process, waits, and takes it out again.
//
// While a thread of the process makes system calls for us its registers are ours, and a SIGKILL of the tracer would
// leave them so. Nobody kills the keeper by killing the command line: it has a name and a session of its own and takes
// no other signals. When the command line has gone, however that came, the keeper withdraws the agent and ends.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "watch/attach/placed_agent.h"

namespace deadheat::watch {

// The news that the keeper tells when the agent is there, and when it has gone.
struct KeeperNews {
  int is_ok = 0;
  int error_code = 0;
  PlacedAgent agent;
  char message[1024] = {};
};

// In the child; `socket` is its end of a pair of SOCK_SEQPACKET. One news after the agent was placed, with the
// channel; then anything that is received asks for the withdrawal, with one news after it. Never returns.
[[noreturn]] void keep_agent(const InjectRequest& request, pid_t watcher, int socket);

// In the parent. False: the keeper is gone.
[[nodiscard]] bool receive_news(int socket, KeeperNews& news);

}  // namespace deadheat::watch
