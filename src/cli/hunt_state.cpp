// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "cli/messages.h"
#include "cli/output.h"
#include "report/json_text.h"

namespace deadheat {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kStateVersion = 1;
constexpr char kStateName[] = "hunt.json";
constexpr std::chrono::milliseconds kSaveInterval{100};

Error directory_failure(std::string_view what, const std::string& path, const std::error_code& error) {
  return {ErrorCode::kIo, fmt::format("cannot {} '{}': {}", what, path, error.message())};
}

bool is_ours(const std::string& name) {
  const bool is_of_run = name.starts_with("run-") || name.starts_with("again-");
  const bool is_known = name.ends_with(".schedule") || name.ends_with(".out");
  return (is_of_run && is_known) || name == kStateName || name == std::string(kStateName) + ".new";
}

// Only what a hunt made, so that a mistake costs nobody a file.
Status empty_directory(const std::string& path) {
  std::error_code error;
  const bool is_hunt = fs::exists(fs::path(path) / kStateName, error);
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (!is_hunt) {
      return Error{ErrorCode::kInvalid, fmt::format("'{}' has other files and no '{}', so it is not the directory of a "
                                                    "hunt; remove it, or choose another with --directory",
                                                    path, kStateName)};
    }
    std::error_code failure;
    if (is_ours(entry.path().filename().string())) fs::remove(entry.path(), failure);
    if (failure) return directory_failure("remove", entry.path().string(), failure);
  }
  if (error) return directory_failure("read", path, error);
  return {};
}

Json counters_of(const schedule::RunCounters& counters) {
  return {{"requests", counters.requests},
          {"suspensions", counters.suspensions},
          {"resumed", counters.resumed},
          {"thrashings", counters.thrashings},
          {"timeouts", counters.timeouts},
          {"suspended_ns", counters.suspended_ns},
          {"steps", counters.steps},
          {"threads", counters.threads},
          {"diverged", counters.diverged},
          {"lost_relations", counters.lost_relations},
          {"lost_acquisitions", counters.lost_acquisitions}};
}

Json setup_of(const HuntSetup& setup) {
  Json out;
  out["command"] = setup.command;
  out["working_directory"] = setup.working_directory;
  out["suppressions"] = setup.suppressions;
  out["strategy"] = word_of(setup.strategy);
  out["seed"] = std::to_string(setup.seed);
  out["runs"] = setup.runs;
  out["depth"] = value_or_null(setup.depth);
  out["time_limit_ms"] = setup.time_limit.count();
  return out;
}

HuntSetup setup_from(const Json& json) {
  HuntSetup setup;
  json.at("command").get_to(setup.command);
  json.at("working_directory").get_to(setup.working_directory);
  json.at("suppressions").get_to(setup.suppressions);
  setup.seed = std::stoull(json.at("seed").get<std::string>());
  json.at("runs").get_to(setup.runs);
  if (!json.at("depth").is_null()) setup.depth = json.at("depth").get<std::uint32_t>();
  setup.time_limit = std::chrono::milliseconds(json.at("time_limit_ms").get<std::int64_t>());
  for (const auto& [word, strategy] : hunt_strategy_choices()) {
    if (word == json.at("strategy").get<std::string>()) setup.strategy = strategy;
  }
  return setup;
}

}  // namespace

std::string_view identifier_of(RunEnd end) {
  switch (end) {
    case RunEnd::kExited:
      return "exited";
    case RunEnd::kCrashed:
      return "crashed";
    case RunEnd::kTimeLimit:
      return "time-limit";
    case RunEnd::kDeadlock:
      return "deadlock";
    case RunEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string format_run_json(const RunRecord& run) {
  Json out;
  out["number"] = run.number;
  out["strategy"] = word_of(run.strategy);
  out["seed"] = run.seed;
  out["seconds"] = run.seconds;
  out["end"] = identifier_of(run.end);
  out["exit_status"] = value_or_null(run.exit_status);
  out["signal"] = value_or_null(run.signal);
  out["counters"] = counters_of(run.counters);
  out["fingerprints"] = run.fingerprints;
  out["new_races"] = run.new_races;
  out["suppressed"] = run.suppressed;
  out["finding"] = value_or_null(run.finding);
  return one_line_of(out);
}

Result<std::string> absolute_directory(const std::string& path) {
  std::error_code error;
  std::string absolute = fs::absolute(path, error).lexically_normal().string();
  if (error) return directory_failure("find", path, error);
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  if (absolute.find('"') != std::string::npos && absolute.find('\'') != std::string::npos) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("'{}' has both sorts of quotes in its name; choose another with --directory", absolute)};
  }
  return absolute;
}

HuntDirectory::HuntDirectory(std::string path, int lock, const HuntSetup& setup) : path_(std::move(path)), lock_(lock) {
  Json heading;
  heading["version"] = kStateVersion;
  heading["tool"] = {{"name", "deadheat"}, {"version", DEADHEAT_VERSION}};
  heading["hunt"] = setup_of(setup);
  heading_ = one_line_of(heading);
  heading_.pop_back();
  heading_ += ",\"runs\":[";
}

HuntDirectory::~HuntDirectory() { ::close(lock_); }

Result<std::unique_ptr<HuntDirectory>> HuntDirectory::create(const std::string& path, const HuntSetup& setup) {
  auto absolute = absolute_directory(path);
  if (!absolute.ok()) return absolute.error();
  std::error_code error;
  fs::create_directories(absolute.value(), error);
  if (error) return directory_failure("make the directory", absolute.value(), error);
  const int lock = ::open(absolute.value().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0) return directory_failure("open the directory", absolute.value(), {errno, std::generic_category()});
  std::unique_ptr<HuntDirectory> directory(new HuntDirectory(std::move(absolute).value(), lock, setup));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("another hunt is at work in '{}'; choose another with --directory", directory->path_)};
  }
  if (Status status = empty_directory(directory->path_); !status.ok()) return status.error();
  if (Status status = directory->save_all(); !status.ok()) return status.error();
  return directory;
}

std::string HuntDirectory::schedule_path(std::uint32_t run) const {
  return fmt::format("{}/run-{}.schedule", path_, run);
}

std::string HuntDirectory::output_path(std::uint32_t run) const { return fmt::format("{}/run-{}.out", path_, run); }

void HuntDirectory::remove_files_of(std::uint32_t run) const {
  ::unlink(schedule_path(run).c_str());
  ::unlink(output_path(run).c_str());
}

Status HuntDirectory::save(const RunRecord& run) {
  runs_ += (runs_.empty() ? "\n" : ",\n") + format_run_json(run);
  is_saved_ = false;
  if (!run.has_news() && Clock::now() - saved_at_ < kSaveInterval) return {};
  return save_all();
}

Status HuntDirectory::save_all() {
  if (is_saved_) return {};
  is_saved_ = true;
  saved_at_ = Clock::now();
  const std::string name = path_ + "/" + kStateName;
  auto output = Output::open(name + ".new");
  if (!output.ok()) return output.error();
  if (Status status = output.value().write(heading_ + runs_ + "\n]}\n"); !status.ok()) return status;
  if (::rename((name + ".new").c_str(), name.c_str()) == 0) return {};
  return directory_failure("replace", name, {errno, std::generic_category()});
}

Result<HuntState> read_hunt_state(const std::string& directory) {
  const std::string name = directory + "/" + kStateName;
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read '{}': {}; was there a hunt in this directory? (see --directory)", name,
                             system_message(errno))};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json document = parse_json(text);
    if (document.is_discarded())
      return Error{ErrorCode::kMalformed, fmt::format("'{}' is damaged: it is not JSON", name)};
    if (const int version = document.at("version").get<int>(); version != kStateVersion) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("'{}' has version {}, and this Deadheat knows {} only", name, version, kStateVersion)};
    }
    HuntState state;
    state.setup = setup_from(document.at("hunt"));
    for (const Json& run : document.at("runs")) {
      state.runs.push_back({run.at("number").get<std::uint32_t>(), run.at("strategy").get<std::string>(),
                            run.at("seed").get<std::uint64_t>(),
                            run.at("fingerprints").get<std::vector<std::string>>()});
    }
    if (state.setup.command.empty()) return Error{ErrorCode::kMalformed, fmt::format("'{}' names no program", name)};
    return state;
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kMalformed, fmt::format("'{}' is damaged: {}", name, problem.what())};
  }
}

}  // namespace deadheat
