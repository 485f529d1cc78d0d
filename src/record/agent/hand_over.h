// SPDX-License-Identifier: Apache-2.0
// Releases that nobody else acquires order nothing, and most are of that kind: a lock is taken again by the thread that
// gave it up last, a reply that is written to a client is read by nobody here. So what releases logs nothing. It leaves
// a *note*, who and when, where whoever acquires will look (lock_notes.h, descriptor_notes.h). Who acquires looks, and
// logs the pair, as one record of its own: LogKind::kHandedOver. The reader puts the release into the log of the thread
// that made it, at its time.
//
// Why no order is lost. Let U acquire what W released last, at time t.
//   - U = W. All that the object had to pass on when W released it was what W itself knew. W still knows it, so the
//     acquire adds nothing: no record.
//   - U has acquired from W before, something that W released at t or later. W's own order leads from t to that
//     moment, so the new acquire adds nothing either: no record. `known_releases` has the latest such time of each
//     thread, or forgets it, which costs a record and nothing else.
//   - Otherwise the record orders W at t, with all that W knew, before U. That includes what the object had to pass on
//   from
//     others when W acquired it, because W was ordered after those in its turn: by a record, or as above.
//   - Earlier releases of W that its note overwrote are before t in W's own order.
// So the order of the accesses is exactly that of a log with all records. Stretches between two records are longer, but
// no longer than that order permits: a stretch never goes on past an acquire that adds to what a thread knows, nor past
// a release that another thread relies on (the reader parts it there). The accesses of a stretch are placed at its end
// (trace/recorded_order.h), and what needs them before a certain moment needs a release or a free between: both are
// there.
//
// What is lost: which locks a thread held. `record --held-locks` logs every lock for that.
#pragma once

#include <emmintrin.h>

#include <cstdint>

#include "record/agent/log.h"

namespace deadheat::record {

// Who released last, and when (ticks of the log's clock); {0, 0}: nobody yet. A thread that acquires may put its own
// mark with the time 0: it has released nothing yet.
struct __attribute__((may_alias)) ReleaseNote {
  std::uint64_t by;
  std::uint64_t time;
};

// What this thread knows of one other: it is ordered after that thread's release of that time, and all before.
struct alignas(16) KnownRelease {
  std::uint64_t by;
  std::uint64_t time;
};

inline constexpr std::size_t kKnownReleases = 32;
extern thread_local constinit KnownRelease known_releases[kKnownReleases]
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

inline KnownRelease& known_release_of(std::uint64_t by) { return known_releases[by % kKnownReleases]; }

// Both words by one instruction, which signal handlers of the thread, who may log, cannot split.
inline KnownRelease load_known(const KnownRelease& place) {
  KnownRelease value;
  _mm_store_si128(reinterpret_cast<__m128i*>(&value), _mm_load_si128(reinterpret_cast<const __m128i*>(&place)));
  __asm__ volatile("" : : : "memory");
  return value;
}
inline void store_known(KnownRelease& place, const KnownRelease& value) {
  __asm__ volatile("" : : : "memory");
  _mm_store_si128(reinterpret_cast<__m128i*>(&place), _mm_load_si128(reinterpret_cast<const __m128i*>(&value)));
}

// Two releases of one thread may have the same time if the clock is not the processor's counter.
inline bool is_known(const ReleaseNote& note) {
  const KnownRelease known = load_known(known_release_of(note.by));
  if (known.by != note.by) return false;
  return note.time < known.time || (note.time == known.time && log_clock == LogClock::kTicks);
}

// After the operation that acquired `object`, by a thread that has a log.
inline void log_hand_over(std::uint64_t object, const ReleaseNote& note) {
  if (!is_release_mark(note.by) || note.by == own_release_mark || note.time == 0 || is_known(note)) return;
  append(LogKind::kHandedOver, 0, object, note.time,
         reinterpret_cast<const void*>(std::uint64_t{thread_of_mark(note.by)}), time_after());
  store_known(known_release_of(note.by), {note.by, note.time});
}

}  // namespace deadheat::record
