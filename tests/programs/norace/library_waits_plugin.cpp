// SPDX-License-Identifier: Apache-2.0
// The library of library_waits_while_unloading.c.
extern "C" void (*at_end)();
void (*at_end)() = nullptr;

namespace {
struct AtEnd {
  ~AtEnd() {
    if (at_end != nullptr) at_end();
  }
} caller;
}  // namespace
