// SPDX-License-Identifier: Apache-2.0
// Immortal: a global that is never destroyed. Inside a foreign process events
// arrive until the very end, after the destructors of globals have run; and a
// destructor that is to run at exit needs code that runs at start.
//
// The object is zero bytes at the beginning, without a constructor having run, so
// T must be a type whose fresh state is that: our containers, counters from 0.
#pragma once

namespace deadheat {

template <class T>
class Immortal {
 public:
  [[nodiscard]] T& operator*() { return *get(); }
  [[nodiscard]] T* operator->() { return get(); }

 private:
  [[nodiscard]] T* get() { return reinterpret_cast<T*>(storage_); }

  alignas(T) unsigned char storage_[sizeof(T)] = {};
};

}  // namespace deadheat
