// SPDX-License-Identifier: Apache-2.0
#include "serve/race_service.h"

#include <gtest/gtest.h>

#include <string>

#include "serve/race_table.h"
#include "support/json_report.h"

namespace deadheat {
namespace {

constexpr char kRace[] = "00000000000000aa";

class RaceServiceTest : public ::testing::Test {
 protected:
  HttpResponse ask(const std::string& method, const std::string& path, const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.headers = {{"host", "localhost"}, {"content-type", "application/json"}, {"x-deadheat", "1"}};
    return service_.handle(request);
  }

  RaceTable table_;
  RaceService service_{table_, AccessPolicy{}};
};

TEST_F(RaceServiceTest, PageNeedsNothingFromElsewhere) {
  const HttpResponse page = ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("<link rel=\"stylesheet\" href=\"/page.css\">"), std::string::npos);
  EXPECT_NE(page.body.find("<script src=\"/page.js\"></script>"), std::string::npos);
  EXPECT_EQ(page.body.find("<!--SCRIPT"), std::string::npos);
  EXPECT_EQ(page.body.find("http://"), std::string::npos);
  EXPECT_EQ(ask("GET", "/page.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("GET", "/page.css").type, "text/css; charset=utf-8");
}

TEST_F(RaceServiceTest, RacesAndRunsAreListed) {
  const std::string races = ask("GET", "/api/races").body;
  EXPECT_EQ(json_at(races, "/races/0/fingerprint"), R"("00000000000000aa")");
  EXPECT_EQ(json_at(races, "/races/0/history/state"), R"("open")");
  EXPECT_EQ(json_at(races, "/races/0/history/modes"), R"(["hunt","run"])");
  EXPECT_EQ(json_at(races, "/may_write"), "true");
  const std::string race = ask("GET", std::string("/api/races/") + kRace).body;
  EXPECT_EQ(json_at(race, "/explanation"), R"("<b>nothing orders them</b>")");
  EXPECT_EQ(json_at(race, "/history/sightings/0/run/machine"), R"("build-1")");
  const std::string runs = ask("GET", "/api/runs").body;
  EXPECT_EQ(json_at(runs, "/runs/0/effective_rate"), "0.029");
  EXPECT_EQ(json_at(runs, "/runs/0/overhead"), "null");
}

TEST_F(RaceServiceTest, NothingElseIsThere) {
  for (const char* path : {"/etc/passwd", "/../etc/passwd", "/page.js/..", "/api", "/api/races/", "/api/races/zz", "//",
                           "/api/races/00000000000000aa/", "/api/races/00000000000000bb", "/src/report/html/page.js"}) {
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  }
}

TEST_F(RaceServiceTest, MethodsAreChecked) {
  EXPECT_EQ(ask("POST", "/").status, 405);
  EXPECT_EQ(ask("DELETE", "/api/races").status, 405);
  EXPECT_EQ(ask("OPTIONS", "/api/runs").status, 405);
  EXPECT_EQ(ask("GET", "/api/races/00000000000000aa/state").status, 405);
  EXPECT_EQ(ask("HEAD", "/").status, 200);
}

TEST_F(RaceServiceTest, StateIsChangedByAWellFormedWishOnly) {
  const std::string path = "/api/races/00000000000000aa/state";
  for (const char* bad :
       {"", "{", "[]", "{}", R"({"state":1})", R"({"state":"gone"})", R"({"state":"open","note":3})"}) {
    EXPECT_EQ(ask("POST", path, bad).status, 400) << bad;
  }
  EXPECT_EQ(table_.state, RaceState::kOpen);
  EXPECT_EQ(ask("POST", path, R"({"state":"ignored","note":"a \"benign\" one"})").status, 200);
  EXPECT_EQ(table_.state, RaceState::kIgnored);
  EXPECT_EQ(table_.note, "a \"benign\" one");
  table_.writable = false;
  EXPECT_EQ(ask("POST", path, R"({"state":"open"})").status, 403);
  EXPECT_EQ(table_.state, RaceState::kIgnored);
}

TEST_F(RaceServiceTest, NewsComeWhenTheStoreChanges) {
  EXPECT_EQ(service_.news(), "1");
  EXPECT_EQ(service_.news(), std::nullopt);
  table_.changes = 7;
  EXPECT_EQ(service_.news(), "7");
}

TEST_F(RaceServiceTest, BrokenStoreIsAnErrorAndNoCrash) {
  table_.is_broken = true;
  EXPECT_EQ(ask("GET", "/api/races").status, 500);
  EXPECT_EQ(ask("GET", "/api/runs").status, 500);
  EXPECT_EQ(service_.news(), std::nullopt);
}

}  // namespace
}  // namespace deadheat
