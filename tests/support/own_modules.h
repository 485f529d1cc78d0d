// SPDX-License-Identifier: Apache-2.0
// The modules of the test itself, as the runtime would list them.
#pragma once

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/packet_builder.h"

namespace deadheat {

[[nodiscard]] inline std::string own_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
}

[[nodiscard]] inline std::vector<packets::NamedModule> own_modules() {
  std::vector<packets::NamedModule> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        packets::NamedModule one;
        one.begin = UINT64_MAX;
        one.load_bias = info->dlpi_addr;
        for (int index = 0; index < info->dlpi_phnum; ++index) {
          const auto& segment = info->dlpi_phdr[index];
          if (segment.p_type != PT_LOAD) continue;
          one.begin = std::min<std::uint64_t>(one.begin, info->dlpi_addr + segment.p_vaddr);
          one.end = std::max<std::uint64_t>(one.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
        }
        const std::string name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        auto& modules = *static_cast<std::vector<packets::NamedModule>*>(data);
        one.path = modules.empty() ? own_path() : name;
        if (one.begin < one.end) modules.push_back(std::move(one));
        return 0;
      },
      &all);
  return all;
}

// After code_here() in a function whose frame must exist: no tail call.
inline void keep_frame() { asm volatile(""); }

// A global as the program wrote it: AddressSanitizer would give its symbol the
// size of its red zone as well.
#if defined(__clang__)
#define DEADHEAT_PLAIN_GLOBAL __attribute__((no_sanitize("address")))
#else
#define DEADHEAT_PLAIN_GLOBAL
#endif

// The return address of the call, as the runtime's hooks see it.
[[nodiscard]] __attribute__((noinline)) inline std::uint64_t code_here() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

}  // namespace deadheat
