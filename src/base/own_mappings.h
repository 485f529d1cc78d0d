// SPDX-License-Identifier: Apache-2.0
// What the process that this code runs in has mapped, by /proc/self/maps: without libc and
// without memory of its own but a buffer on the stack.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "base/raw_call.h"

namespace deadheat {

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
  const char* path = "";  // "", "[heap]", "[stack]" or a file; valid during the call
};

// "begin-end rwxp offset device inode   path". False for anything else.
inline bool parse_mapping(const char* line, Mapping& mapping) {
  const auto hexadecimal = [&line] {
    std::uint64_t value = 0;
    for (;; ++line) {
      if (*line >= '0' && *line <= '9') {
        value = value * 16 + static_cast<std::uint64_t>(*line - '0');
      } else if (*line >= 'a' && *line <= 'f') {
        value = value * 16 + static_cast<std::uint64_t>(*line - 'a' + 10);
      } else {
        return value;
      }
    }
  };
  mapping.begin = hexadecimal();
  if (*line++ != '-') return false;
  mapping.end = hexadecimal();
  if (*line++ != ' ') return false;
  mapping.is_readable = line[0] == 'r';
  mapping.is_writable = line[1] == 'w';
  mapping.is_executable = line[2] == 'x';
  for (int field = 0; field < 4; ++field) {
    while (*line != 0 && *line != ' ') ++line;
    while (*line == ' ') ++line;
  }
  mapping.path = line;
  return true;
}

// Calls visit(mapping, context) for each, lowest first, until it returns false. Returns
// false when they cannot be read.
inline bool for_each_mapping(bool (*visit)(const Mapping& mapping, void* context), void* context) {
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[8192];
  std::size_t filled = 0;
  bool wanted = true;
  while (wanted) {
    const long got =
        raw_call(SYS_read, file, as_argument(buffer + filled), static_cast<long>(sizeof buffer - 1 - filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    std::size_t begin = 0;
    for (std::size_t at = 0; at < filled && wanted; ++at) {
      if (buffer[at] != '\n') continue;
      buffer[at] = 0;
      Mapping mapping;
      if (parse_mapping(buffer + begin, mapping)) wanted = visit(mapping, context);
      begin = at + 1;
    }
    if (begin == 0 && filled == sizeof buffer - 1) filled = 0;  // a line longer than any path: skip it
    for (std::size_t at = begin; at < filled; ++at) buffer[at - begin] = buffer[at];
    filled -= begin < filled ? begin : filled;
  }
  raw_call(SYS_close, file);
  return true;
}

}  // namespace deadheat
