// SPDX-License-Identifier: Apache-2.0
// Control flow from Intel PT: packets and code give the instructions that were executed.
//
// What cannot be decoded (lost packets, code that is not there) ends a piece of the path;
// decoding goes on at the next synchronisation point, and the next piece says that something is missing before it. So
// does a branch that the program did not make itself: a signal handler begins a new piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "replay/code_space.h"
#include "trace/recording.h"

namespace deadheat::replay {

struct DecodedPath {
  std::vector<PathPiece> pieces;
  std::uint64_t instructions = 0;
  std::uint64_t errors = 0;     // each is a gap
  std::uint64_t overflows = 0;  // the processor itself lost packets
  std::string first_error;
};

// Never fails: bytes that are no PT data are no path, and one error.
[[nodiscard]] DecodedPath decode_pt(std::span<const std::byte> packets, const CodeSpace& code);

struct PacketCounts {
  std::uint64_t tnt = 0;
  std::uint64_t tip = 0;
  std::uint64_t all = 0;
  std::uint64_t errors = 0;
};
// Without code: what a capture consists of.
[[nodiscard]] PacketCounts count_packets(std::span<const std::byte> packets);

}  // namespace deadheat::replay
