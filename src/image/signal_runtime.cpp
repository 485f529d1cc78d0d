// SPDX-License-Identifier: Apache-2.0
#include "image/signal_runtime.h"

#include <algorithm>
#include <iterator>

namespace deadheat {

std::string_view runtime_beside_libc(const ElfImage& image) {
  // Stripped programs keep the first two.
  constexpr std::string_view kOfGo[] = {".go.buildinfo", ".note.go.buildid", ".gopclntab"};
  const bool is_go = std::any_of(std::begin(kOfGo), std::end(kOfGo),
                                 [&](std::string_view name) { return image.section(name).has_value(); });
  return is_go ? "Go" : "";
}

}  // namespace deadheat
