// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/finding_json.h"
#include "report/report_fixture.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

using report_fixture::make_analysis;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

std::string page_of(const Analysis& analysis) {
  auto page = format_html_page(format_json_report(analysis));
  return page.ok() ? page.value() : page.error().message;
}

// What the browser hands to the script.
std::string data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"report\">";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(HtmlPageTest, PageIsWholeAndNeedsNothingElse) {
  const std::string page = page_of(make_analysis());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* mark :
       {"<!--POLICY-->", "<!--STYLE-->", "<!--DATA-->", "<!--SCRIPT-->", " src=", "@import", "url("}) {
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
  }
  EXPECT_EQ(count_of(page, "http"), count_of(page, "http-equiv") + count_of(page, "http://www.w3.org/2000/svg"));
}

TEST(HtmlPageTest, ReportComesBackAsItWas) {
  const std::string report = format_json_report(make_analysis());
  EXPECT_EQ(json_at(data_in(page_of(make_analysis())), "/findings/0/later"), json_at(report, "/findings/0/later"));
}

TEST(HtmlPageTest, HostileNamesStayText) {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "<!--<script>",
                                          "\"><img src=x onerror=alert(1)>",
                                          "'; alert(1) //",
                                          "&lt;b&gt;",
                                          "\xff<svg/onload=alert(1)>",
                                          "]]>\xe2\x80\xa8"};
  const std::string harmless = page_of(make_analysis());
  for (const std::string& name : names) {
    Analysis analysis = make_analysis();
    analysis.dictionary.threads[report_fixture::kTeller] = name;
    analysis.trace_path = name;
    const std::string page = page_of(analysis);
    EXPECT_EQ(count_of(page, "<script"), count_of(harmless, "<script")) << name;
    EXPECT_EQ(count_of(page, "</script"), count_of(harmless, "</script")) << name;
    const std::string data = data_in(page);
    EXPECT_EQ(data.find_first_of("<>&"), std::string::npos) << name;
    EXPECT_EQ(json_at(data, "/findings/0/later/thread/name"),
              json_at(format_json_report(analysis), "/findings/0/later/thread/name"));
  }
}

TEST(HtmlPageTest, ScriptMakesNoMarkupOfText) {
  const std::string script(served_script());
  for (const char* way :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"}) {
    EXPECT_EQ(script.find(way), std::string::npos) << way;
  }
}

TEST(HtmlPageTest, OnlyOurScriptIsAllowedToRun) {
  const std::string one = page_of(make_analysis());
  const std::string other = page_of(make_analysis());
  const auto nonce = [](const std::string& page) { return page.substr(page.find("'nonce-") + 7, 32); };
  EXPECT_NE(nonce(one), nonce(other));
  EXPECT_EQ(count_of(one, "nonce=\"" + nonce(one) + "\""), 2U);
  EXPECT_NE(one.find("default-src 'none'; script-src 'nonce-"), std::string::npos);
}

TEST(HtmlPageTest, WhatIsNoReportIsRefused) {
  EXPECT_EQ(format_html_page("{\"a\"").error().code, ErrorCode::kMalformed);
  EXPECT_EQ(format_html_page("[]").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(format_html_page("{\"findings\":{}}").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace deadheat
