// SPDX-License-Identifier: Apache-2.0
// Packets to the command line. Any thread, also in the handler: a full socket loses the
// packet, which is counted.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "watch/watch_packet.h"

namespace deadheat::watch {

// Takes the descriptor away to a high number. False if it is no socket.
bool open_socket(int descriptor);
void close_socket();
// The command line has gone.
[[nodiscard]] bool socket_is_dead();

void tell_hello(std::uint64_t start_ns, std::uint32_t modules, std::uint32_t sites);
void tell_modules();
void tell_message(const char* text, const char* more = "");
void tell_progress(std::uint64_t elapsed_ns);
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
void tell_collision(const CollisionFacts& facts);

void reset_tell_locks();

}  // namespace deadheat::watch
