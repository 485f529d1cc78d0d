// SPDX-License-Identifier: Apache-2.0
// Where races are kept, and StoreWriter: how commands that find races write them there.
//
// The default store, and that of the environment, is a service and not the result: one that cannot be opened or
// written costs a warning, once, and nothing else. A store that the command line names is a result as any file that it
// names: it is tried before the work begins, and the command fails if it cannot be written.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace deadheat {

struct StoreOptions {
  std::optional<std::string> place;
  bool is_off = false;
};

// --store and --no-store.
void add_store_options(CLI::App& command, StoreOptions& options);
// --store alone, for commands that read.
void add_store_option(CLI::App& command, StoreOptions& options);

// What was asked for, or what DEADHEAT_STORE says, or .deadheat/races.db; nothing if there is to be
// none (--no-store, or the word "none").
[[nodiscard]] std::optional<std::string> place_of_store(const StoreOptions& options);

// The same for those who must have one. Errors: kInvalid; those of Store::open().
[[nodiscard]] Result<Store> open_store(const StoreOptions& options, StoreAccess access);

// Before the work begins: whether the store that --store names can be written. Errors: those of Store::open().
[[nodiscard]] Status check_named_store(const StoreOptions& options);

class StoreWriter {
 public:
  // Opens nothing yet.
  explicit StoreWriter(const StoreOptions& options)
      : place_(place_of_store(options)), is_named_(options.place.has_value()) {}

  // Chooses the run's id, and fills in the machine, the time and our version. Nothing else happens
  // when there is no store.
  void begin(StoredRun& run);
  // On disk when it returns, if the store works at all.
  void add(const StoredRun& run, const std::vector<Sighting>& sightings);
  // With `duration` filled in from the time of begin(), unless it is known.
  void finish(StoredRun& run);
  // The first failure, of a store that --store names.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  [[nodiscard]] bool is_ready();
  void give_up(const Error& error);

  std::optional<std::string> place_;  // empty when there is none, or it failed
  bool is_named_;
  std::optional<Store> store_;
  Status status_;
};

// The arguments after the program's name, as the store keeps them.
[[nodiscard]] std::string stored_arguments(const std::vector<std::string>& words);

// "exit 0", "signal 9", or what is given.
[[nodiscard]] std::string status_words(std::optional<int> exit_status, std::optional<int> signal,
                                       const char* otherwise);

}  // namespace deadheat
