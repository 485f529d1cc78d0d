// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: headless Chromium, without network, with a profile that is
// thrown away. Where there is no Chromium these tests are skipped; script/bootstrap --browser installs it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "report/html_page.h"
#include "serve/race_table.h"

namespace deadheat {
namespace {

using Made = nlohmann::ordered_json;

const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> names = {"</script><script>document.title='PWNED'</script>",
                                                 "\"><img src=x onerror=\"document.title='PWNED'\">",
                                                 "<svg onload=document.title='PWNED'>",
                                                 "<!--<script>",
                                                 "';document.title='PWNED'//",
                                                 "&lt;&quot;"};
  return names;
}

Made frame(const std::string& function, const std::string& file, int line) {
  return {{"function", function},      {"file", file},    {"line", line}, {"module", "/opt/bank"}, {"offset", "0x12"},
          {"function_line", line - 2}, {"inlined", false}};
}

Made side(int thread, const std::string& access, const std::string& name, const Made& stack) {
  Made lock = {{"id", "0x7f"}, {"name", name + "_mutex"}, {"mode", "exclusive"}, {"address", "0x7f"}};
  lock["acquired"] = stack;
  lock["created"] = Made::array();
  return {{"thread", {{"id", thread}, {"name", name}}},
          {"access", access},
          {"size", 8},
          {"clock", 3},
          {"stack", stack},
          {"locks", Made::array({lock})},
          {"volatile", false},
          {"vptr", false},
          {"range", false},
          {"locks_known", true}};
}

Made race(int number, const std::string& name) {
  const std::string file = fmt::format("/src/part_{}.cpp", number % 7);
  Made stack = Made::array();
  for (int depth = 0; depth < 12; ++depth)
    stack.push_back(frame(fmt::format("{}::step_{}(int)", name, depth), file, 100 + number + depth));
  Made lines = Made::array();
  for (int line = 0; line < 13; ++line)
    lines.push_back(fmt::format("  {}_{} += compute(\"{}\");  // {}", name, line, line, name));
  const Made snippet = {
      {"file", file}, {"line", 100 + number}, {"first_line", 94 + number}, {"lines", lines}, {"newer", false}};
  const Made memory = {{"kind", "heap"},     {"begin", "0x1000"},   {"size", 256},
                       {"name", nullptr},    {"module", nullptr},   {"thread", 1},
                       {"allocated", stack}, {"freed_by", nullptr}, {"freed", Made::array()}};
  const Made thread = {{"id", 2},       {"name", name},      {"system_id", 7}, {"parent", 1},
                       {"main", false}, {"finished", false}, {"fiber", false}, {"created", stack}};
  Made out = {{"fingerprint", fmt::format("{:016x}", 0xabc000 + number)},
              {"kind", number % 2 == 0 ? "write-write" : "read-write"},
              {"title", "write-write race"},
              {"address", "0x1048"},
              {"size", 8},
              {"variable", nullptr},
              {"event_index", nullptr},
              {"occurrences", 1 + number},
              {"explanation", "nothing orders the two accesses"}};
  out["earlier"] = side(1, number % 2 == 0 ? "write" : "read", name, stack);
  out["later"] = side(2, "write", name, stack);
  out["process"] = {{"id", 1}, {"program", "/opt/bank"}};
  out["memory"] = memory;
  out["threads"] = Made::array({thread});
  out["snippets"] = Made::array({snippet});
  return out;
}

std::string report_of(int count) {
  Made report = {{"version", 1},
                 {"tool", {{"name", "deadheat"}, {"version", "0"}}},
                 {"run", {{"program", "/opt/bank"}, {"exit_status", 0}}},
                 {"summary", {{"races", count}}},
                 {"counters", Made::object()},
                 {"findings", Made::array()}};
  for (int number = 0; number < count; ++number) {
    const auto& hostile = hostile_names();
    const auto index = static_cast<std::size_t>(number);
    report["findings"].push_back(
        race(number, index < hostile.size() ? hostile[index] : fmt::format("queue_{}", number)));
  }
  return report.dump();
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "no chromium: script/bootstrap --browser installs it";
    directory_ = std::filesystem::temp_directory_path() / fmt::format("browser.{}", getpid());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // The document after its scripts have run.
  [[nodiscard]] std::string dom_of(const std::string& address) const {
    const std::string command = fmt::format(
        "timeout 60 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync --disable-quic --window-size=1300,900 --user-data-dir='{}/profile' "
        "--virtual-time-budget=3000 --dump-dom '{}' 2>/dev/null",
        directory_.string(), address);
    FILE* pipe = popen(command.c_str(), "r");
    DEADHEAT_CHECK(pipe != nullptr);
    std::string dom;
    std::array<char, 1 << 16> piece;
    while (const std::size_t count = fread(piece.data(), 1, piece.size(), pipe)) dom.append(piece.data(), count);
    pclose(pipe);
    return dom;
  }
  [[nodiscard]] std::string write_page(const std::string& report) const {
    const std::string path = (directory_ / "page.html").string();
    std::ofstream(path) << format_html_page(report).value();
    return "file://" + path;
  }
  static std::string text_between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) return "";
    return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
  }

  std::filesystem::path directory_;
};

TEST_F(BrowserTest, FiveHundredRacesOpenAndFilterWithoutDelay) {
  const std::string dom = dom_of(write_page(report_of(500)) + "?measure");
  const Made measured = Made::parse(text_between(dom, "<pre id=\"measured\">", "</pre>"), nullptr, false);
  ASSERT_TRUE(measured.is_object()) << dom.substr(0, 2000);
  RecordProperty("measured", measured.dump());
  std::printf("measured: %s\n", measured.dump().c_str());
  EXPECT_EQ(measured["races"], 500);
  EXPECT_EQ(measured["rows"], 500) << "all of them can be scrolled to";
  // Wide, because the machine may be busy with other tests; docs/html-report.md has what an idle one takes.
  EXPECT_LT(measured["opened_ms"], 5000);
  EXPECT_LT(measured["filter_worst_ms"], 3000);
  EXPECT_LT(measured["race_worst_ms"], 3000);
}

TEST_F(BrowserTest, HostileNamesAreShownAndDoNothing) {
  const std::string page = write_page(report_of(static_cast<int>(hostile_names().size())));
  const std::string dom = dom_of(page);
  EXPECT_EQ(text_between(dom, "<title>", "</title>"), "6 races – Deadheat") << "each of them would change it";
  EXPECT_NE(dom.find("&lt;/script&gt;&lt;script&gt;document.title='PWNED'&lt;/script&gt;::step_0"), std::string::npos);
  EXPECT_NE(dom.find("class=\"source hit\""), std::string::npos);
  EXPECT_NE(dom.find("No order between these two"), std::string::npos);
  EXPECT_NE(dom.find("bytes 72 to 79 touched by both"), std::string::npos);
}

// One race with all that a store knows of it.
class FullTable : public RaceTable {
 public:
  Result<RaceDetails> race(std::string_view fingerprint) override {
    auto details = RaceTable::race(fingerprint);
    Made document = deadheat::race(7, "ledger");
    document["fingerprint"] = fingerprint;
    details.value().row.race.document = document.dump();
    return details;
  }
};

TEST_F(BrowserTest, ServedPageShowsTheStore) {
  FullTable table;
  RaceService service(table, AccessPolicy{"0123456789abcdef", {}});
  auto server = HttpServer::open({"127.0.0.1", 0, true});
  ASSERT_TRUE(server.ok());
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe2(stop.data(), O_CLOEXEC), 0);
  std::thread thread([&] { DEADHEAT_CHECK(server.value()->run(service, stop[0]).ok()); });
  const std::string address = fmt::format("http://127.0.0.1:{}/", server.value()->port());
  const std::string race = dom_of(address + "?still&token=0123456789abcdef");
  const std::string runs = dom_of(address + "?still&token=0123456789abcdef#runs");
  const std::string stranger = dom_of(fmt::format("http://localhost:{}/", server.value()->port()));
  EXPECT_EQ(write(stop[1], "x", 1), 1);
  thread.join();
  EXPECT_NE(race.find("ledger::step_0(int)"), std::string::npos) << race.substr(0, 3000);
  EXPECT_NE(race.find(">Ledger::post  ledger.cpp:42</span>"), std::string::npos) << "brief in the list";
  EXPECT_NE(race.find(">libbank.so+0x1f</span>"), std::string::npos) << "as it is without a line";
  EXPECT_NE(race.find("Seen in 2 runs"), std::string::npos);
  EXPECT_NE(race.find(">Resolve</button>"), std::string::npos);
  EXPECT_NE(runs.find("aria-label=\"Effective sampling rate per run\""), std::string::npos) << runs.substr(0, 3000);
  EXPECT_NE(stranger.find("a token is needed"), std::string::npos) << stranger;
}

}  // namespace
}  // namespace deadheat
