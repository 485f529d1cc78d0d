// SPDX-License-Identifier: Apache-2.0
// Programs whose language has a runtime that libc does not stand behind: it orders threads, blocks signals and switches
// stacks by system calls of its own. Nothing of that can be seen from libc's functions, and a breakpoint in such a
// program may end it.
#pragma once

#include <string_view>

#include "image/elf_image.h"

namespace deadheat {

// "Go", or empty if the file is none of those that are known. Also of a library that is linked with such a runtime.
[[nodiscard]] std::string_view runtime_beside_libc(const ElfImage& image);

}  // namespace deadheat
