// SPDX-License-Identifier: Apache-2.0
// BinaryInput: the bytes of a trace, one stretch after the other, from a file
// or from memory. Files are read, not mapped: a mapped file that shrinks while
// it is analysed kills the reader with SIGBUS, and a pipe cannot be mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "trace/event_source.h"
#include "trace/trace_file.h"

namespace deadheat {

class BinaryInput {
 public:
  BinaryInput() = default;
  BinaryInput(const BinaryInput&) = delete;
  BinaryInput& operator=(const BinaryInput&) = delete;
  virtual ~BinaryInput() = default;

  // The next `size` bytes, or as many as there are before the end. Valid until
  // the next call. Errors: kIo.
  virtual Result<std::span<const std::byte>> take(std::size_t size) = 0;

  [[nodiscard]] virtual SourceProgress progress() const = 0;

  // How messages name it: "trace 'x.trace'".
  [[nodiscard]] virtual const std::string& name() const = 0;
};

std::unique_ptr<BinaryInput> binary_input_from(TraceFile file);

// The bytes must outlive the input.
std::unique_ptr<BinaryInput> binary_input_from(std::span<const std::byte> bytes, std::string name);

}  // namespace deadheat
