// SPDX-License-Identifier: Apache-2.0
// An address of our own by which wrappers hand on the order of a library.
#pragma once

#include <cstdint>

#include "model/identity.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {

// All that a thread did before give() happens before what another does after take().
struct OrderTag {
  void give(Address code) {
    if (is_observing()) on_happens_before(self(), address_of(this), code);
  }
  void take(Address code) {
    if (is_observing()) on_happens_after(self(), address_of(this), code);
  }
  void forget() {
    if (is_observing()) on_sync_destroyed(self(), address_of(this), 0);
  }

  std::uint64_t room = 0;  // so that no two have one address
};

}  // namespace deadheat::runtime
