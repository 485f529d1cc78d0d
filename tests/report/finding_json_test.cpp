// SPDX-License-Identifier: Apache-2.0
#include "report/finding_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/report_fixture.h"
#include "report/schema_check.h"

namespace deadheat {
namespace {

using nlohmann::json;
using report_fixture::make_analysis;

using Violations = std::vector<std::string>;
const Violations kNoViolations;

json schema() { return json::parse(std::ifstream(DEADHEAT_SOURCE_DIR "/docs/report.schema.json")); }

TEST(FindingJsonTest, ReportSatisfiesTheSchema) {
  const json document = json::parse(format_json_report(make_analysis()));
  EXPECT_EQ(SchemaCheck(schema()).violations(document), kNoViolations);
}

TEST(FindingJsonTest, ReportWithNothingKnownSatisfiesTheSchema) {
  Analysis analysis;
  analysis.detector_name = "djit";
  analysis.incomplete = "the file ends in the middle";
  analysis.findings.emplace_back();
  const json document = json::parse(format_json_report(analysis));
  EXPECT_EQ(SchemaCheck(schema()).violations(document), kNoViolations);
}

TEST(FindingJsonTest, SchemaRejectsWhatItMustReject) {
  json document = json::parse(format_json_report(make_analysis()));
  document["findings"][0]["kind"] = "rumour";
  document["findings"][0].erase("later");
  document["summary"]["mood"] = "good";
  EXPECT_EQ(
      SchemaCheck(schema()).violations(document),
      (Violations{R"(/findings/0/kind: is not in ["write-write","read-write","write-read","use-free","atomic-plain"])",
                  R"(/findings/0: lacks "later")", "/summary: has an undocumented member mood"}));
}

TEST(FindingJsonTest, FindingCarriesEveryFact) {
  const json document = json::parse(format_json_report(make_analysis()));
  const json& finding = document["findings"][0];
  EXPECT_EQ(finding["kind"], "write-write");
  EXPECT_EQ(finding["address"], "0x601048");
  EXPECT_EQ(finding["variable"], (json{{"name", "accounts"}, {"offset", 8}}));
  EXPECT_EQ(finding["event_index"], 1203);
  EXPECT_EQ(finding["occurrences"], 5021);
  EXPECT_EQ(finding["later"]["thread"], (json{{"id", 2}, {"name", "teller"}}));
  EXPECT_EQ(finding["later"]["clock"], 4);
  EXPECT_EQ(finding["later"]["stack"].size(), 3U);
  EXPECT_EQ(finding["later"]["stack"][0]["function"], "deposit");
  EXPECT_EQ(finding["later"]["stack"][2]["function"], "main");
  EXPECT_EQ(finding["later"]["locks"][1], (json{{"id", "0x7f01"}, {"name", nullptr}, {"mode", "shared"}}));
  EXPECT_EQ(finding["earlier"]["thread"]["name"], nullptr);
  EXPECT_EQ(document["counters"]["write exclusive"], 4000);
  EXPECT_EQ(document["summary"], (json{{"races", 1}, {"occurrences", 5021}}));
}

TEST(FindingJsonTest, IncompleteAnalysisSaysSo) {
  Analysis analysis = make_analysis();
  EXPECT_EQ(json::parse(format_json_report(analysis))["trace"]["complete"], true);
  analysis.incomplete = "event 7: thread 3 was never forked";
  const json trace = json::parse(format_json_report(analysis))["trace"];
  EXPECT_EQ(trace["complete"], false);
  EXPECT_EQ(trace["problem"], "event 7: thread 3 was never forked");
}

TEST(FindingJsonTest, NamesThatAreNotUtf8LeaveTheDocumentValid) {
  Analysis analysis = make_analysis();
  analysis.dictionary.threads[report_fixture::kTeller] =
      "tell\xff\xfe"
      "er\x1b";
  const json document = json::parse(format_json_report(analysis));
  EXPECT_EQ(document["findings"][0]["later"]["thread"]["name"],
            "tell\xef\xbf\xbd\xef\xbf\xbd"
            "er\x1b");
}

}  // namespace
}  // namespace deadheat
