// SPDX-License-Identifier: Apache-2.0
// `deadheat races`: what the store knows of all runs.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/race_selection.h"
#include "cli/races_compare.h"
#include "cli/store_writer.h"
#include "report/describe.h"
#include "report/live_text.h"
#include "report/race_formats.h"
#include "report/race_record.h"
#include "report/store_words.h"

namespace deadheat {

namespace {

struct RacesOptions {
  StoreOptions store;
  ReportFormat format = ReportFormat::kText;
  ColourChoice colour = ColourChoice::kAuto;
  std::optional<std::string> output;
  RaceSelection selection;
  std::vector<std::string> names;  // fingerprints, runs or other stores
  std::string note;
  std::size_t limit = 20;
};

constexpr char kRacesFooter[] =
    R"(Every run of 'deadheat run', 'hunt', 'watch', 'analyze' and 'report' is kept in a store: a file,
.deadheat/races.db, or a PostgreSQL database that a team shares (--store postgresql://...,
or DEADHEAT_STORE in the environment). A race has the same fingerprint in all of them; its
first digits are enough.

Examples:
  deadheat races list                            open races, the latest first
  deadheat races list --since 7d --mode watch
  deadheat races list --new-only                 66 if the latest run brought a new one
  deadheat races show 8c0f                       both stacks, and every run that saw it
  deadheat races resolve 8c0f --note 'fixed'     open again when it is seen again
  deadheat races ignore 8c0f --note 'harmless'
  deadheat races diff previous latest            what went, what came
  deadheat races suppress 8c0f >> known.supp     a line for --suppressions
  deadheat races export -o races.json && deadheat races merge races.json --store other.db

Exit codes: 0 done; 66 list --new-only or diff have new races; 1 no such store or failure;
2 bad usage, or no such race or run.)";

ExitCode refused(const Error& error) {
  return failed(error, error.code == ErrorCode::kInvalid ? ExitCode::kUsage : ExitCode::kFailure);
}

ExitCode print(const RacesOptions& options, const std::string& text, ExitCode result = ExitCode::kSuccess) {
  auto output = Output::open(options.output);
  if (!output.ok()) return failed(output.error(), ExitCode::kFailure);
  const Status status = output.value().write(text);
  return status.ok() ? result : failed(status.error(), ExitCode::kFailure);
}

ColourMode colour_of(const RacesOptions& options) { return colour_for(options.colour, STDOUT_FILENO); }

ExitCode list_races(Store& store, const RacesOptions& options) {
  auto filter = filter_of(options.selection, store);
  if (!filter.ok()) return refused(filter.error());
  filter.value().with_documents = options.format == ReportFormat::kJson;
  const auto rows = store.races(filter.value());
  if (!rows.ok()) return refused(rows.error());
  const auto is_open = [](const RaceRow& row) { return row.state == RaceState::kOpen; };
  const bool fails = options.selection.new_only && std::any_of(rows.value().begin(), rows.value().end(), is_open);
  const ExitCode result = fails ? ExitCode::kRacesFound : ExitCode::kSuccess;
  if (options.format == ReportFormat::kJson) {
    return print(options, format_store_json(DEADHEAT_VERSION, store.place(), rows.value()), result);
  }
  std::string text;
  for (const RaceRow& row : rows.value()) text += format_race_row(row, colour_of(options));
  const char* const what = options.selection.new_only ? "new race" : "race";
  return print(options, text + fmt::format("{} in {}\n", counted(rows.value().size(), what), printable(store.place())),
               result);
}

ExitCode list_runs(Store& store, const RacesOptions& options) {
  const auto rows = store.runs(options.limit);
  if (!rows.ok()) return refused(rows.error());
  if (options.format == ReportFormat::kJson) return print(options, format_runs_json(rows.value()));
  std::string text;
  for (const RunRow& row : rows.value()) text += format_run_row(row);
  return print(options, text);
}

ExitCode show_races(Store& store, const RacesOptions& options) {
  std::string text;
  std::uint64_t number = 0;
  for (const std::string& name : options.names) {
    const auto race = store.race(name);
    if (!race.ok()) return refused(race.error());
    const RaceRow& row = race.value().row;
    if (options.format == ReportFormat::kJson) {
      text += format_race_json(DEADHEAT_VERSION, store.place(), race.value());
      continue;
    }
    const auto live = race_of_document(row.race.document);
    text += live.ok() ? format_live_race(live.value(), ++number, colour_of(options))
                      : format_race_row(row, colour_of(options));
    text += fmt::format("\n{}{}; {}\n", word_of(row.state),
                        row.note.empty() ? "" : fmt::format(" ({})", printable(row.note)), describe_sightings(row));
    for (const RaceDetails::Seen& seen : race.value().history) {
      text += fmt::format("  {}  {}  {:<7}  {:>12}  {}  {}\n", seen.run.id.substr(0, 12),
                          describe_time(seen.sighting.first_seen), seen.run.mode,
                          counted(seen.sighting.occurrences, "time"), printable(seen.run.machine),
                          printable(base_name(seen.run.program)));
    }
    text += "\n";
  }
  return print(options, text);
}

ExitCode set_states(Store& store, const RacesOptions& options, RaceState state) {
  for (const std::string& name : options.names) {
    if (const Status status = store.set_state(name, state, options.note); !status.ok()) return refused(status.error());
    const auto race = store.race(name);
    if (race.ok()) {
      const Sighting& seen = race.value().row.race;
      print_note(
          fmt::format("{} is {}: {}, {} / {}", seen.fingerprint, word_of(state), seen.title, seen.later, seen.earlier));
    }
  }
  return ExitCode::kSuccess;
}

ExitCode suppress_races(Store& store, const RacesOptions& options) {
  std::string text;
  for (const std::string& name : options.names) {
    const auto race = store.race(name);
    if (!race.ok()) return refused(race.error());
    const auto live = race_of_document(race.value().row.race.document);
    const std::string lines = live.ok() ? format_suppression(live.value()) : std::string();
    if (lines.empty()) {
      return refused(
          {ErrorCode::kInvalid, fmt::format("no function or module of race '{}' is known; 'deadheat races ignore' "
                                            "or --baseline can still hide it",
                                            name)});
    }
    text += lines;
  }
  return print(options, text);
}

ExitCode diff_races(Store& store, const RacesOptions& options) {
  const auto before = races_of(options.names[0], store);
  if (!before.ok()) return refused(before.error());
  const auto after = races_of(options.names[1], store);
  if (!after.ok()) return refused(after.error());
  const RaceDifference difference = compare_races(before.value(), after.value());
  const ExitCode result = difference.added.empty() ? ExitCode::kSuccess : ExitCode::kRacesFound;
  const bool is_json = options.format == ReportFormat::kJson;
  return print(options,
               is_json ? format_difference_json(difference) : format_difference(difference, colour_of(options)),
               result);
}

ExitCode export_races(Store& store, const RacesOptions& options) {
  const auto content = store.content();
  if (!content.ok()) return refused(content.error());
  return print(options, format_export(content.value()));
}

ExitCode merge_races(Store& store, const RacesOptions& options) {
  for (const std::string& name : options.names) {
    const auto content = content_of_place(name);
    if (!content.ok()) return failed(content.error(), ExitCode::kFailure);
    if (const Status status = store.merge(content.value()); !status.ok()) return refused(status.error());
    print_note(fmt::format("'{}': {} in {} are now in '{}'", public_address(name),
                           counted(content.value().races.size(), "race"), counted(content.value().runs.size(), "run"),
                           store.place()));
  }
  return ExitCode::kSuccess;
}

using RacesAction = std::function<ExitCode(Store&, const RacesOptions&)>;

class RacesCommand {
 public:
  RacesCommand(CLI::App& races, ExitCode& result, const char* name, const char* help, StoreAccess access,
               RacesAction action)
      : options(std::make_shared<RacesOptions>()), command(races.add_subcommand(name, help)) {
    add_store_option(*command, options->store);
    command->callback([held = options, &result, access, action] {
      auto store = open_store(held->store, access);
      result = store.ok() ? action(store.value(), *held) : refused(store.error());
    });
  }
  RacesCommand& with_format() {
    add_format_option(*command, options->format);
    add_colour_option(*command, options->colour);
    add_name_option(*command);
    return with_output();
  }
  RacesCommand& with_output() {
    command->add_option("-o,--output", options->output, "Write there, not to standard output")->option_text("FILE");
    return *this;
  }
  RacesCommand& with_names(const char* name, const char* help, int count = -1) {
    CLI::Option* const option = command->add_option(name, options->names, help)->required()->option_text(" ");
    if (count > 0) option->expected(count);
    return *this;
  }

  std::shared_ptr<RacesOptions> options;
  CLI::App* command;
};

}  // namespace

void add_races_command(CLI::App& app, ExitCode& result) {
  CLI::App& races = *app.add_subcommand("races", "List, judge, compare and export the races of all runs");
  races.footer(kRacesFooter);
  races.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, StoreAccess access, RacesAction action) {
    return RacesCommand(races, result, name, help, access, std::move(action));
  };
  const auto judge = [&](const char* name, const char* help, RaceState state) {
    RacesCommand command = add(name, help, StoreAccess::kRead, [state](Store& store, const RacesOptions& options) {
      return set_states(store, options, state);
    });
    command.with_names("FINGERPRINTS", "Of the races, or the beginnings of them");
    command.command->add_option("--note", command.options->note, "Why, for others")->option_text("TEXT");
  };
  RacesCommand list = add("list", "Races, the latest first", StoreAccess::kRead, list_races);
  list.with_format();
  add_race_selection(*list.command, list.options->selection);
  RacesCommand runs = add("runs", "Runs, the latest first", StoreAccess::kRead, list_runs);
  runs.with_format();
  runs.command->add_option("--limit", runs.options->limit, "At most so many (default 20; 0: all)")
      ->option_text("NUMBER");
  add("show", "A race in full, and every run that saw it", StoreAccess::kRead, show_races)
      .with_format()
      .with_names("FINGERPRINTS", "Of the races, or the beginnings of them");
  judge("open", "Races that are to be looked at", RaceState::kOpen);
  judge("resolve", "Races that are fixed; open again when they are seen again", RaceState::kResolved);
  judge("ignore", "Races that nobody wants to hear of", RaceState::kIgnored);
  add("suppress", "Lines of a suppression file that hide a race", StoreAccess::kRead, suppress_races)
      .with_output()
      .with_names("FINGERPRINTS", "Of the races, or the beginnings of them");
  add("diff", "Which races B has and A has not; A and B are runs, reports or stores", StoreAccess::kRead, diff_races)
      .with_format()
      .with_names("A_B", "A run (latest, previous, the beginning of an id), a JSON report, or a store", 2);
  add("export", "All of the store as JSON", StoreAccess::kRead, export_races).with_output();
  add("merge", "Take in other stores or exports", StoreAccess::kWrite, merge_races)
      .with_names("STORES", "Files or postgresql://...");
}

}  // namespace deadheat
