// SPDX-License-Identifier: Apache-2.0
// The parts of a function's name: as demanglers write it, with or without return type,
// template arguments and parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/site.h"

namespace deadheat {

// "bank::Account::deposit" of "void bank::Account::deposit<int>(int) const". A lambda's number is left out:
// "main::{lambda}::operator()", whichever compiler named it.
[[nodiscard]] std::string qualified_name(std::string_view function);

// The name as people write it: "std::map<std::string, int>", without inline namespaces of the library, without what
// its templates assume by themselves (allocators, orders, traits).
[[nodiscard]] std::string short_name(std::string_view function);

// The part that stays the same however much debug information there is: "deposit". A lambda has the function
// it stands in with it: "main{lambda}".
[[nodiscard]] std::string short_identity(std::string_view function);

// Whether the file is one of the C and C++ libraries, or the loader.
[[nodiscard]] bool is_system_library(std::string_view path);

// Whether the frame is of a C or C++ library, by name, header or module: its code is on behalf
// of the frame that called it.
[[nodiscard]] bool is_library_frame(const Site& site);

// Whether something is known of the frame, and it is none of a library.
[[nodiscard]] bool is_own_frame(const Site& site);

// Whether the frame is of our own runtime, which stands between the program and what it called.
[[nodiscard]] bool is_runtime_frame(const Site& site);

// The first of the frames, innermost first and not empty, that is the program's own; the innermost if none is.
[[nodiscard]] const Site& own_frame(const std::vector<Site>& frames);

}  // namespace deadheat
