// SPDX-License-Identifier: Apache-2.0
// What the agent of `deadheat watch` tells: packets of fixed layout on a SOCK_SEQPACKET
// socket, the agent's end of which is inherited (its number is in DEADHEAT_WATCH_SOCKET) or
// connected to. The command line turns them into findings.
#pragma once

#include <cstdint>

namespace deadheat::watch {

inline constexpr std::uint32_t kWatchPacketVersion = 3;
inline constexpr std::uint32_t kWatchFrames = 32;

enum class PacketKind : std::uint32_t { kHello = 1, kModules, kCollision, kProgress, kMessage, kBye };

struct PacketHead {
  PacketKind kind = PacketKind::kHello;
  std::uint32_t version = kWatchPacketVersion;
  std::uint32_t process = 0;
  std::uint32_t size = 0;  // of the whole packet
};

// The agent is at work: the first packet.
struct Hello {
  PacketHead head;
  std::uint64_t start_ns = 0;  // that the agent took until then
  std::uint32_t modules = 0;   // of the table, that the program has loaded
  std::uint32_t sites = 0;     // that can be sampled
};

// Files with code that are loaded; again when there are more. `lines` ends with a 0 and has for each
// file "BEGIN END PATH\n", from its lowest to its highest address, in hexadecimal digits.
inline constexpr std::uint32_t kModuleText = 8000;
struct Modules {
  PacketHead head;
  char lines[kModuleText] = {};  // the packet is cut off after the 0
};

// Something that the user should know.
struct Message {
  PacketHead head;
  char text[240] = {};
};

// One of the two accesses.
struct WatchedAccess {
  std::uint64_t code = 0;  // address of the instruction
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint32_t flags = 0;   // of site_table.h; for a trip of unknown kind both kReads and kWrites
  std::uint32_t thread = 0;  // as the system numbers it
  std::uint32_t frame_count = 0;
  char thread_name[16] = {};
  std::uint64_t frames[kWatchFrames] = {};  // return addresses, innermost first, without `code`
};

// A piece of a thread's stack and its registers, from which the command line finds the callers by the program's
// unwind tables: frames of code without frame pointers cannot be walked in a signal handler.
inline constexpr std::uint32_t kStackCopy = 16 * 1024;
struct StackCopy {
  std::uint64_t registers[17] = {};  // as debug information numbers them: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, rip
  std::uint32_t size = 0;            // of `bytes`, from where rsp points on
  std::uint32_t reserved = 0;
  std::uint8_t bytes[kStackCopy] = {};
};

// Another thread touched memory that was watched for a sampled access.
struct Collision {
  PacketHead head;
  std::uint8_t is_confirmed = 0;     // the sampled thread was stopped before its access: a race
  std::uint8_t is_same_stretch = 0;  // the sampled thread had not synchronised since: a suspect
  std::uint8_t reserved[6] = {};
  std::uint64_t time_ns = 0;       // CLOCK_REALTIME
  std::uint64_t value_before = 0;  // of up to 8 bytes at the address
  std::uint64_t value_after = 0;
  WatchedAccess sampled;
  WatchedAccess tripped;
  StackCopy sampled_stack;
  StackCopy tripped_stack;
};

// Totals so far, sent every half second and at the end.
struct Progress {
  PacketHead head;
  std::uint64_t elapsed_ns = 0;
  std::uint64_t sites = 0;          // that can be sampled
  std::uint64_t sites_covered = 0;  // of them, at which a watch was set
  std::uint64_t hits = 0;           // of sampled instructions
  std::uint64_t watches = 0;
  std::uint64_t trips = 0;
  std::uint64_t suspects = 0;
  std::uint64_t stalls = 0;
  std::uint64_t confirmed = 0;
  std::uint64_t stalled_ns = 0;
  std::uint64_t longest_stall_ns = 0;
  std::uint64_t agent_ns = 0;      // processor time that handlers, the agent's thread and setting breakpoints took
  std::uint64_t slow_ns = 0;       // that the program took longer while breakpoints were enabled, by an estimate
  std::uint64_t processor_ns = 0;  // of the process
  std::uint64_t watched_ns = 0;    // sum over watches
  std::uint64_t threads = 0;
  std::uint64_t lost = 0;  // collisions that could not be sent
  // The budget that may be spent: watches a second, and millionths of processor_ns.
  std::uint64_t rate = 0;
  std::uint64_t stall_share = 0;
  std::uint64_t cpu_share = 0;
  // The time that is given at the start, beyond these shares: nanoseconds.
  std::uint64_t given_stalled_ns = 0;
  std::uint64_t given_agent_ns = 0;
};

}  // namespace deadheat::watch
