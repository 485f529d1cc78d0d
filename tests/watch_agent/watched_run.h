// SPDX-License-Identifier: Apache-2.0
// Runs the watched program with the agent preloaded and reads what the agent tells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "watch/site_table.h"
#include "watch/watch_packet.h"

namespace deadheat::watch {

// What the watched program says of its own instructions, as a table in a file for the agent.
class WatchedSites {
 public:
  WatchedSites();
  ~WatchedSites();
  WatchedSites(const WatchedSites&) = delete;
  WatchedSites& operator=(const WatchedSites&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  // The name (watched_sites.h) of the instruction at that offset; 0 if it has none.
  [[nodiscard]] unsigned name_at(std::uint64_t offset) const;

 private:
  std::string path_;
  std::map<std::uint64_t, unsigned> names_;
};

struct RunResult {
  bool said_hello = false;
  bool said_bye = false;
  Hello hello;
  Progress progress;
  std::vector<Collision> collisions;
  std::vector<std::string> messages;
  std::string modules;
  std::string output;  // standard output and error
  int status = -1;     // as waitpid gives it

  // Names of the two instructions of a collision.
  [[nodiscard]] std::pair<unsigned, unsigned> names(const Collision& collision, const WatchedSites& sites) const;
  [[nodiscard]] std::size_t count_confirmed() const;
  [[nodiscard]] std::size_t count_suspects() const;
};

// Runs `watched_program ARGUMENTS` until it ends. Its standard input is closed, which ends most of its modes, when
// is_enough() says so of what has come so far, or after that many seconds.
[[nodiscard]] RunResult run_watched(const WatchedSites& sites, const std::string& arguments, const std::string& options,
                                    const std::function<bool(const RunResult&)>& is_enough, double seconds);
// The same, but nobody listens after the first packet.
[[nodiscard]] RunResult run_unheard(const WatchedSites& sites, const std::string& arguments,
                                    const std::string& options);
// Without the agent.
[[nodiscard]] RunResult run_alone(const std::string& arguments);

// Whether this system lets processes have breakpoints; otherwise why not.
[[nodiscard]] bool has_breakpoints(std::string& reason);

}  // namespace deadheat::watch
