// SPDX-License-Identifier: Apache-2.0
// AgentRegion: the one region of memory in which an agent lives in a running process (inject.h): where its parts are,
// and how the next one that comes finds it.
//
// A page of code in it begins with the few instructions that start the agent's thread, and has a mark after them, by
// which the region is known: a process may have one whose `deadheat` was killed, or inherited from its parent.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/attach_block.h"

namespace deadheat::watch {

struct RegionLayout {
  std::uint64_t stub = 0;
  std::uint64_t block = 0;
  std::uint64_t threads = 0;
  std::uint64_t calls = 0;
  std::uint64_t table = 0;
  std::uint64_t scratch = 0;
  std::uint64_t scratch_size = 0;
  std::uint64_t stack_end = 0;
  std::uint64_t size = 0;
};

inline constexpr std::uint64_t kRegionPage = 4096;

// From the beginning of the region, which the agent's image has.
[[nodiscard]] RegionLayout lay_out_region(std::uint64_t image, std::size_t threads, std::size_t calls,
                                          std::size_t table);

// The owner of an agent in a process, who put it there: for whoever wants to put another one there.
struct AgentOwner {
  pid_t watcher = 0;  // the command
  pid_t keeper = 0;   // who takes the agent out when the command is killed
  std::uint64_t watcher_start = 0;
  std::uint64_t keeper_start = 0;
  pid_t process = 0;  // whose agent it is: a child of it has a copy
  char command[132] = {};
};

// Where a region is, as the mark in it says.
struct AgentPlace {
  std::uint64_t region = 0;
  std::uint64_t region_size = 0;
  std::uint64_t code_begin = 0;
  std::uint64_t code_end = 0;
  std::uint64_t block = 0;
  std::uint64_t system_call = 0;  // an instruction of the process's
  AgentOwner owner;
};

// The page of code: it starts a thread in `entry`, with `place.block`.
[[nodiscard]] std::vector<std::byte> make_stub_page(const AgentPlace& place, std::uint64_t entry);

// All that are in a process, with the places that this deadheat understands.
[[nodiscard]] std::vector<AgentPlace> agents_in(const TracedProcess& target,
                                                const std::vector<TargetMapping>& mappings);

// When the process began; 0 if there is none.
[[nodiscard]] std::uint64_t start_time_of(pid_t process);
[[nodiscard]] AgentOwner describe_owner(pid_t process, pid_t watcher);
// They live, and their numbers are not somebody else's by now.
[[nodiscard]] bool watcher_lives(const AgentOwner& owner);
[[nodiscard]] bool keeper_lives(const AgentOwner& owner);

}  // namespace deadheat::watch
