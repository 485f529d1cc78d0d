// SPDX-License-Identifier: Apache-2.0
#include "cli/race_selection.h"

#include <fmt/format.h>

#include <ctime>
#include <string_view>
#include <vector>

#include "cli/duration.h"
#include "report/describe.h"

namespace deadheat {

namespace {

std::optional<double> parse_age(std::string_view text) {
  if (!text.ends_with('d')) return parse_duration(text);
  const auto hours = parse_duration(std::string(text.substr(0, text.size() - 1)) + "h");
  return hours ? std::optional(*hours * 24) : std::nullopt;
}

std::optional<Microseconds> parse_date(const std::string& text) {
  for (const char* const form :
       {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* const end = strptime(text.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return static_cast<Microseconds>(timegm(&parts)) * 1'000'000;
  }
  return std::nullopt;
}

}  // namespace

void add_race_selection(CLI::App& command, RaceSelection& selection) {
  command.add_option("--state", selection.state, "open (default), resolved, ignored or all")
      ->check(CLI::IsMember({"open", "resolved", "ignored", "all"}))
      ->option_text("WORD");
  command
      .add_option("--since", selection.since,
                  "Seen since then: 2h, 7d, a date as 2026-11-17 or '2026-11-17 22:20' (UTC), or a run")
      ->option_text("TIME|RUN");
  command.add_flag("--new-only", selection.new_only,
                   "Never seen before --since (default: before the latest run); exit status 66 if there are any");
  std::vector<std::string> kinds;
  for (const RaceKind kind : kRaceKinds) kinds.emplace_back(identifier_of(kind));
  command.add_option("--kind", selection.kind, fmt::format("Of this kind: {}", fmt::join(kinds, ", ")))
      ->check(CLI::IsMember(kinds))
      ->option_text("WORD");
  command.add_option("--mode", selection.mode, "Seen by this command: run, report, hunt, watch, analyze")
      ->check(CLI::IsMember({"run", "report", "hunt", "watch", "analyze"}))
      ->option_text("WORD");
  command.add_option("--run", selection.run, "Seen in this run: the beginning of its id, latest or previous")
      ->option_text("RUN");
  command.add_option("--text", selection.text, "With this in its fingerprint, title, variable, function or file")
      ->option_text("TEXT");
}

Result<Microseconds> parse_since(const std::string& text, Store& store) {
  if (const auto age = parse_age(text)) return now_in_microseconds() - static_cast<Microseconds>(*age);
  if (const auto date = parse_date(text)) return *date;
  const auto run = store.run(text);
  if (run.ok()) return run.value().run.started;
  if (run.error().code != ErrorCode::kInvalid) return run.error();
  return Error{ErrorCode::kInvalid,
               fmt::format("'{}' is no time (2h, 7d, 2026-11-17) and no run; 'deadheat races runs' shows them", text)};
}

Result<RaceFilter> filter_of(const RaceSelection& selection, Store& store) {
  RaceFilter filter;
  if (selection.state != "all") filter.state = state_of(selection.state).value_or(RaceState::kOpen);
  filter.kind = selection.kind;
  filter.mode = selection.mode;
  filter.text = selection.text;
  if (!selection.run.empty()) {
    const auto run = store.run(selection.run);
    if (!run.ok()) return run.error();
    filter.run = run.value().run.id;
  }
  const auto runs = store.runs(1);
  if (!runs.ok()) return runs.error();
  if (!selection.since && (!selection.new_only || runs.value().empty())) return filter;
  const auto since = parse_since(selection.since.value_or("latest"), store);
  if (!since.ok()) return since.error();
  (selection.new_only ? filter.first_since : filter.seen_since) = since.value();
  return filter;
}

}  // namespace deadheat
