// SPDX-License-Identifier: Apache-2.0
// Programs that are neither watched nor recorded, started or attached to: see image/signal_runtime.h.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "image/elf_image.h"

namespace deadheat::watch {

// kUnsupported, with a sentence that begins with `whose` ("'server'", "process 12").
[[nodiscard]] Status refuse_runtime(const std::string& whose, const ElfImage& image, const std::string& file);

// Looks at a program that is to be started, and the libraries that it needs. Files that cannot be read are no reason.
[[nodiscard]] Status refuse_runtime_of(const std::string& program, const std::string& library_path);

// Looks at the program that a process runs.
[[nodiscard]] Status refuse_runtime_of(pid_t process);

}  // namespace deadheat::watch
