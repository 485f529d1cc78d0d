// SPDX-License-Identifier: Apache-2.0
// One stream of events out of a recording: what its threads logged, and the accesses that were
// sampled or rebuilt, each in the stretch between two log entries of its own thread in which it was made.
//
// The order. Entries are merged by their times: an acquire is stamped after and a release before the
// operation, by one clock, so times agree with the order of operations on each object; of equal
// times, what releases goes first. An access has no time of its own. All that is known is that it
// was made before the thread's next log entry: that is its latest moment, and where it is placed.
// The detector orders accesses by the log alone, never by that place; the place matters in two
// cases, and is on the safe side in both:
//   - memory that is freed and given to another thread: the access comes before its thread's
//     own free, and before any release that leads to another's;
//   - entries that count for everybody from their moment on (kEverybodyTag: a static local variable
//     is initialised, and others look at its guard by a plain load). Who has seen that in truth is
//     placed after it, because its latest moment is.
//
// Threads that may have been ordered otherwise ("opaque"). Atomic operations are ordinary
// instructions, and no log has them: threads that run such code may order each other at any moment. What
// they log is therefore ordered as if each had synchronised with all other opaque threads right
// before and after, and their accesses are left out. So are those of threads whose
// creation nobody logged. Whatever pair remains unordered then is unordered in truth:
//
//   Suppose access a of thread A happens before access b of thread B in the execution. Then there is a
//   chain from a to b of program order and of synchronisation. A link between two threads that is
//   logged is in the stream. A link that is not logged leads from an opaque thread to an opaque
//   thread. As a and b are of threads that are not opaque, the chain enters opaque threads by a
//   logged link and leaves them by a logged link, which is later in time and so in the stream; and
//   the stream orders the former before the latter. So a is ordered before b in the stream as well.
//
// Which threads are opaque is for the caller to say: unlogged_order.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/event.h"
#include "trace/recording.h"

namespace deadheat {

// An access of one thread, with a time that no log entry of this thread parts it from.
struct PlacedAccess {
  std::uint64_t time = 0;
  Event event;
  std::uint32_t number = 0;  // the caller's own
};

struct OrderedThread {
  const RecordedThread* thread = nullptr;
  std::span<const PlacedAccess> accesses;  // by time
  bool is_opaque = false;
};

// Where a log entry's code is, as a site.
using SiteOfCode = std::function<SiteId(std::uint64_t code)>;

[[nodiscard]] std::vector<Event> order_recording(std::span<const OrderedThread> threads, const SiteOfCode& site_of);

}  // namespace deadheat
