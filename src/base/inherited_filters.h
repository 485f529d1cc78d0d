// SPDX-License-Identifier: Apache-2.0
// Filters of system calls (seccomp) that a program was started with, by somebody between `deadheat` and it. The calls
// they let pass are not known, so nothing is done in such a program. Those that `deadheat` itself has (a container's)
// are no reason: its user knows.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include "base/raw_call.h"

namespace deadheat {

// The number for `deadheat` itself, for the agents that it loads into a program.
inline constexpr char kKnownFiltersVariable[] = "DEADHEAT_FILTERS";

// The number for the calling process; 0 where the system does not say (before Linux 5.9). Makes no call that the
// loader has not made.
inline unsigned own_filters() {
  char text[4096];
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/status"), O_RDONLY | O_CLOEXEC);
  if (is_error(file)) return 0;
  const long size = raw_call(SYS_read, file, as_argument(text), sizeof text);
  raw_call(SYS_close, file);
  constexpr char kName[] = "\nSeccomp_filters:\t";
  constexpr long kLength = sizeof kName - 1;
  for (long at = 0; at + kLength < size; ++at) {
    long same = 0;
    while (same < kLength && text[at + same] == kName[same]) ++same;
    if (same != kLength) continue;
    unsigned count = 0;
    for (at += kLength; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
      count = count * 10 + static_cast<unsigned>(text[at] - '0');
    }
    return count;
  }
  return 0;
}

// `known`: what the variable says, or nullptr.
inline bool has_inherited_filters(const char* known) {
  if (known == nullptr) return false;
  unsigned count = 0;
  for (; *known >= '0' && *known <= '9'; ++known) count = count * 10 + static_cast<unsigned>(*known - '0');
  return own_filters() > count;
}

}  // namespace deadheat
