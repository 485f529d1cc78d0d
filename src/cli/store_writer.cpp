// SPDX-License-Identifier: Apache-2.0
#include "cli/store_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/messages.h"
#include "report/describe.h"
#include "report/json_text.h"
#include "report/store_upgrade.h"

namespace deadheat {

namespace {

constexpr char kStoreVariable[] = "DEADHEAT_STORE";

std::string machine_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? printable(name) : std::string();
}

// What we make by ourselves in a source tree should not end up in a commit.
void make_directory_of(const std::string& path) {
  std::error_code error;
  const auto directory = std::filesystem::path(path).parent_path();
  if (directory.empty() || !std::filesystem::create_directories(directory, error)) return;
  if (path == kDefaultStore) std::ofstream(directory / ".gitignore") << "*\n";
}

Result<Store> open_for_writing(const std::string& place) {
  if (!is_postgres_url(place)) make_directory_of(place);
  auto store = Store::open(place, StoreAccess::kWrite);
  if (!store.ok()) return store;
  if (Status status = upgrade(store.value()); !status.ok()) return status.error();
  return store;
}

}  // namespace

void add_store_option(CLI::App& command, StoreOptions& options) {
  command
      .add_option("--store", options.place,
                  fmt::format("A file or postgresql://... (default: {} or {})", kStoreVariable, kDefaultStore))
      ->option_text("STORE");
}

void add_store_options(CLI::App& command, StoreOptions& options) {
  add_store_option(command, options);
  command.add_flag("--no-store", options.is_off, "Keep nothing for 'deadheat races'");
}

std::optional<std::string> place_of_store(const StoreOptions& options) {
  if (options.is_off) return std::nullopt;
  std::string place = kDefaultStore;
  if (const char* const said = std::getenv(kStoreVariable); said != nullptr && *said != '\0') place = said;
  if (options.place) place = *options.place;
  if (place == "none") return std::nullopt;
  return place;
}

Result<Store> open_store(const StoreOptions& options, StoreAccess access) {
  const auto place = place_of_store(options);
  if (!place)
    return Error{ErrorCode::kInvalid, fmt::format("{} says 'none'; name a store with --store", kStoreVariable)};
  auto store = access == StoreAccess::kWrite ? open_for_writing(*place) : Store::open(*place, access);
  std::error_code ignored;
  if (!store.ok() && access == StoreAccess::kRead && !is_postgres_url(*place) &&
      !std::filesystem::exists(*place, ignored)) {
    return Error{ErrorCode::kIo,
                 store.error().message + "; 'deadheat run' and the other commands that find races make one"};
  }
  return store;
}

Status check_named_store(const StoreOptions& options) {
  const auto place = place_of_store(options);
  if (!options.place || !place) return {};
  const auto store = open_store(options, StoreAccess::kWrite);
  return store.ok() ? Status() : Status(store.error());
}

bool StoreWriter::is_ready() {
  if (store_) return true;
  if (!place_) return false;
  auto opened = open_for_writing(*place_);
  if (opened.ok()) {
    store_.emplace(std::move(opened).value());
    return true;
  }
  give_up(opened.error());
  return false;
}

void StoreWriter::give_up(const Error& error) {
  if (is_named_) {
    status_ = Error{error.code, fmt::format("this run is not kept in the store: {}", error.message)};
  } else {
    print_warning(fmt::format("this run is not kept in the store: {} (--no-store silences this)", error.message));
  }
  store_.reset();
  place_.reset();
}

void StoreWriter::begin(StoredRun& run) {
  run.machine = machine_name();
  run.tool = DEADHEAT_VERSION;
  run.started = now_in_microseconds();
  run.program = printable(run.program);
  if (!is_ready()) return;
  auto id = store_->begin(run);
  if (!id.ok()) return give_up(id.error());
  run.id = std::move(id).value();
}

void StoreWriter::add(const StoredRun& run, const std::vector<Sighting>& sightings) {
  if (run.id.empty() || sightings.empty() || !store_) return;
  if (const Status status = store_->add(run.id, sightings); !status.ok()) give_up(status.error());
}

void StoreWriter::finish(StoredRun& run) {
  if (!run.duration) run.duration = std::max<Microseconds>(0, now_in_microseconds() - run.started);
  if (run.id.empty() || !store_) return;
  if (const Status status = store_->finish(run); !status.ok()) give_up(status.error());
}

std::string stored_arguments(const std::vector<std::string>& words) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t at = 1; at < words.size(); ++at) list.push_back(words[at]);
  return one_line_of(list);
}

std::string status_words(std::optional<int> exit_status, std::optional<int> signal, const char* otherwise) {
  if (signal) return fmt::format("signal {}", *signal);
  if (exit_status) return fmt::format("exit {}", *exit_status);
  return otherwise;
}

}  // namespace deadheat
