// SPDX-License-Identifier: Apache-2.0
// References that the C++ library counts inside itself: exceptions, their messages, locales, the
// blocks of weak pointers.
//
// Everybody who gives up a reference is done with the object; who gives up the last one ends it.
// The counter is changed by code of the library, which nobody shows us. So the object itself is a
// tag: before the library's function runs, the thread gives to the tag what it has done; whatever memory
// the function frees, it frees after it has taken from there.
#pragma once

#include "model/identity.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {

// A call that may end one of several objects. The calls of a thread nest.
class ReferenceDrop {
 public:
  static constexpr std::uint32_t kObjects = 8;

  ReferenceDrop() : outer_(innermost) { innermost = this; }
  explicit ReferenceDrop(Address object, Address code) : ReferenceDrop() { add(object, code); }
  ~ReferenceDrop() { innermost = outer_; }
  ReferenceDrop(const ReferenceDrop&) = delete;
  ReferenceDrop& operator=(const ReferenceDrop&) = delete;

  // The thread is done with the object.
  void add(Address object, Address code) {
    if (object == 0 || !is_observing()) return;
    on_happens_before(self(), object, code);
    if (count_ < kObjects) objects_[count_++] = object;
  }

  // Before a free.
  static void settle(Address code) {
    if (innermost != nullptr) [[unlikely]]
      settle_innermost(code);
  }
  // Before the end of an object is visible in some other way.
  void take(Address code) const {
    for (std::uint32_t index = 0; index < count_; ++index) {
      if (is_observing()) on_happens_after(self(), objects_[index], code);
    }
    if (outer_ != nullptr) outer_->take(code);
  }

 private:
  static void settle_innermost(Address code);

  static constinit thread_local ReferenceDrop* innermost __attribute__((tls_model("initial-exec")));

  ReferenceDrop* outer_;
  Address objects_[kObjects] = {};
  std::uint32_t count_ = 0;
};

}  // namespace deadheat::runtime
