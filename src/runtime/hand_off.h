// SPDX-License-Identifier: Apache-2.0
// The way out of the process for packets (raw_report.h): to the `deadheat run`
// that launched us, over the descriptor named in the environment, or to a file.
//
// A packet is one message, written by one system call, so it is either there or
// not, whatever happens to the process next. The program may close or reuse the
// descriptor; it is compared with what it was at start before each write, and
// when it is not ours any more a file takes over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/raw_report.h"

namespace deadheat::runtime {

// Finds the way out. Called once, early.
void open_hand_off();

enum class HandOff : std::uint8_t { kSent, kFailed };
// The whole packet; the header is filled in here except for its kind and size.
HandOff send_packet(raw_report::PacketHeader* packet);
// With a descriptor, or without if that is negative. To the listener only.
HandOff send_with_descriptor(raw_report::PacketHeader* packet, int descriptor);

// Whether `deadheat run` is listening.
[[nodiscard]] bool has_listener();

// The descriptor is not the program's: interceptors keep it out of the program's
// hands. False when there is none.
[[nodiscard]] bool is_listener(int descriptor);
[[nodiscard]] int listener_descriptor();
// The program wants the number for something else.
void move_listener();

void send_hello();
void send_notice(const char* text);

// With halt_on_error and a listener: waits for its word whether the finding just
// sent counts (is not suppressed). A program with suppressions of its own goes on
// until the listener ends it.
[[nodiscard]] bool listener_wants_halt();

// In the child of a fork.
void reopen_hand_off();

}  // namespace deadheat::runtime
