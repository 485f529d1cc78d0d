// SPDX-License-Identifier: Apache-2.0
// Any bytes as a run file: as they are, and as the beginning of a file of full size, which
// is the only one that can be good. What is read must keep within its limits, and a run
// that is given it must come to its end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "schedule/relations.h"
#include "schedule/run_files.h"
#include "schedule/scheduler.h"

using namespace deadheat;
using namespace deadheat::schedule;

namespace {

struct StillWorld final : World {};

// Whether or not the file is good: the runtime does not check it.
void use(const RunFile& file) {
  for (const StrategyKind kind : {StrategyKind::kDrFinder, StrategyKind::kPct, StrategyKind::kAgain}) {
    // A long log takes long to read, and says nothing new: all but its beginning is empty.
    if (kind == StrategyKind::kAgain && file.header.acquisition_count > 1000) continue;
    StillWorld world;
    Scheduler<HeapSource> scheduler({.strategy = kind}, world, &file, nullptr);
    scheduler.thread_begins(1, file.acquisitions[0].thread);
    scheduler.thread_begins(2, file.acquisitions[1].thread);
    for (ThreadNumber thread = 1; thread <= 2; ++thread) {
      const Request request{thread, 8, LockClass{1}, false};
      (void)scheduler.request(request, nullptr, 0);
      scheduler.timed_out(thread);
      scheduler.acquired(request);
      scheduler.thread_ends(thread);
    }
    DEADHEAT_CHECK(scheduler.threads().size() == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto record = parse_run_file(bytes); !record.ok()) DEADHEAT_CHECK(!record.error().message.empty());

  static const auto file = std::make_unique<RunFile>();
  const auto whole = std::as_writable_bytes(std::span(file.get(), 1));
  const std::size_t used = std::min(size, whole.size());
  std::memcpy(whole.data(), data, used);
  if (const auto record = parse_run_file(whole); record.ok()) {
    DEADHEAT_CHECK(record.value().relations.size() <= kMostRelations + 1);
    DEADHEAT_CHECK(record.value().acquisitions.size() <= kAcquisitionPlaces);
  }
  use(*file);
  std::memset(whole.data(), 0, used);
  return 0;
}
