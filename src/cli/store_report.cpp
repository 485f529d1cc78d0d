// SPDX-License-Identifier: Apache-2.0
#include "cli/store_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "cli/html_output.h"
#include "cli/launch.h"
#include "cli/messages.h"
#include "report/describe.h"
#include "report/live_text.h"
#include "report/race_record.h"
#include "report/store_words.h"

namespace deadheat {

namespace {

// Rows without those that a suppression hides; how many those are.
Result<std::uint64_t> suppress(std::vector<RaceRow>& rows, const std::vector<std::string>& paths) {
  auto suppressions = read_suppressions(paths);
  if (!suppressions.ok()) return suppressions.error();
  return std::erase_if(rows, [&](const RaceRow& row) {
    const auto race = race_of_document(row.race.document);
    return race.ok() && suppressions.value().match(race.value().live, race.value().program) != nullptr;
  });
}

std::string text_of_rows(const std::vector<RaceRow>& rows, ColourMode colour) {
  std::string text;
  std::uint64_t number = 0;
  for (const RaceRow& row : rows) {
    auto race = race_of_document(row.race.document);
    if (!race.ok()) {
      text += format_race_row(row, colour) + "\n";
      continue;
    }
    race.value().occurrences = row.race.occurrences;
    text += format_live_race(race.value(), ++number, colour);
    text += fmt::format("              {}\n\n", describe_sightings(row));
  }
  return text;
}

}  // namespace

ExitCode report_store(const LiveOutputOptions& options, const std::vector<std::string>& suppressions,
                      const RaceSelection& selection) {
  const auto refused = [](const Error& error) {
    return failed(error, error.code == ErrorCode::kInvalid ? ExitCode::kUsage : ExitCode::kFailure);
  };
  auto files = ReportFiles::open(options.files);
  if (!files.ok()) return failed(files.error(), ExitCode::kFailure);
  auto store = open_store(options.store, StoreAccess::kRead);
  if (!store.ok()) return refused(store.error());
  auto filter = filter_of(selection, store.value());
  if (!filter.ok()) return refused(filter.error());
  filter.value().with_documents = true;
  auto rows = store.value().races(filter.value());
  if (!rows.ok()) return refused(rows.error());
  const auto suppressed = suppress(rows.value(), suppressions);
  if (!suppressed.ok()) return failed(suppressed.error(), ExitCode::kUsage);

  std::vector<Sighting> races;
  std::set<std::string> ignored;
  for (const RaceRow& row : rows.value()) {
    races.push_back(row.race);
    if (row.state == RaceState::kIgnored) ignored.insert(row.race.fingerprint);
  }
  const RaceReport report = files.value().report_of(store.value().place(), std::move(races), ignored);
  const auto json = [&] { return format_store_json(DEADHEAT_VERSION, store.value().place(), rows.value()); };
  const auto page = [&] { return report_of_store(store.value(), rows.value()); };
  auto output = Output::open(options.output);
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);
  std::string text;
  if (options.format == ReportFormat::kJson) {
    text = json();
  } else {
    text = text_of_rows(rows.value(), colour_for(options.colour, output.value().descriptor()));
    text += fmt::format("deadheat: {} in {}", counted(rows.value().size(), "race"), printable(store.value().place()));
    text += suppressed.value() == 0 ? "\n" : fmt::format(", {} suppressed\n", grouped(suppressed.value()));
    if (const std::string compared = files.value().describe_baseline(report); !compared.empty()) {
      text += fmt::format("deadheat: {}\n", compared);
    }
  }
  if (const Status status = output.value().write(text); !status.ok()) return failed(status.error(), ExitCode::kFailure);
  if (const Status status = files.value().write(report, json, page); !status.ok())
    return failed(status.error(), ExitCode::kFailure);
  return report.failures() == 0 ? ExitCode::kSuccess : ExitCode::kRacesFound;
}

}  // namespace deadheat
