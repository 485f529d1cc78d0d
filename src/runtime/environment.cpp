// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>

#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// The text of /proc/self/environ: "NAME=value" with a 0 after each, and one more 0.
char* initial_environment = nullptr;

char* read_initial_environment() {
  std::size_t capacity = 64 * 1024;
  auto* text = static_cast<char*>(PageSource::allocate(capacity));
  std::size_t size = 0;
  const long file = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/environ"), O_RDONLY | O_CLOEXEC);
  while (file >= 0) {
    const long got =
        raw_call(SYS_read, file, reinterpret_cast<long>(text + size), static_cast<long>(capacity - size - 2));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (size + 2 < capacity) continue;
    auto* larger = static_cast<char*>(PageSource::allocate(capacity * 2));
    for (std::size_t at = 0; at < size; ++at) larger[at] = text[at];
    PageSource::release(text, capacity);
    text = larger;
    capacity *= 2;
  }
  if (file >= 0) raw_call(SYS_close, file);
  text[size] = text[size + 1] = 0;
  return text;
}

}  // namespace

const char* environment(const char* name) {
  if (initial_environment == nullptr) initial_environment = read_initial_environment();
  for (const char* entry = initial_environment; *entry != 0;) {
    std::size_t at = 0;
    while (name[at] != 0 && entry[at] == name[at]) ++at;
    if (name[at] == 0 && entry[at] == '=') return entry + at + 1;
    while (*entry != 0) ++entry;
    ++entry;
  }
  return nullptr;
}

}  // namespace deadheat::runtime
