// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "store/schema.h"
#include "store/sql_connection.h"
#include "store/store_fixture.h"

namespace deadheat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr char kA[] = "aa00000000000001";
constexpr char kB[] = "ab00000000000002";

std::vector<std::string> fingerprints(const std::vector<RaceRow>& rows) {
  std::vector<std::string> all;
  for (const RaceRow& row : rows) all.push_back(row.race.fingerprint);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> fingerprints(Store& store, const RaceFilter& filter) {
  return fingerprints(must(store.races(filter)));
}

TEST_P(StoreTest, ARaceOfTwoRunsIsOneRowWithBothHistories) {
  Store store = open(place_);
  const std::string first = must(store.begin(example_run("run")));
  EXPECT_OK(store.add(first, example_sighting(kA, 3)));
  StoredRun sampled = example_run("watch", 2'000'000);
  const std::string second = must(store.begin(sampled));
  Sighting newer = example_sighting(kA, 4);
  newer.later = "deposit bank.cpp:43";
  newer.document = "{\"newer\":true}";
  EXPECT_OK(store.add(second, newer));
  sampled.id = second;
  sampled.duration = 5'000;
  sampled.rate = 0.03;
  sampled.effective_rate = 0.028;
  sampled.overhead = 0.05;
  sampled.status = "exit 0";
  EXPECT_OK(store.finish(sampled));

  const RaceDetails race = must(store.race("aa"));
  EXPECT_EQ(race.row.race.fingerprint, kA);
  EXPECT_EQ(race.row.race.occurrences, 7U);
  EXPECT_EQ(race.row.race.later, "deposit bank.cpp:43");
  EXPECT_EQ(race.row.race.document, "{\"newer\":true}");
  EXPECT_EQ(race.row.runs, 2U);
  EXPECT_THAT(race.row.modes, ElementsAre("run", "watch"));
  EXPECT_EQ(race.row.first_run, first);
  EXPECT_EQ(race.row.last_run, second);
  EXPECT_LE(race.row.first_seen, race.row.last_seen);
  EXPECT_EQ(race.row.rate, 0.028);
  EXPECT_EQ(race.row.state, RaceState::kOpen);
  ASSERT_EQ(race.history.size(), 2U);
  EXPECT_EQ(race.history[0].run.status, "running");
  EXPECT_EQ(race.history[0].sighting.occurrences, 3U);
  EXPECT_EQ(race.history[1].run.duration, 5'000);
  EXPECT_EQ(race.history[1].run.rate, 0.03);
  EXPECT_EQ(race.history[1].run.overhead, 0.05);
  EXPECT_EQ(race.history[1].run.arguments, R"(["--accounts","7"])");
  EXPECT_EQ(race.history[1].run.status, "exit 0");
}

TEST_P(StoreTest, OccurrencesOfOneRunAreReplacedNotAdded) {
  Store store = open(place_);
  const std::string run = must(store.begin(example_run("run")));
  EXPECT_OK(store.add(run, example_sighting(kA, 1)));
  EXPECT_OK(store.add(run, std::vector{example_sighting(kB, 9), example_sighting(kA, 5)}));
  EXPECT_EQ(must(store.race(kA)).row.race.occurrences, 5U);
  EXPECT_EQ(must(store.race(kA)).row.runs, 1U);
  EXPECT_EQ(must(store.race(kB)).row.race.occurrences, 9U);
}

TEST_P(StoreTest, FiltersChooseRaces) {
  Store store = open(place_);
  const std::string first = must(store.begin(example_run("run")));
  EXPECT_OK(store.add(first, example_sighting(kA)));
  const Microseconds between = must(store.race(kA)).row.first_seen + 1;
  const std::string second = must(store.begin(example_run("hunt", 2'000'000)));
  Sighting other = example_sighting(kB);
  other.kind = "use-free";
  other.variable = "100%_Queue";
  EXPECT_OK(store.add(second, other));

  const auto filtered = [&](auto set) {
    RaceFilter filter;
    set(filter);
    return fingerprints(store, filter);
  };
  EXPECT_THAT(filtered([](RaceFilter&) {}), ElementsAre(kA, kB));
  EXPECT_THAT(filtered([](RaceFilter& filter) { filter.kind = "use-free"; }), ElementsAre(kB));
  EXPECT_THAT(filtered([](RaceFilter& filter) { filter.mode = "run"; }), ElementsAre(kA));
  EXPECT_THAT(filtered([&](RaceFilter& filter) { filter.run = second; }), ElementsAre(kB));
  EXPECT_THAT(filtered([](RaceFilter& filter) { filter.text = "%_queue"; }), ElementsAre(kB));
  EXPECT_THAT(filtered([](RaceFilter& filter) { filter.text = "a%c"; }), ElementsAre());
  EXPECT_THAT(filtered([&](RaceFilter& filter) { filter.first_since = between; }), ElementsAre(kB));
  EXPECT_OK(store.add(second, example_sighting(kA)));
  EXPECT_THAT(filtered([&](RaceFilter& filter) { filter.seen_since = between; }), ElementsAre(kA, kB));
  EXPECT_THAT(filtered([&](RaceFilter& filter) { filter.first_since = between; }), ElementsAre(kB));
  EXPECT_OK(store.set_state(kB, RaceState::kIgnored, "known"));
  EXPECT_THAT(filtered([](RaceFilter& filter) { filter.state = RaceState::kOpen; }), ElementsAre(kA));
}

TEST_P(StoreTest, AResolvedRaceOpensAgainOnlyInALaterRun) {
  Store store = open(place_);
  const std::string during = must(store.begin(example_run("run", now_in_microseconds())));
  EXPECT_OK(store.add(during, std::vector{example_sighting(kA), example_sighting(kB)}));
  EXPECT_OK(store.set_state("aa", RaceState::kResolved, "fixed in 4f2"));
  EXPECT_OK(store.set_state("ab", RaceState::kIgnored, "harmless"));
  EXPECT_OK(store.add(during, std::vector{example_sighting(kA, 8), example_sighting(kB, 8)}));
  EXPECT_EQ(must(store.race(kA)).row.state, RaceState::kResolved);
  EXPECT_EQ(must(store.race(kA)).row.note, "fixed in 4f2");
  const std::string later = must(store.begin(example_run("run", now_in_microseconds() + 1)));
  EXPECT_OK(store.add(later, std::vector{example_sighting(kA), example_sighting(kB)}));
  EXPECT_EQ(must(store.race(kA)).row.state, RaceState::kOpen);
  EXPECT_EQ(must(store.race(kB)).row.state, RaceState::kIgnored);
}

TEST_P(StoreTest, RunsSayWhatWasNew) {
  Store store = open(place_);
  const std::string first = must(store.begin(example_run("run")));
  EXPECT_OK(store.add(first, example_sighting(kA)));
  const std::string second = must(store.begin(example_run("run", 2'000'000)));
  EXPECT_OK(store.add(second, std::vector{example_sighting(kA), example_sighting(kB)}));
  const std::vector<RunRow> runs = must(store.runs());
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].run.id, second);
  EXPECT_EQ(runs[0].races, 2U);
  EXPECT_EQ(runs[0].new_races, 1U);
  EXPECT_EQ(runs[1].new_races, 1U);
  EXPECT_EQ(must(store.run("latest")).run.id, second);
  EXPECT_EQ(must(store.run("previous")).run.id, first);
  EXPECT_EQ(must(store.run(first.substr(0, 10))).run.id, first);
  EXPECT_EQ(must(store.runs(1)).size(), 1U);
}

TEST_P(StoreTest, WhatIsNotThereIsAnErrorWithAWayOut) {
  Store store = open(place_);
  EXPECT_THAT(store.race("zz").error().message, HasSubstr("is no fingerprint"));
  EXPECT_THAT(store.race("aa").error().message, HasSubstr("races list"));
  EXPECT_THAT(store.run("latest").error().message, HasSubstr("races runs"));
  EXPECT_EQ(store.add("0123", example_sighting(kA)).error().code, ErrorCode::kInvalid);
  const std::string run = must(store.begin(example_run("run")));
  EXPECT_OK(store.add(run, std::vector{example_sighting(kA), example_sighting(kB)}));
  EXPECT_THAT(store.race("a").error().message, HasSubstr("beginning of 2 fingerprints"));
}

TEST_P(StoreTest, MergingTwiceIsMergingOnce) {
  Store ours = open(place_);
  Store theirs = open(new_place());
  const std::string run = must(ours.begin(example_run("run")));
  EXPECT_OK(ours.add(run, example_sighting(kA, 2)));
  const std::string other = must(theirs.begin(example_run("hunt", 2'000'000)));
  EXPECT_OK(theirs.add(other, std::vector{example_sighting(kA, 3), example_sighting(kB, 1)}));
  EXPECT_OK(theirs.set_state(kA, RaceState::kIgnored, "theirs"));
  const StoreContent content = must(theirs.content());
  EXPECT_OK(ours.merge(content));
  EXPECT_OK(ours.merge(content));
  const RaceRow race = must(ours.race(kA)).row;
  EXPECT_EQ(race.race.occurrences, 5U);
  EXPECT_EQ(race.runs, 2U);
  EXPECT_EQ(race.state, RaceState::kIgnored);
  EXPECT_EQ(race.note, "theirs");
  EXPECT_THAT(race.modes, ElementsAre("hunt", "run"));
  EXPECT_EQ(must(ours.runs()).size(), 2U);
  EXPECT_THAT(fingerprints(ours, {}), ElementsAre(kA, kB));
}

TEST_P(StoreTest, ChangesShow) {
  Store store = open(place_);
  const std::uint64_t empty = must(store.change_count());
  const std::string run = must(store.begin(example_run("run")));
  const std::uint64_t begun = must(store.change_count());
  EXPECT_NE(begun, empty);
  EXPECT_OK(store.add(run, example_sighting(kA)));
  EXPECT_NE(must(store.change_count()), begun);
  EXPECT_EQ(must(store.change_count()), must(store.change_count()));
}

TEST_P(StoreTest, AnEarlierVersionIsBroughtUpToDateAndALaterOneRefused) {
  const auto connect = [&] {
    return must(GetParam() == Backend::kSqlite ? open_sqlite(place_, true) : open_postgres(place_));
  };
  {
    const auto connection = connect();
    EXPECT_OK(bring_up_to_date(*connection, 1));
    must(connection->run(
        "INSERT INTO races VALUES ('aa00000000000001', 'k', 't', 'v', 'e', 'l', 'open', 0, '', '{}', 1)"));
    must(
        connection->run("INSERT INTO runs (id, mode, program, arguments, machine, tool, started, status) "
                        "VALUES ('77', 'run', '', '', '', '', 5, 'exit 0')"));
    must(connection->run("INSERT INTO sightings VALUES ('aa00000000000001', '77', 4, 6, 6)"));
  }
  EXPECT_EQ(must(open(place_, StoreAccess::kRead).race(kA)).row.race.occurrences, 4U) << "reading changes nothing";
  Store store = open(place_, StoreAccess::kWrite);
  EXPECT_EQ(must(store.race(kA)).row.race.occurrences, 4U);
  const auto connection = connect();
  EXPECT_EQ(std::get<std::int64_t>(must(connection->run("SELECT version FROM deadheat_schema"))[0][0]), kSchemaVersion);
  must(connection->run("UPDATE deadheat_schema SET version = 99"));
  const auto refused = Store::open(place_, StoreAccess::kWrite);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("version 99"));
}

TEST_P(StoreTest, RacesOfAnEarlierVersionGetTheirPresentNames) {
  {
    const auto connection = must(GetParam() == Backend::kSqlite ? open_sqlite(place_, true) : open_postgres(place_));
    EXPECT_OK(bring_up_to_date(*connection, 2));
    for (const std::string name : {"aa00000000000001", "aa00000000000002"}) {
      must(connection->run("INSERT INTO races VALUES ($1, 'k', 't', 'v', 'e', 'l', 'ignored', 7, 'known', $2, 1)",
                           {name, "document of " + name}));
      must(
          connection->run("INSERT INTO runs (id, mode, program, arguments, machine, tool, started, status) "
                          "VALUES ($1, 'run', '', '', '', '', 5, 'exit 0')",
                          {"77" + name}));
      must(connection->run("INSERT INTO sightings VALUES ($1, $2, 4, 6, 6)", {name, "77" + name}));
    }
  }
  Store store = open(place_, StoreAccess::kWrite);
  int asked = 0;
  const RaceRenewal renewal = [&](const std::string& document) -> std::optional<RenewedRace> {
    ++asked;
    if (document != "document of aa00000000000001") return std::nullopt;
    return RenewedRace{"bb00000000000001", R"({"aliases":["aa00000000000001"]})"};
  };
  EXPECT_OK(store.renew(renewal));
  EXPECT_OK(store.renew(renewal));
  EXPECT_EQ(asked, 2) << "once is enough";
  EXPECT_THAT(fingerprints(store, {}), UnorderedElementsAre("aa00000000000002", "bb00000000000001"));
  const RaceRow race = must(store.race("aa00000000000001")).row;
  EXPECT_EQ(race.race.fingerprint, "bb00000000000001") << "the old name is understood";
  EXPECT_EQ(race.state, RaceState::kIgnored);
  EXPECT_EQ(race.note, "known");
  EXPECT_EQ(race.race.occurrences, 4U);
}

TEST_P(StoreTest, AServerThatFallsOverIsAskedAgain) {
  if (GetParam() != Backend::kPostgres) GTEST_SKIP() << "a file has no server";
  Store store = open(place_);
  const std::string run = must(store.begin(example_run("run")));
  ASSERT_TRUE(crash_server());
  EXPECT_OK(store.add(run, example_sighting(kA)));
  EXPECT_EQ(must(store.race(kA)).row.runs, 1U);
}

// As users would: with the command, in ten processes at once.
TEST_P(StoreTest, CommandsWriteToItAtOnce) {
  std::ofstream(directory_ + "/racy.trace")
      << "0 fork 1\n0 write x 8 @ a.cpp:1(f)\n1 write x 8 @ a.cpp:2(g)\n0 join 1\n";
  const std::string command = fmt::format("export DEADHEAT_STORE='{}'; cd '{}' && ", place_, directory_);
  const auto status_of = [&](const std::string& line) { return WEXITSTATUS(std::system((command + line).c_str())); };
  EXPECT_EQ(
      status_of("for i in 1 2 3 4 5 6 7 8 9 10; do " DEADHEAT_COMMAND " analyze racy.trace >/dev/null & done; wait"),
      0);
  Store store = open(place_, StoreAccess::kRead);
  EXPECT_EQ(must(store.runs()).size(), 10U);
  const std::vector<RaceRow> races = must(store.races({}));
  ASSERT_EQ(races.size(), 1U);
  EXPECT_EQ(races[0].runs, 10U);
  EXPECT_EQ(races[0].race.later, "g a.cpp:2");
  const std::string fingerprint = races[0].race.fingerprint;
  EXPECT_EQ(status_of(DEADHEAT_COMMAND " races ignore " + fingerprint + " 2>/dev/null"), 0);
  EXPECT_EQ(must(store.race(fingerprint)).row.state, RaceState::kIgnored);
  EXPECT_EQ(status_of(DEADHEAT_COMMAND " analyze racy.trace --baseline \"$DEADHEAT_STORE\" >/dev/null 2>&1"), 0);
  EXPECT_EQ(status_of(DEADHEAT_COMMAND " races list --state all --new-only >/dev/null"), 0);
}

TEST_P(StoreTest, NothingToReadIsAnError) {
  const std::string nowhere = GetParam() == Backend::kSqlite
                                  ? directory_ + "/absent.db"
                                  : place_.substr(0, 14) + "absent" + place_.substr(place_.find('?'));
  const auto refused = Store::open(nowhere, StoreAccess::kRead);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("absent"));
}

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, testing::Values(Backend::kSqlite, Backend::kPostgres), name_of_backend);

}  // namespace
}  // namespace deadheat
