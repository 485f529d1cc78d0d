// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace deadheat {

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

ColourMode colour_for(ColourChoice choice, int descriptor) {
  if (choice == ColourChoice::kAlways) return ColourMode::kColour;
  if (choice == ColourChoice::kNever) return ColourMode::kPlain;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return is_terminal(descriptor) && !refused && !dumb ? ColourMode::kColour : ColourMode::kPlain;
}

void reserve_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    // open() returns the lowest free number, which is the closed one. Read-only:
    // a write to it fails and is reported instead of vanishing.
    if (fcntl(descriptor, F_GETFD) == -1 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

}  // namespace deadheat
