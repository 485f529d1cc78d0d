// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/kernel_order.h"

#include "base/flat_map.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

// Nothing is stored in the tags; their addresses are names that no object of the
// program can have.
constinit char tags[1U << 16] = {};

}  // namespace

KernelTag kernel_tag(KernelObject object, std::uint64_t first, std::uint64_t second) {
  const std::uint64_t mixed = spread(first + spread(second + spread(static_cast<std::uint64_t>(object))));
  const auto tag = static_cast<KernelTag>(mixed >> 24);
  return tag == kNoTag ? 1 : tag;
}

void give_to_kernel(KernelTag tag, Address code) {
  if (tag == kNoTag || !is_observing()) return;
  const KeepErrno keep;
  on_happens_before(self(), address_of(&tags[tag]), code);
}

void take_from_kernel(KernelTag tag, Address code) {
  if (tag == kNoTag || !is_observing()) return;
  const KeepErrno keep;
  on_happens_after(self(), address_of(&tags[tag]), code);
}

}  // namespace deadheat::runtime
