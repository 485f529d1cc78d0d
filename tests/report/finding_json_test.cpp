// SPDX-License-Identifier: Apache-2.0
#include "report/finding_json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "report/report_fixture.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

using report_fixture::make_analysis;

using Violations = std::vector<std::string>;
const Violations kNoViolations;

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), by);
}

TEST(FindingJsonTest, ReportSatisfiesTheSchema) {
  EXPECT_EQ(schema_violations(format_json_report(make_analysis())), kNoViolations);
}

TEST(FindingJsonTest, ReportWithNothingKnownSatisfiesTheSchema) {
  Analysis analysis;
  analysis.detector_name = "djit";
  analysis.incomplete = "the file ends in the middle";
  analysis.findings.emplace_back();
  EXPECT_EQ(schema_violations(format_json_report(analysis)), kNoViolations);
}

TEST(FindingJsonTest, SchemaRejectsWhatItMustReject) {
  std::string document = format_json_report(make_analysis());
  document = replaced(document, R"("write-write")", R"("rumour")");
  document = replaced(document, R"("later":)", R"("latest":)");
  EXPECT_EQ(
      schema_violations(document),
      (Violations{R"(/findings/0/kind: is not in ["write-write","read-write","write-read","use-free","atomic-plain"])",
                  "/findings/0: has an undocumented member latest", R"(/findings/0: lacks "later")"}));
}

TEST(FindingJsonTest, FindingCarriesEveryFact) {
  const std::string document = format_json_report(make_analysis());
  EXPECT_EQ(json_at(document, "/findings/0/kind"), R"("write-write")");
  EXPECT_EQ(json_at(document, "/findings/0/address"), R"("0x601048")");
  EXPECT_EQ(json_at(document, "/findings/0/variable"), R"({"name":"accounts","offset":8,"size":64})");
  EXPECT_EQ(json_at(document, "/findings/0/event_index"), "1203");
  EXPECT_EQ(json_at(document, "/findings/0/occurrences"), "5021");
  EXPECT_EQ(json_at(document, "/findings/0/later/thread"), R"({"id":2,"name":"teller"})");
  EXPECT_EQ(json_at(document, "/findings/0/later/clock"), "4");
  EXPECT_EQ(json_at(document, "/findings/0/later/stack/0/function"), R"("deposit")");
  EXPECT_EQ(json_at(document, "/findings/0/later/stack/2/function"), R"("main")");
  EXPECT_EQ(json_at(document, "/findings/0/later/stack/3"), "");
  EXPECT_EQ(json_at(document, "/findings/0/later/locks/1"), R"({"id":"0x7f01","mode":"shared","name":null})");
  EXPECT_EQ(json_at(document, "/findings/0/earlier/thread/name"), "null");
  EXPECT_EQ(json_at(document, "/counters/write exclusive"), "4000");
  EXPECT_EQ(json_at(document, "/summary"), R"({"occurrences":5021,"races":1,"suppressed":0})");
}

TEST(FindingJsonTest, IncompleteAnalysisSaysSo) {
  Analysis analysis = make_analysis();
  EXPECT_EQ(json_at(format_json_report(analysis), "/trace/complete"), "true");
  analysis.incomplete = "event 7: thread 3 was never forked";
  EXPECT_EQ(json_at(format_json_report(analysis), "/trace/complete"), "false");
  EXPECT_EQ(json_at(format_json_report(analysis), "/trace/problem"), R"("event 7: thread 3 was never forked")");
}

TEST(FindingJsonTest, NamesThatAreNotUtf8LeaveTheDocumentValid) {
  Analysis analysis = make_analysis();
  analysis.dictionary.threads[report_fixture::kTeller] =
      "tell\xff\xfe"
      "er\x1b";
  EXPECT_EQ(json_at(format_json_report(analysis), "/findings/0/later/thread/name"),
            "\"tell\xef\xbf\xbd\xef\xbf\xbd"
            "er\\u001b\"");
}

}  // namespace
}  // namespace deadheat
