// SPDX-License-Identifier: Apache-2.0
// Functions that libc calls in a thread of its own, which nobody announces to us
// (SIGEV_THREAD): ours runs in their place, takes over what the event hands on, and
// calls them.
#pragma once

#include <signal.h>

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

struct Notice;
enum class NoticeLife : std::uint8_t { kOnce, kMany };

// Puts ours into the event. nullptr, and the event as it was, without memory. A notice
// that is made for many calls stays for good: libc may be about to call it at any time.
[[nodiscard]] Notice* make_notice(sigevent& event, NoticeLife life);
// Its calls take from this, a tag of kernel_order.h; before the first one.
void name_notice(Notice* notice, std::uint16_t tag);
// It will not be called. nullptr is fine.
void drop_notice(Notice* notice);

// Where libc copies the event to a place that is not ours to change. The thread will be new, and register
// itself: what was given to all such threads comes before it.
void give_to_unannounced(Address code);

}  // namespace deadheat::runtime
