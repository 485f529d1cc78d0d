// SPDX-License-Identifier: Apache-2.0
// Requests to a process that samples, over a socket (raw_report.h says their form).
#pragma once

#include <cstdint>

#include "runtime/raw_report.h"

namespace deadheat::runtime {

struct Request {
  enum class What : std::uint8_t { kStatus, kRate, kBudget, kUnknown };
  What what = What::kUnknown;
  std::uint64_t value = 0;  // parts per million
  // Whom to answer.
  alignas(8) char address[112] = {};
  std::uint32_t address_size = 0;
};

// A text of a request. Nothing is expected of it.
[[nodiscard]] Request parse_request(const char* text, std::size_t size);

class Requests {
 public:
  // Without a socket nobody can ask, and nothing else is lost.
  void open();
  // Waits so many nanoseconds at most; true when a request of the same user, or of
  // root, has come.
  [[nodiscard]] bool wait(std::uint64_t time, Request& request);
  void answer(const Request& request, const raw_report::Sampling& totals);

 private:
  int socket_ = -1;
};

}  // namespace deadheat::runtime
