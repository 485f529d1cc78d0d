// SPDX-License-Identifier: Apache-2.0
// The store as users meet it: every command writes to it, `deadheat races` reads it.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cli/traces.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

class RacesTest : public testing::Test {
 protected:
  RacesTest() {
    shell.write_file("racy.trace", kRacyTrace);
    shell.write_file("quiet.trace", kQuietTrace);
  }
  // With the default store of the directory.
  [[nodiscard]] CommandResult run(const std::string& command) const {
    return shell.run("unset DEADHEAT_STORE\n" + command);
  }
  [[nodiscard]] std::string fingerprint() const {
    return run("deadheat races list | head -1 | cut -c1-16").output.substr(0, 16);
  }
  Shell shell;
};

TEST_F(RacesTest, EveryModeWritesToTheStoreOfTheDirectory) {
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  EXPECT_EQ(run("deadheat run deadheat_fake_program race twice").exit_code, 66);
  EXPECT_EQ(run("FAKE_RAW_FILE=raw.1 deadheat_fake_program race finish; deadheat report raw.1").exit_code, 66);
  EXPECT_EQ(run("deadheat hunt --runs 2 -q deadheat_fake_program race").exit_code, 66);
  const CommandResult runs = run("deadheat races runs --format json");
  EXPECT_EQ(json_at(runs.output, "/runs/0/mode"), "\"hunt\"");
  EXPECT_EQ(json_at(runs.output, "/runs/1/mode"), "\"hunt\"");
  EXPECT_EQ(json_at(runs.output, "/runs/1/new_races"), "0");
  EXPECT_EQ(json_at(runs.output, "/runs/2/mode"), "\"report\"");
  EXPECT_EQ(json_at(runs.output, "/runs/3/mode"), "\"run\"");
  EXPECT_EQ(json_at(runs.output, "/runs/3/status"), "\"exit 0\"");
  EXPECT_EQ(json_at(runs.output, "/runs/3/arguments"), R"(["race","twice"])");
  EXPECT_EQ(json_at(runs.output, "/runs/3/new_races"), "1");
  EXPECT_EQ(json_at(runs.output, "/runs/4/mode"), "\"analyze\"");
  const CommandResult list = run("deadheat races list --text fake_counter --format json");
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  EXPECT_EQ(json_at(list.output, "/summary/races"), "1");
  EXPECT_EQ(json_at(list.output, "/findings/0/occurrences"), "5");
  EXPECT_EQ(json_at(list.output, "/findings/0/history/modes"), R"(["hunt","report","run"])");
  EXPECT_EQ(schema_violations(list.output), std::vector<std::string>{});
  EXPECT_EQ(shell.read_file(".deadheat/.gitignore"), "*\n");
}

TEST_F(RacesTest, TheStoreIsWhereOneSaysOrNowhere) {
  EXPECT_EQ(run("deadheat analyze --no-store racy.trace; DEADHEAT_STORE=none deadheat analyze racy.trace").exit_code,
            66);
  EXPECT_FALSE(shell.exists(".deadheat"));
  EXPECT_EQ(run("DEADHEAT_STORE=one/two.db deadheat analyze racy.trace").exit_code, 66);
  EXPECT_TRUE(shell.exists("one/two.db"));
  EXPECT_EQ(run("DEADHEAT_STORE=one/two.db deadheat analyze --store three.db racy.trace").exit_code, 66);
  EXPECT_TRUE(contains(run("deadheat races list --store three.db").output, "1 race in three.db\n"));
  const CommandResult none = run("deadheat races list");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_TRUE(contains(none.errors, "there is no store '.deadheat/races.db'; 'deadheat run'")) << none.errors;
}

TEST_F(RacesTest, AStoreThatTheCommandLineNamesMustBeWritable) {
  const CommandResult result = run("deadheat run --store /proc/nowhere/races.db deadheat_fake_program options");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "") << "the program does not start";
  EXPECT_TRUE(contains(result.errors, "cannot open the store '/proc/nowhere/races.db'")) << result.errors;
  shell.write_file("strange.db",
                   "this is no database, and long enough to be recognised as none: ......................");
  EXPECT_EQ(run("deadheat analyze --store strange.db quiet.trace").exit_code, 1);
  EXPECT_EQ(run("deadheat hunt --runs 1 --store strange.db deadheat_fake_program clean").exit_code, 1);
}

TEST_F(RacesTest, AnotherStoreThatCannotBeWrittenIsAWarningAndNothingElse) {
  const CommandResult result = run("DEADHEAT_STORE=/proc/nowhere/races.db deadheat run deadheat_fake_program race");
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_TRUE(contains(result.errors, "deadheat: warning: this run is not kept in the store: ")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "1. write-write race on fake_counter")) << result.errors;
}

TEST_F(RacesTest, CommandsThatReadMakeNoStore) {
  for (const std::string command : {"races list", "races export", "races resolve 1234", "report", "serve --listen 0"}) {
    const CommandResult result = run("timeout 20 deadheat " + command + " --store misspelt/races.db");
    EXPECT_EQ(result.exit_code, 1) << command << result.errors;
    EXPECT_TRUE(contains(result.errors, "there is no store 'misspelt/races.db'")) << result.errors;
    EXPECT_FALSE(shell.exists("misspelt")) << command;
  }
  shell.write_file("other.db", "");
  const CommandResult other = run("deadheat races list --store other.db");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(contains(other.errors, "'other.db' is not a store of races: ")) << other.errors;
  EXPECT_EQ(shell.read_file("other.db"), "");
}

TEST_F(RacesTest, PasswordsOfStoresAreShownNowhere) {
  const std::string address = "postgresql://ci:hunter2@127.0.0.1:1/races";
  for (const std::string& command : std::initializer_list<std::string>{
           "races list --store '" + address + "'", "races list --store 'host=127.0.0.1 port=1 password=hunter2'",
           "races list --store 'postgresql://ci:hun@ter2@127.0.0.1:1/races'", "races merge '" + address + "'",
           "report --store '" + address + "'", "serve --listen 0 --store '" + address + "'",
           "analyze --baseline '" + address + "' racy.trace", "analyze --store '" + address + "' racy.trace"}) {
    const CommandResult result = run("deadheat " + command);
    EXPECT_NE(result.exit_code, 0) << command;
    EXPECT_NE(result.errors, "") << command;
    EXPECT_FALSE(contains(result.output + result.errors, "hunter2")) << result.errors;
    EXPECT_FALSE(contains(result.output + result.errors, "ter2")) << result.errors;
  }
  const CommandResult warned = run("DEADHEAT_STORE='" + address + "' deadheat analyze racy.trace");
  EXPECT_TRUE(contains(warned.errors, "not kept in the store")) << warned.errors;
  EXPECT_FALSE(contains(warned.errors, "hunter2")) << warned.errors;
}

TEST_F(RacesTest, ARunThatIsKilledHasItsRacesInTheStore) {
  const CommandResult result =
      run("deadheat run deadheat_fake_program race wait-for-term >/dev/null & sleep 0.01\n"
          "for i in $(seq 200); do deadheat races list 2>/dev/null | grep -q fake_counter && break; sleep 0.02; done\n"
          "child=$(ps -o pid= --ppid $!); kill -9 $!; wait $! 2>/dev/null; kill $child; deadheat races list; deadheat "
          "races runs");
  EXPECT_TRUE(contains(result.output, "write-write race on fake_counter")) << result.output << result.errors;
  EXPECT_TRUE(contains(result.output, "running")) << result.output;
}

TEST_F(RacesTest, TheReportFromTheStoreIsTheReportOfTheRun) {
  const CommandResult live = run("deadheat run deadheat_fake_program race");
  const CommandResult stored = run("deadheat report");
  EXPECT_EQ(stored.exit_code, 66);
  const std::string race = live.errors.substr(0, live.errors.find("\n\n") + 1);
  EXPECT_TRUE(contains(stored.output, race)) << stored.output << "\n--- is not\n" << race;
  const CommandResult shown = run("deadheat races show " + fingerprint());
  EXPECT_TRUE(contains(shown.output, race)) << shown.output;
  EXPECT_TRUE(contains(shown.output, "seen 1 time in 1 run (run); first ")) << shown.output;
  const CommandResult json = run("deadheat races show --format json " + fingerprint());
  EXPECT_EQ(schema_violations(json.output), std::vector<std::string>{});
  EXPECT_EQ(json_at(json.output, "/findings/0/history/sightings/0/run/mode"), "\"run\"");
}

TEST_F(RacesTest, VerdictsLast) {
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  const std::string race = fingerprint();
  EXPECT_EQ(run("deadheat races resolve --note 'fixed today' " + race.substr(0, 6)).exit_code, 0);
  EXPECT_TRUE(contains(run("deadheat races list").output, "0 races in"));
  EXPECT_TRUE(contains(run("deadheat races list --state resolved").output, "resolved (fixed today); seen"));
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  EXPECT_TRUE(contains(run("deadheat races list").output, "1 race in"));
  EXPECT_EQ(run("deadheat races ignore " + race).exit_code, 0);
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  EXPECT_TRUE(contains(run("deadheat races list").output, "0 races in"));
  EXPECT_EQ(run("deadheat races open " + race + " && deadheat report").exit_code, 66);
  EXPECT_EQ(run("deadheat races ignore 0123456789abcdef").exit_code, 2);
}

TEST_F(RacesTest, NewOnlyFailsOnlyOnNewRaces) {
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  EXPECT_EQ(run("deadheat races list --new-only").exit_code, 66);
  EXPECT_EQ(run("deadheat analyze racy.trace").exit_code, 66);
  EXPECT_EQ(run("deadheat races list --new-only").exit_code, 0);
  EXPECT_EQ(run("deadheat races list --new-only --since previous").exit_code, 66);
  EXPECT_EQ(run("deadheat races list --new-only --since 1h").exit_code, 66);
  EXPECT_EQ(run("deadheat run deadheat_fake_program race").exit_code, 66);
  const CommandResult fresh = run("deadheat races list --new-only");
  EXPECT_EQ(fresh.exit_code, 66);
  EXPECT_TRUE(contains(fresh.output, "fake_counter")) << fresh.output;
  EXPECT_TRUE(contains(fresh.output, "1 new race in")) << fresh.output;
  EXPECT_TRUE(contains(run("deadheat races list --since 2000-01-01 --mode analyze").output, "1 race in"));
  EXPECT_EQ(run("deadheat races list --since yesterday").exit_code, 2);
  EXPECT_TRUE(contains(run("mkdir place; deadheat races list --store place").errors, "'place': it is a directory"));
  for (const std::string command : {"races list", "report"}) {
    for (const std::string option : {"--mode record", "--kind write", "--state new"}) {
      const CommandResult result = run("deadheat " + command + " " + option);
      EXPECT_EQ(result.exit_code, 2) << command << option;
      EXPECT_TRUE(contains(result.errors, " not in {")) << result.errors;
    }
  }
}

TEST_F(RacesTest, DiffComparesRunsReportsAndStores) {
  EXPECT_EQ(run("deadheat analyze racy.trace --json before.json").exit_code, 66);
  EXPECT_EQ(run("deadheat run deadheat_fake_program race").exit_code, 66);
  const CommandResult runs = run("deadheat races diff previous latest");
  EXPECT_EQ(runs.exit_code, 66);
  EXPECT_TRUE(contains(runs.output, "1 new, 1 gone, 0 in both\n")) << runs.output;
  const CommandResult stores = run("deadheat races diff --format json before.json .deadheat/races.db");
  EXPECT_EQ(stores.exit_code, 66);
  EXPECT_EQ(json_at(stores.output, "/added/0/variable"), "\"fake_counter\"");
  EXPECT_EQ(json_at(stores.output, "/common/0/variable"), "\"accounts\"");
  EXPECT_EQ(run("deadheat races diff .deadheat/races.db before.json").exit_code, 0);
  EXPECT_EQ(run("deadheat races diff latest nonsense").exit_code, 2);
}

TEST_F(RacesTest, AnExportIsAllOfTheStore) {
  EXPECT_EQ(
      run("deadheat analyze racy.trace; deadheat races ignore --note n $(deadheat races list | cut -c1-16 | head -1)")
          .exit_code,
      0);
  const CommandResult merged = run(
      "deadheat races export -o all.json && deadheat races merge all.json --store new/copy.db && deadheat races merge "
      ".deadheat/races.db --store new/copy.db && deadheat races export --store new/copy.db | diff all.json -");
  EXPECT_EQ(merged.exit_code, 0) << merged.output << merged.errors;
  EXPECT_EQ(run("deadheat races merge racy.trace").exit_code, 1);
}

TEST_F(RacesTest, AGeneratedSuppressionHidesTheRace) {
  EXPECT_EQ(run("deadheat run deadheat_fake_program race").exit_code, 66);
  const CommandResult lines = run("deadheat races suppress " + fingerprint() + " | tee known.supp");
  EXPECT_TRUE(contains(lines.output, "\nrace_top:^(anonymous namespace)::increment()$\n")) << lines.output;
  const CommandResult hidden = run("deadheat run --suppressions known.supp deadheat_fake_program race");
  EXPECT_EQ(hidden.exit_code, 0) << hidden.errors;
  EXPECT_EQ(run("deadheat report --suppressions known.supp").exit_code, 0);
}

TEST_F(RacesTest, ABaselineLetsOldRacesPass) {
  EXPECT_EQ(run("deadheat run --json known.json --sarif known.sarif deadheat_fake_program race").exit_code, 66);
  for (const std::string baseline : {"known.json", "known.sarif", ".deadheat/races.db"}) {
    const CommandResult old =
        run("deadheat run --json now.json --baseline " + baseline + " deadheat_fake_program race");
    EXPECT_EQ(old.exit_code, 0) << baseline << old.errors;
    EXPECT_TRUE(contains(old.errors, "deadheat: none of 1 race not in the baseline '" + baseline)) << old.errors;
    EXPECT_EQ(json_at(shell.read_file("now.json"), "/findings/0/known"), "true");
    EXPECT_EQ(run("deadheat analyze --no-store racy.trace --baseline " + baseline).exit_code, 66);
    EXPECT_EQ(run("deadheat hunt -q --runs 1 --baseline " + baseline + " deadheat_fake_program race").exit_code, 0);
  }
  EXPECT_EQ(schema_violations(shell.read_file("now.json")), std::vector<std::string>{});
  EXPECT_EQ(run("deadheat races resolve " + fingerprint()).exit_code, 0);
  EXPECT_EQ(run("deadheat run --no-store --baseline .deadheat/races.db deadheat_fake_program race").exit_code, 66);
  EXPECT_EQ(run("deadheat run --baseline racy.trace deadheat_fake_program race").exit_code, 1);
  EXPECT_EQ(run("deadheat run --baseline absent.json deadheat_fake_program race").exit_code, 1);
}

TEST_F(RacesTest, SarifIsWhatTheStandardSays) {
  EXPECT_EQ(run("deadheat run --sarif run.sarif deadheat_fake_program race twice").exit_code, 66);
  EXPECT_EQ(run("deadheat analyze --sarif trace.sarif --baseline run.sarif racy.trace").exit_code, 66);
  EXPECT_EQ(run("deadheat report --sarif store.sarif").exit_code, 66);
  EXPECT_EQ(run("deadheat analyze --no-store --sarif quiet.sarif quiet.trace").exit_code, 0);
  for (const std::string name : {"run", "trace", "store", "quiet"}) {
    EXPECT_EQ(schema_violations(shell.read_file(name + ".sarif"), "tests/report/sarif.schema.json"),
              std::vector<std::string>{})
        << name;
  }
  const std::string sarif = shell.read_file("trace.sarif");
  EXPECT_EQ(json_at(sarif, "/runs/0/results/0/ruleId"), "\"race/write-write\"");
  EXPECT_EQ(json_at(sarif, "/runs/0/results/0/baselineState"), "\"new\"");
  EXPECT_EQ(json_at(sarif, "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri"), "\"bank.cpp\"");
  EXPECT_EQ(json_at(sarif, "/runs/0/results/0/codeFlows/0/threadFlows/1/id"), "\"later\"");
  EXPECT_NE(json_at(sarif, "/runs/0/results/0/relatedLocations/0/physicalLocation/region/startLine"), "");
  EXPECT_EQ(json_at(shell.read_file("run.sarif"), "/runs/0/results/0/occurrenceCount"), "2");
  EXPECT_EQ(json_at(shell.read_file("quiet.sarif"), "/runs/0/results"), "[]");
  EXPECT_NE(json_at(shell.read_file("store.sarif"), "/runs/0/results/1"), "");
}

TEST_F(RacesTest, JunitAndGithubSayWhereTheRaceIs) {
  const CommandResult result = run("deadheat analyze --junit races.xml --github -o text racy.trace");
  EXPECT_EQ(result.exit_code, 66);
  const std::string xml = shell.read_file("races.xml");
  EXPECT_TRUE(contains(xml, "<testsuites name=\"deadheat\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">"))
      << xml;
  EXPECT_TRUE(contains(xml, "file=\"bank.cpp\" line=\"")) << xml;
  EXPECT_TRUE(contains(xml, "<failure message=\"write-write race on accounts\"")) << xml;
  EXPECT_EQ(result.output.rfind("::error file=bank.cpp,line=", 0), 0U) << result.output;
  EXPECT_TRUE(
      contains(result.output, ",title=Data race%3A write-write race on accounts::write-write race on accounts%0A"))
      << result.output;
  const CommandResult known =
      run("deadheat analyze --junit known.xml --github --baseline .deadheat/races.db -o text racy.trace");
  EXPECT_EQ(known.exit_code, 0);
  EXPECT_EQ(known.output.rfind("::notice ", 0), 0U) << known.output;
  EXPECT_TRUE(contains(shell.read_file("known.xml"), "<skipped message=\"in the baseline\"/>"));
  EXPECT_EQ(run("deadheat analyze --no-store --junit quiet.xml quiet.trace").exit_code, 0);
  EXPECT_TRUE(contains(shell.read_file("quiet.xml"), "name=\"no data races\""));
  if (run("command -v xmllint").exit_code == 0) {
    EXPECT_EQ(run("xmllint --noout races.xml known.xml quiet.xml").exit_code, 0);
  }
}

}  // namespace
}  // namespace deadheat
