// SPDX-License-Identifier: Apache-2.0
// DEADHEAT_CHECK states an invariant of our own code. A failure is a bug of
// Deadheat's, never of its input: bad input is an Error (see result.h). The
// check stays on in release builds; DEADHEAT_DCHECK is for hot paths and is
// compiled out there.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace deadheat {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "deadheat: internal error: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace deadheat

#define DEADHEAT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::deadheat::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define DEADHEAT_DCHECK(condition) static_cast<void>(0)
#else
#define DEADHEAT_DCHECK(condition) DEADHEAT_CHECK(condition)
#endif
