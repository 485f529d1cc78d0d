// SPDX-License-Identifier: Apache-2.0
// StackUnwinder: the callers of an access, from the piece of stack and the registers that the agent copied, by the
// unwind tables of the modules (.eh_frame, which compilers always write, or debug information).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watch/watch_packet.h"

namespace deadheat::watch {

class StackUnwinder {
 public:
  StackUnwinder();
  ~StackUnwinder();
  StackUnwinder(const StackUnwinder&) = delete;
  StackUnwinder& operator=(const StackUnwinder&) = delete;

  // A file with code; `bias` is from its own addresses to those in memory. One that cannot be read has no tables.
  void add_module(const std::string& path, std::uint64_t bias);

  // Return addresses, innermost first, at most kWatchFrames: as far as the piece reaches and tables tell.
  [[nodiscard]] std::vector<std::uint64_t> unwind(const StackCopy& stack);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deadheat::watch
