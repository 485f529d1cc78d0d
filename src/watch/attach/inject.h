// SPDX-License-Identifier: Apache-2.0
// InjectedAgent: the agent in a process that runs already, from its arrival to its departure.
//
// The usual way, to make a thread of the process call dlopen(), needs a moment in which that thread holds no lock of
// malloc or the loader, and leaves traces. Instead the agent's library is placed by us (agent_image.h) into one region
// of memory (agent_region.h) that the process maps at our request, and starts as a thread of its own that libc does not
// know. Nothing of libc is called, so that any moment will do but a few (signal_masks.h); nothing is read from the
// process's files, so that containers and deleted programs make no difference; and giving the region back leaves the
// process's memory as it was.
//
// Calls of synchronisation are counted by changing the words by which the process's modules call them
// (call_table.h).
//
// The way back: the agent takes out its breakpoints and puts back all words; then, with all threads stopped, we look
// whether any stands in the agent or would return into it. If none does, SIGTRAP is given back and the region is
// unmapped (remove_agent.h).
//
// All of that is done by a process of its own, the keeper: when the command line is killed, in the middle of it or
// later, the keeper finishes what it does and takes the agent out. If the keeper is killed as well, the agent notices,
// cleans up and stays in memory, idle, until the next one comes and removes it (company.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "watch/attach/placed_agent.h"

namespace deadheat::watch {

class InjectedAgent {
 public:
  // kIo, with what to do: the process may not be traced, or refuses what the agent needs. kInvalid: it runs
  // under a filter of system calls that could end it, or is watched already. The process is as it was then. Makes a
  // child by fork: our process has one thread.
  [[nodiscard]] static Result<std::unique_ptr<InjectedAgent>> inject(const InjectRequest& request);
  // Without withdraw(): the keeper does it.
  ~InjectedAgent();
  InjectedAgent(const InjectedAgent&) = delete;
  InjectedAgent& operator=(const InjectedAgent&) = delete;

  // Our end of the socket that the agent tells by (watch_packet.h).
  [[nodiscard]] int channel() const { return agent_.channel; }
  // Of calls that are counted, and of threads that were there.
  [[nodiscard]] std::size_t call_count() const { return agent_.call_count; }
  [[nodiscard]] std::size_t thread_count() const { return agent_.thread_count; }

  // Asks the agent to finish: it says farewell on the channel within a second.
  void ask_to_finish();
  // After that, or when the channel is closed: takes the agent out. Nothing is left of it if this is ok; kIo: it
  // stays in memory, idle, and the sentence says why. A process that has ended is ok.
  [[nodiscard]] Status withdraw();

 private:
  InjectedAgent() = default;
  void close_channel();
  void end_keeper();

  PlacedAgent agent_;
  int keeper_socket_ = -1;
  pid_t keeper_ = -1;
};

}  // namespace deadheat::watch
