// SPDX-License-Identifier: Apache-2.0
// WatchSession: what a watched program tells, from its start to its end, and what is shown of
// it: races as they are confirmed, a line of how it goes on a terminal, a summary.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/live_output.h"
#include "cli/run_child.h"
#include "image/elf_image.h"
#include "report/live_report.h"
#include "report/watch_packets.h"
#include "watch/attach/inject.h"
#include "watch/unwind_stack.h"

namespace deadheat {

struct WatchLimits {
  std::optional<double> duration_us;  // then watching stops
  bool until_race = false;
  bool is_quiet = false;
};

class WatchSession {
 public:
  WatchSession(const WatchLimits& limits, Suppressions suppressions, LiveOutput output);
  WatchSession(const WatchSession&) = delete;
  WatchSession& operator=(const WatchSession&) = delete;

  // A process that was running already: until time is over, somebody interrupts us, or it has ended. The agent is
  // withdrawn then. Once.
  ExitCode watch(watch::InjectedAgent& agent, const WatchedSignals& signals, pid_t process, const std::string& program,
                 int race_exit_code);
  // Until the program has ended. Once.
  ExitCode watch(ChildProcess& child, const WatchedSignals& signals, const std::string& program, int race_exit_code);

 private:
  void take(std::span<const std::byte> bytes);
  void listen(watch::InjectedAgent& agent, const WatchedSignals& signals);
  // Debug information and unwind tables are read when a race wants them, or at the end: that takes a tenth of a second,
  // on processors that the program has a use for.
  void take_modules(std::uint32_t process, LoadedModules loaded);
  void read_modules(LoadedModules& loaded);
  void read_what_waits();
  [[nodiscard]] bool is_atomic_variable(std::uint64_t address) const;
  void take_collision(const watch::Collision& collision);
  void add_collision(watch::Collision collision);
  void show_live_line();
  void erase_live_line();
  [[nodiscard]] bool is_enough() const;
  // Says nothing about races.
  [[nodiscard]] bool has_seen_nothing() const;
  void say_if_nothing_was_seen(LiveEnding& ending) const;
  void show_summary();
  [[nodiscard]] LiveEnding ending_of(const ChildEnd& end, const std::string& program) const;

  WatchLimits limits_;
  std::shared_ptr<Symbolizer> symbolizer_;
  LiveReport report_;    // what was confirmed
  LiveReport suspects_;  // the rest
  LiveOutput output_;
  CollisionTranslator translator_;
  watch::StackUnwinder unwinder_;
  struct AtomicModule {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t bias;
    std::vector<AddressRange> data;  // addresses of the file
  };
  std::vector<AtomicModule> atomic_modules_;
  std::vector<std::pair<std::uint32_t, LoadedModules>> waiting_modules_;
  std::vector<watch::Collision> waiting_collisions_;
  std::uint64_t atomic_collisions_ = 0;
  std::string root_;  // of the files of a process in a container; empty for ours
  std::uint64_t findings_ = 0;
  std::uint64_t damaged_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;  // the agent has said farewell
  bool has_live_line_ = false;
  bool is_live_line_visible_ = false;
  watch::Progress latest_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace deadheat
