// SPDX-License-Identifier: Apache-2.0
// The unwinder prepares itself by pthread_once when the first exception of the process is
// thrown. What was done before that throw would come before all later throws in other
// threads, which is an accident. So it is prepared at the start, out of the detector's sight.
#include "runtime/thread_state.h"

// Missing from programs that have no exceptions.
extern "C" __attribute__((weak)) int _Unwind_Backtrace(int (*)(void*, void*), void*);

namespace deadheat::runtime {

namespace {

constexpr int kNormalStop = 4;

__attribute__((constructor)) void prepare_unwinder() {
  if (_Unwind_Backtrace == nullptr) return;
  const RuntimeScope scope;
  _Unwind_Backtrace([](void*, void*) { return kNormalStop; }, nullptr);
}

}  // namespace

}  // namespace deadheat::runtime
