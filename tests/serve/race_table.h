// SPDX-License-Identifier: Apache-2.0
// One race and one run, where a server would have a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/race_service.h"

namespace deadheat {

class RaceTable : public RaceSource {
 public:
  RaceState state = RaceState::kOpen;
  std::string note;
  bool writable = true;
  bool is_broken = false;
  std::uint64_t changes = 1;
  std::size_t padding = 0;  // of the race's title, to make answers long

  [[nodiscard]] std::string place() const override { return "races.db"; }
  [[nodiscard]] bool may_write() const override { return writable; }

  Result<std::vector<RaceRow>> races() override {
    if (is_broken) return Error{ErrorCode::kIo, "the disk is gone"};
    return std::vector<RaceRow>{row()};
  }
  Result<RaceDetails> race(std::string_view fingerprint) override {
    if (fingerprint != row().race.fingerprint) return Error{ErrorCode::kInvalid, "there is no such race"};
    RaceDetails details;
    details.row = row();
    details.history.push_back({run().run, {std::string(fingerprint), run().run.id, 3, 1'000'000}});
    return details;
  }
  Result<std::vector<RunRow>> runs(std::size_t) override {
    if (is_broken) return Error{ErrorCode::kIo, "the disk is gone"};
    return std::vector<RunRow>{run()};
  }
  Result<std::uint64_t> change_count() override {
    if (is_broken) return Error{ErrorCode::kIo, "the disk is gone"};
    return changes;
  }
  Status set_state(std::string_view, RaceState wanted, const std::string& words) override {
    state = wanted;
    note = words;
    return {};
  }

 private:
  [[nodiscard]] RaceRow row() const {
    RaceRow row;
    row.race.fingerprint = "00000000000000aa";
    row.race.kind = "write-write";
    row.race.title = "write-write race" + std::string(padding, 'x');
    row.race.earlier = "Ledger::post(long, std::vector<int>&) const /home/bank/ledger.cpp:42";
    row.race.later = "libbank.so+0x1f";
    row.race.occurrences = 3;
    row.race.document = R"({"fingerprint":"00000000000000aa","explanation":"<b>nothing orders them</b>"})";
    row.state = state;
    row.note = note;
    row.runs = 2;
    row.modes = {"hunt", "run"};
    return row;
  }
  [[nodiscard]] static RunRow run() {
    RunRow row;
    row.run.id = "0123456789abcdef0123456789abcdef";
    row.run.mode = "run";
    row.run.machine = "build-1";
    row.run.effective_rate = 0.029;
    row.races = 1;
    return row;
  }
};

}  // namespace deadheat
