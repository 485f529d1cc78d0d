// SPDX-License-Identifier: Apache-2.0
// HuntLoop: starts the runs of a hunt, several at once if asked to, and collects what
// they find.
//
// A run starts from the run file of the run that ended last. The first run is alone:
// what it learns is what all others begin with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/hunt_ledger.h"
#include "cli/hunt_run.h"
#include "cli/hunt_screen.h"
#include "cli/hunt_state.h"
#include "cli/run_child.h"
#include "cli/store_writer.h"

namespace deadheat {

struct HuntLimits {
  std::uint32_t runs = 0;
  std::uint32_t jobs = 1;
  std::optional<std::uint32_t> until_quiet;  // runs in a row without anything new
  bool shows_output = false;                 // what the programs print is passed through
};

class HuntLoop {
 public:
  HuntLoop(const HuntSetup& setup, const HuntLimits& limits, ChildRequest plan, Suppressions suppressions,
           HuntDirectory& directory, HuntScreen& screen, const WatchedSignals& signals, const StoreOptions& store)
      : setup_(setup),
        limits_(limits),
        plan_(std::move(plan)),
        suppressions_(std::move(suppressions)),
        directory_(directory),
        screen_(screen),
        signals_(signals),
        store_(store) {}

  // Until there is nothing more to run, or the user had enough. Errors: kIo (a run cannot
  // be started; those before it are in the ledger).
  Status run();

  [[nodiscard]] const HuntLedger& ledger() const { return ledger_; }
  // The error of a store that the command line names.
  [[nodiscard]] const Status& store_status() const { return store_.status(); }
  // The signal that ended the hunt early.
  [[nodiscard]] std::optional<int> interruption() const { return interruption_; }

 private:
  [[nodiscard]] bool may_start() const;
  Status start_one();
  void wait();
  void handle_signals();
  void close_those_that_are_over();
  void close(HuntRun& run);
  void begin_storing(const HuntRun& run);
  void finish_storing(HuntRun& run, const RunRecord& record);
  void remove_stale_files();

  const HuntSetup& setup_;
  const HuntLimits& limits_;
  ChildRequest plan_;
  Suppressions suppressions_;
  HuntDirectory& directory_;
  HuntScreen& screen_;
  const WatchedSignals& signals_;
  StoreWriter store_;
  std::map<std::uint32_t, StoredRun> stored_;  // active runs, by number

  HuntLedger ledger_;
  std::shared_ptr<Symbolizer> symbolizer_ = std::make_shared<Symbolizer>();
  std::vector<std::unique_ptr<HuntRun>> active_;  // the oldest first
  std::uint32_t started_ = 0;
  std::optional<std::uint32_t> newest_;  // that has ended with a run file
  std::vector<std::uint32_t> stale_;     // runs whose files nobody will ask for
  std::optional<int> interruption_;
  bool cannot_start_ = false;
  bool cannot_save_ = false;
};

}  // namespace deadheat
