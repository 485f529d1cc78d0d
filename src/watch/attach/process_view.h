// SPDX-License-Identifier: Apache-2.0
// A process that sees other files than we do: in a container, in a mount namespace of its own, after chroot. And one
// that cannot be looked at as usual, with the reason in words.
//
// The paths that the kernel tells of its files (/proc/PID/maps, exe) are as we would reach them, as far as we could.
// Those that its agent reads in /proc/self are as the process sees them. Paths here are as the process
// sees them; we reach such a file by /proc/PID/root.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace deadheat::watch {

// The path by which the process itself knows a file of /proc/PID/maps or exe.
[[nodiscard]] std::string path_in_process(pid_t process, const std::string& path);
// Where we find that file; without the process's root if it is only there (it was mapped before chroot).
[[nodiscard]] std::string file_of_process(pid_t process, const std::string& path);

// The process, or, where its main thread has ended, a thread of it that lives: what its numbers in /proc show is the
// same.
[[nodiscard]] pid_t living_thread_of(pid_t process);

// Why an agent in it could not work, and what to do; empty if nothing speaks against it.
[[nodiscard]] std::string reason_against_view(pid_t process);
// The same of our own process, before it starts another.
[[nodiscard]] std::string reason_against_own_view();

}  // namespace deadheat::watch
