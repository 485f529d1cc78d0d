// SPDX-License-Identifier: Apache-2.0
// SampledStack: the callers of a sampled moment, from the registers and the bytes of the stack that the sample has.
//
// By the unwind tables of the files alone (.eh_frame, read by elfutils), and only as far as those bytes go: frames are
// certain or missing, never guessed from what looks like a return address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/recording.h"

namespace deadheat {

struct UnwoundFile {
  std::string path;
  std::uint64_t bias = 0;  // from addresses of the file to those of the process
};

struct SampledCallers {
  std::vector<std::uint64_t> calls;  // addresses inside of the calls' instructions, innermost first
  bool is_whole = false;             // to the thread's first function
};

class SampledStack {
 public:
  // Files that cannot be read have no callers.
  explicit SampledStack(const std::vector<UnwoundFile>& files);
  SampledStack(const SampledStack&) = delete;
  SampledStack& operator=(const SampledStack&) = delete;
  ~SampledStack();

  // One thread at a time.
  [[nodiscard]] SampledCallers callers(const RegisterSample& sample);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace deadheat
