// SPDX-License-Identifier: Apache-2.0
// What goes to standard error: one line each, "deadheat: error: ...".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat {

void print_error(std::string_view message);
void print_warning(std::string_view message);
void print_note(std::string_view message);

// The sentence with the file in front, unless it names the file already.
[[nodiscard]] std::string about_file(std::string_view path, std::string_view message);

// The system's words for an errno.
[[nodiscard]] std::string system_message(int error);

}  // namespace deadheat
