// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/cxx_exceptions.h"

#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

SpinLock lock;  // a leaf
constinit Immortal<FlatMap<Destructor*, PageSource>> destructors;

// A reference to the oldest may be given up unseen when there are more.
struct Shared {
  Address exceptions[ReferenceDrop::kObjects];
  std::uint32_t count;
};
constinit thread_local Shared shared __attribute__((tls_model("initial-exec"))) = {};

Destructor* withdraw_destructor(Address exception) {
  const RuntimeScope scope;
  SpinHolder hold(lock);
  Destructor** const known = destructors->find(exception);
  if (known == nullptr) return nullptr;
  Destructor* const destructor = *known;
  destructors->erase(exception);
  return destructor;
}

void end_exception(void* exception) {
  Destructor* const destructor = withdraw_destructor(address_of(exception));
  if (is_observing()) on_happens_after(self(), address_of(exception), DEADHEAT_CALLER);
  if (destructor != nullptr) destructor(exception);
}

}  // namespace

Destructor* destructor_for(void* exception, Destructor* destructor) {
  if (destructor == nullptr || !is_observing()) return destructor;
  const RuntimeScope scope;
  SpinHolder hold(lock);
  (*destructors)[address_of(exception)] = destructor;
  return end_exception;
}

void share_exception(Address exception) {
  if (exception == 0) return;
  for (std::uint32_t index = 0; index < shared.count; ++index) {
    if (shared.exceptions[index] == exception) return;
  }
  if (shared.count == ReferenceDrop::kObjects) {
    for (std::uint32_t index = 1; index < shared.count; ++index) {
      shared.exceptions[index - 1] = shared.exceptions[index];
    }
    --shared.count;
  }
  shared.exceptions[shared.count++] = exception;
}

bool shares_exceptions() { return shared.count != 0; }

void drop_shared_exceptions(ReferenceDrop& drop, Address code) {
  for (std::uint32_t index = 0; index < shared.count; ++index) drop.add(shared.exceptions[index], code);
}

void forget_shared_exceptions() { shared.count = 0; }

void unlock_exceptions_in_child() { lock.reset(); }

}  // namespace deadheat::runtime
