// SPDX-License-Identifier: Apache-2.0
// What the command line leaves in the memory of a running process beside the agent that it put
// there (attach/inject.h), for the agent's first function and for its own return.
//
// One region of memory holds everything: the agent's code and data, this block, its lists, the table of
// sites, the agent's working memory and its thread's stack. Giving that region back leaves nothing of it.
#pragma once

#include <cstdint>

namespace deadheat::watch {

inline constexpr std::uint32_t kAttachVersion = 2;
inline constexpr char kAttachEntry[] = "deadheat_watch_attach";

// A thread that runs already.
struct AttachThread {
  std::uint32_t system_number = 0;
  std::uint32_t trap_is_blocked = 0;  // as the program wants it; in the kernel it is not
  std::uint64_t thread_pointer = 0;   // the base of its fs
  std::uint64_t stack_begin = 0;
  std::uint64_t stack_end = 0;
};

// A word of a module's table of addresses by which it calls a function that the agent replaces.
struct AttachCall {
  std::uint64_t word = 0;
  std::uint64_t replacement = 0;
  std::uint64_t before = 0;       // by the agent
  std::uint32_t is_writable = 0;  // as it is
  // Stays until the agent is taken out, with all threads stopped: what the function keeps is needed as long as masks
  // in the kernel are not the program's.
  std::uint32_t is_late = 0;
};

// As the kernel wants it of rt_sigaction.
struct KernelAction {
  std::uint64_t handler = 0;
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  std::uint64_t mask = 0;
};

// The settings of signals that the program wants, as the agent keeps them until it is taken out.
struct AttachSignals {
  KernelAction trap_action;
  std::uint32_t needs_restorer = 0;  // the program has set it since: libc's way back is to be filled in
  std::uint32_t reserved = 0;
  // Signals for whose handlers the program wants SIGTRAP to be blocked.
  std::uint64_t masks_with_trap = 0;
};

// Where the agent's records of threads are, and what is where in one.
struct AttachRecords {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t size = 0;
  std::uint32_t is_live_at = 0;          // a byte
  std::uint32_t system_number_at = 0;    // four
  std::uint32_t trap_is_blocked_at = 0;  // a byte
  std::uint32_t reserved = 0;
};

// kReady: the functions of the agent may be called; until then all threads but its own stand still.
enum class AttachState : std::uint32_t { kStarting, kReady, kWatching, kFinished };

struct AttachBlock {
  std::uint32_t version = kAttachVersion;
  std::int32_t socket = -1;
  std::uint64_t table = 0;  // of site_table.h
  std::uint64_t table_size = 0;
  std::uint64_t scratch = 0;  // zeroed, for the agent
  std::uint64_t scratch_size = 0;
  std::uint64_t threads = 0;
  std::uint64_t thread_count = 0;
  std::uint64_t calls = 0;
  std::uint64_t call_count = 0;
  char options[256] = {};
  // By the command line: the agent is to finish.
  std::uint32_t is_over = 0;
  std::uint64_t masks_with_trap = 0;  // as it was: see AttachSignals
  // By the agent. When it has finished nothing of the program leads to it any more but the late words and the action
  // for SIGTRAP, which is to become that of `signals` when no trap can be on its way.
  AttachState state = AttachState::kStarting;
  std::uint64_t signals = 0;  // of AttachSignals
  AttachRecords records;
};

inline constexpr std::uint64_t kActionHasRestorer = 0x04000000;

}  // namespace deadheat::watch
