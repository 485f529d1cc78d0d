// SPDX-License-Identifier: Apache-2.0
// IgnoreState: which of a thread's actions its annotations have switched off.
// Annotations nest per kind. Ignored reads include atomic loads, ignored writes
// include atomic stores, RMWs and frees; ignored synchronisation excludes
// thread creation and joining, without which a thread has no past.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

[[nodiscard]] constexpr bool is_thread_event(EventKind kind) {
  return kind == EventKind::kThreadRoot || kind == EventKind::kFork || kind == EventKind::kJoin ||
         kind == EventKind::kDetach || kind == EventKind::kThreadExit;
}

class IgnoreState {
 public:
  void begin(Ignore what) {
    reads_ += includes(what, Ignore::kReads) ? 1 : 0;
    writes_ += includes(what, Ignore::kWrites) ? 1 : 0;
    sync_ += includes(what, Ignore::kSync) ? 1 : 0;
  }
  void end(Ignore what) {
    reads_ -= includes(what, Ignore::kReads) && reads_ != 0 ? 1 : 0;
    writes_ -= includes(what, Ignore::kWrites) && writes_ != 0 ? 1 : 0;
    sync_ -= includes(what, Ignore::kSync) && sync_ != 0 ? 1 : 0;
  }
  [[nodiscard]] bool ignores(AccessKind kind) const { return (is_write(kind) ? writes_ : reads_) != 0; }
  [[nodiscard]] bool ignores_sync() const { return sync_ != 0; }

 private:
  std::uint32_t reads_ = 0;
  std::uint32_t writes_ = 0;
  std::uint32_t sync_ = 0;
};

}  // namespace deadheat
