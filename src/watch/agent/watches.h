// SPDX-License-Identifier: Apache-2.0
// Watches: sampled accesses whose memory other threads' breakpoints guard.
//
// free -> taken -> asked    by the thread that is about to access, in its handler
// asked -> taken -> free    by the same thread, when it has stood long enough for nothing
// asked -> arming -> live   by the agent's thread, when the breakpoints are there
// live -> closing -> free   by the agent's thread, when the sampled thread does not stand any more
//
// The sampled thread stands before its access while `standing` is not 0. Whoever trips then has
// proved a race: the access of the sampled thread is yet to come, so nothing that it does can
// be ordered before the trip; and between the trip and its access it acquires nothing, so the
// trip is not ordered before the access either. Otherwise, the same clock as when it was
// sampled makes a suspect: no call of synchronisation came between (a clock race of CRSampler); atomics may
// have, which is why it is no more than that.
//
// Who trips may be late: the generation in its trap tells the watch it is about. A reader pins
// the watch, and the agent's thread waits for pins before it frees one.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "watch/agent/settings.h"
#include "watch/agent/threads.h"
#include "watch/watch_packet.h"

namespace deadheat::watch {

enum class WatchPhase : std::uint32_t { kFree, kTaken, kAsked, kArming, kLive, kClosing };

struct Watch {
  std::atomic<WatchPhase> phase;
  std::atomic<std::uint32_t> standing;  // 0, 1, or 2: somebody tripped
  std::atomic<std::uint32_t> pins;
  std::atomic<std::uint64_t> generation;
  std::atomic<bool> is_done;  // is to be closed before its time
  // Written by the sampled thread while it is taken.
  ThreadRecord* thread;
  std::uint64_t clock;
  std::uint32_t site;
  std::uint64_t value;
  WatchedAccess access;
  StackCopy stack;
  // Of the agent's thread.
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t event_count;
  int events[kMostArmed];
};

void prepare_watches(const Settings& settings);

// In the handler, before the access of the site: sets a watch if budget and slots allow.
void on_sampled(ThreadRecord& self, std::uint32_t site, Address code, const ucontext_t& context);

// In the handler, after an access that tripped a breakpoint; `data` as it was set.
void on_trip(ThreadRecord& self, std::uint64_t data, const ucontext_t& context);
[[nodiscard]] bool is_our_trip(std::uint64_t data);

// By the agent's thread: sets breakpoints for those that ask, and closes what is over. Returns when the next one will
// be, or ~0.
std::uint64_t serve_watches(std::uint64_t now);
void close_all_watches();
[[nodiscard]] std::uint32_t free_slots();
// Of the agent's thread: breakpoints are enabled.
[[nodiscard]] bool is_any_live();

// Whether it was watched at most half as often as those that were watched at all.
[[nodiscard]] bool is_rarely_watched(std::uint32_t site);

// Whether one more stall is paid for.
[[nodiscard]] bool can_stall();
[[nodiscard]] bool can_stall_twice();

// By the agent's thread: sites that are to be armed first, when a stall is paid for. Returns how many it wrote.
std::uint32_t nominated_sites(std::uint32_t* indices, std::uint32_t limit);

// The data of a trap of the second sampler.
inline constexpr std::uint64_t kClockData = std::uint64_t{0xdead} << 48 | 0xff;

// What a trap cost besides what the handler can measure: entering and leaving it.
inline constexpr std::uint64_t kInt3Cost = 3 * kMicrosecond;
inline constexpr std::uint64_t kTripCost = 12 * kMicrosecond;
// Of a running thread, for a breakpoint that another one sets in it or takes away: interrupts of its processor.
inline constexpr std::uint64_t kArmCost = 6 * kMicrosecond;

}  // namespace deadheat::watch
