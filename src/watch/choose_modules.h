// SPDX-License-Identifier: Apache-2.0
// Which files are watched: the program itself, and those of its libraries that the user
// names by patterns.
//
// A pattern (`--module`) is a glob. It is compared with a library's path, its name
// ("libz.so.1*") and its name before ".so" ("libz"). A pattern that is the path of a file is
// that file, so that a plug-in can be watched that the program loads later.
//
// Some libraries are never watched, because the agent runs in them while it holds a trap:
// the C library with its old parts, the loader, the unwinder, and our own. libm has no
// data that threads share.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deadheat::watch {

// Paths without links, as /proc/PID/maps says them; the program is first. `library_path` is
// the program's LD_LIBRARY_PATH. kInvalid: a pattern matches nothing that may be watched, and
// the message says why. Otherwise as ElfImage::open().
[[nodiscard]] Result<std::vector<std::string>> choose_modules(const std::string& program,
                                                              const std::vector<std::string>& patterns,
                                                              const std::string& library_path);

// The same for a running process, by what it has loaded. kIo: there is no such process, or
// it is somebody else's.
[[nodiscard]] Result<std::vector<std::string>> choose_modules(pid_t process, const std::vector<std::string>& patterns);

// Why a file is never watched; empty if it may be.
[[nodiscard]] std::string_view reason_against(std::string_view path);

}  // namespace deadheat::watch
