// SPDX-License-Identifier: Apache-2.0
// Scripts that teach a shell to complete the command line.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace deadheat {

std::string bash_completion(const CommandFacts& root);
std::string zsh_completion(const CommandFacts& root);
std::string fish_completion(const CommandFacts& root);

}  // namespace deadheat
