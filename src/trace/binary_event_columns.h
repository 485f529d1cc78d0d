// SPDX-License-Identifier: Apache-2.0
// What the encoder and the decoder of an events chunk must agree on.
//
// The problem: an event has 32 bytes; on disk it should have three or four,
// and decoding must stay a small part of an analysis that spends some 60 ns on
// an event.
//
// The method. An instruction of the observed program does the same thing each
// time it runs: everything but thread and object (kind, size, order, depth,
// site) is the same. So a chunk begins with a table of the distinct *shapes*
// of its events and a table of its threads, and an event is a thread index, a
// shape index and an object. Each of these is a column of its own, because
// equal things lie together then and zstd finds them. Decoding an event is:
// copy the shape's 32 bytes, set the thread, set the object. Rules about
// single events are checked once per shape; per event there remains one
// comparison with the shape's greatest object.
//
// The object is predicted, and only the difference is stored, in the fewest
// whole bytes. One code byte per event says how many bytes and which of two
// predictions was closer:
//   context  the last object of the same thread and of the same sort (address,
//            other, none): close for fields of one structure and for locals;
//   stride   the last object of the same thread and shape plus its last step:
//            exact for loops over arrays.
// There is no data-dependent branch in the decoder's loop but the checks, which
// always go the same way; a misprediction would cost more than all the rest.
//
// Stride memories share a table of fixed size; two pairs of thread and shape
// that collide there cost bytes, not correctness, because both sides compute
// the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/event.h"

namespace deadheat {

inline constexpr std::uint32_t kMostChunkEvents = 1U << 16U;

// How many byte planes an index into a table of `count` entries takes.
[[nodiscard]] constexpr unsigned index_width(std::size_t count) { return count <= 1 ? 0 : count <= 256 ? 1 : 2; }

// The code byte: 0 .. 8 bytes of difference, from one of two predictions.
inline constexpr std::uint8_t kCodeLengthMask = 0x0f;
inline constexpr std::uint8_t kCodeStride = 0x10;
inline constexpr std::uint8_t kLongestDifference = 8;
[[nodiscard]] constexpr bool is_object_code(std::uint8_t code) {
  return code < 2 * kCodeStride && (code & kCodeLengthMask) <= kLongestDifference;
}

// Objects of different sorts do not predict each other.
inline constexpr std::uint32_t kObjectSorts = 3;
[[nodiscard]] constexpr std::uint32_t object_sort(EventKind kind) {
  switch (info(kind).object) {
    case ObjectMeaning::kAddress:
      return 0;
    case ObjectMeaning::kSync:
    case ObjectMeaning::kThread:
      return 1;
    case ObjectMeaning::kNone:
      break;
  }
  return 2;
}

// What is remembered about a thread of the chunk while its events go by.
struct ThreadContext {
  std::array<std::uint64_t, kObjectSorts> last{};
  ThreadId thread{};
};

// The last object of a pair of thread and shape, and its distance from the one
// before it.
struct Stride {
  std::uint64_t last = 0;
  std::uint64_t step = 0;
};

inline constexpr std::size_t kStrideCount = 4096;
using StrideTable = std::array<Stride, kStrideCount>;

// The factor spreads the shapes of eight threads over the whole table; the
// most frequent shapes have the lowest numbers and so do not collide.
[[nodiscard]] constexpr std::size_t stride_slot(std::uint32_t thread, std::uint32_t shape) {
  return (shape + thread * 509U) % kStrideCount;
}

}  // namespace deadheat
