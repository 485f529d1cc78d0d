// SPDX-License-Identifier: Apache-2.0
// InjectedAgent: the agent in a process that runs already, from its arrival to its departure.
//
// The usual way, to make a thread of the process call dlopen(), needs a moment in which that thread holds no lock of
// malloc or the loader, and leaves traces. Instead the agent's library is placed by us (agent_image.h) into one region
// of memory that the process maps at our request, and starts as a thread of its own that libc does not know. Nothing of
// libc is called, so that any moment will do; nothing is read from the process's files, so that containers and deleted
// programs make no difference; and giving the region back leaves the process's memory as it was.
//
// Calls of synchronisation are counted by changing the words by which the process's modules call them
// (target_modules.h).
//
// The way back: the agent takes out its breakpoints and puts back all words; then, with all threads stopped, we look
// whether any stands in the agent or would return into it. If none does, SIGTRAP is given back and the region is
// unmapped. If our process is killed the agent notices and cleans up; it stays in memory, idle, as it cannot unmap
// itself.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace deadheat::watch {

struct InjectRequest {
  pid_t process = 0;
  std::string agent;             // path of its library
  std::vector<std::byte> table;  // of sites
  std::string options;           // as agent/settings.h has them
  bool despite_seccomp = false;
};

class InjectedAgent {
 public:
  // kIo, with what to do: the process may not be traced, or refuses what the agent needs. kInvalid: it runs
  // under a filter of system calls that could end it. The process is as it was then.
  [[nodiscard]] static Result<std::unique_ptr<InjectedAgent>> inject(const InjectRequest& request);
  ~InjectedAgent();
  InjectedAgent(const InjectedAgent&) = delete;
  InjectedAgent& operator=(const InjectedAgent&) = delete;

  // Our end of the socket that the agent tells by (watch_packet.h).
  [[nodiscard]] int channel() const { return channel_; }
  // Of calls that are counted, and of threads that were there.
  [[nodiscard]] std::size_t call_count() const { return call_count_; }
  [[nodiscard]] std::size_t thread_count() const { return thread_count_; }

  // Asks the agent to finish: it says farewell on the channel within a second.
  void ask_to_finish();
  // After that, or when the channel is closed: takes the agent out. Nothing is left of it if this is ok; kIo: it
  // stays in memory, idle, and the sentence says why. A process that has ended is ok.
  [[nodiscard]] Status withdraw();

 private:
  InjectedAgent() = default;
  [[nodiscard]] Status try_to_unmap(bool& is_done, std::string& obstacle);

  pid_t process_ = 0;
  int channel_ = -1;
  pid_t agent_thread_ = 0;
  std::uint64_t region_ = 0;
  std::uint64_t region_size_ = 0;
  std::uint64_t code_begin_ = 0;
  std::uint64_t code_end_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t system_call_ = 0;  // an instruction
  std::size_t call_count_ = 0;
  std::size_t thread_count_ = 0;
  std::vector<pid_t> blocked_trap_;  // threads that had SIGTRAP blocked
};

}  // namespace deadheat::watch
