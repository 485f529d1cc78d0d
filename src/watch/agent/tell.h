// SPDX-License-Identifier: Apache-2.0
// Packets to the command line, by the agent's thread, which alone has the socket, or by the main thread before there is
// that one. A full socket loses the packet, which is counted. Collisions are kept by handlers until the
// agent's thread sends them.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "watch/agent/settings.h"
#include "watch/watch_packet.h"

namespace deadheat::watch {

// False if it is no socket.
bool open_socket(int descriptor);
void close_socket();
// In the agent's thread, which has a copy of the program's descriptors: closes all but the socket.
void keep_only_socket();
// In the program: the agent's thread has it. In a child of fork it is nobody's.
void give_socket_away();
void forget_socket();
// The command line has gone.
[[nodiscard]] bool socket_is_dead();

void tell_hello(std::uint64_t start_ns, std::uint32_t modules, std::uint32_t sites);
void tell_modules();
void tell_message(const char* text, const char* more = "");
void tell_progress(std::uint64_t elapsed_ns, const Settings& settings);
void tell_bye();

// The two sides of a collision; the same pair of instructions at most three times as a suspect
// and three times confirmed.
struct CollisionFacts {
  const WatchedAccess* sampled;
  const WatchedAccess* tripped;
  const StackCopy* sampled_stack;
  const ucontext_t* tripped_context;
  bool is_confirmed;
  bool is_same_stretch;
  std::uint64_t value_before;
  std::uint64_t value_after;
};
// By handlers. One too many at once is lost.
void tell_collision(const CollisionFacts& facts);
void send_collisions();

void reset_tell_locks();

}  // namespace deadheat::watch
