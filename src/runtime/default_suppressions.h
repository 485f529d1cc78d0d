// SPDX-License-Identifier: Apache-2.0
// Suppressions that a program brings along: the text that its function
// __tsan_default_suppressions() returns. Races are matched with them outside of the
// process, as with the user's files, so the text is sent as it is.
#pragma once

namespace deadheat::runtime {

// Asks the program and keeps a copy. Once, at the start, inside the runtime: the
// program's constructors have not run.
void ask_for_suppressions();

// Whether there are any.
[[nodiscard]] bool program_has_suppressions();

// After the greeting of a program that was just started, and at the head of a file.
void send_suppressions();

}  // namespace deadheat::runtime
