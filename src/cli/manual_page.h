// SPDX-License-Identifier: Apache-2.0
// Manual pages, one for each command, in the language of man(7).
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace deadheat {

// "deadheat-trace-check", which is also the name of its file, before ".1".
std::string manual_page_name(const CommandFacts& command);

// `root` is for the pages to see also.
std::string manual_page(const CommandFacts& command, const CommandFacts& root);

}  // namespace deadheat
