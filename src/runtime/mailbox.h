// SPDX-License-Identifier: Apache-2.0
// Reports without a system call: memory that is shared with `deadheat run`, for programs whose filter does not let us
// send (confined.h). `deadheat run` looks into it now and then, and when the channel closes.
//
// Packets stand one behind the other (raw_report::kMailboxStep) and are never taken out. A packet is whole when its
// magic number is there, which is written last. A message that does not fit is lost, and counted by who sends.
#pragma once

#include "runtime/raw_report.h"

namespace deadheat::runtime {

// While calls can still be made. Does nothing if there is one, or if there cannot be.
void open_mailbox();
[[nodiscard]] bool has_mailbox();
// False if it is full. The last eighth is kept for reports: a recording does not get it.
enum class KeepRoom : std::uint8_t { kNo, kYes };
[[nodiscard]] bool put_in_mailbox(const raw_report::PacketHeader& packet, KeepRoom keep);

}  // namespace deadheat::runtime
