// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

// Starts the server on a free port, sends one request, ends the server.
std::string script_for(const std::string& options, const std::string& request) {
  return "env -u DEADHEAT_STORE deadheat serve --listen 127.0.0.1:0 " + options +
         " 2>log & server=$!\n"
         "for _ in $(seq 200); do grep -q http log && break; sleep 0.05; done\n"
         "exec 3<>/dev/tcp/127.0.0.1/$(sed -nE 's|.*127.0.0.1:([0-9]+)/.*|\\1|p' log)\n"
         "printf '" +
         request +
         "\\r\\nConnection: close\\r\\n\\r\\n' >&3\n"
         "cat <&3\n"
         "kill -TERM $server; wait $server; echo \" ended with $?\"\n";
}

TEST(ServeTest, StoreIsServedUntilASignalEndsIt) {
  const Shell shell;
  const CommandResult result = shell.run(script_for("", "GET /api/races HTTP/1.1\\r\\nHost: localhost"));
  EXPECT_TRUE(contains(result.output, "HTTP/1.1 200 OK")) << result.output << result.errors;
  EXPECT_TRUE(contains(result.output, "\"may_write\":true,\"races\":[]}")) << result.output;
  EXPECT_TRUE(contains(result.output, "ended with 0")) << result.output;
}

TEST(ServeTest, StrangersAreRefused) {
  const Shell shell;
  const CommandResult rebound = shell.run(script_for("", "GET / HTTP/1.1\\r\\nHost: evil.example"));
  EXPECT_TRUE(contains(rebound.output, "HTTP/1.1 421 ")) << rebound.output;
  const CommandResult without =
      shell.run(script_for("--token 0123456789abcdef", "GET / HTTP/1.1\\r\\nHost: localhost"));
  EXPECT_TRUE(contains(without.output, "HTTP/1.1 401 ")) << without.output;
}

TEST(ServeTest, OtherAddressesNeedAToken) {
  const Shell shell;
  const CommandResult open = shell.run("deadheat serve --listen 0.0.0.0:0 --store races.db");
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_TRUE(contains(open.errors, "'0.0.0.0:0' can be reached from other machines: give a --token")) << open.errors;
  const CommandResult brief = shell.run("deadheat serve --listen 0.0.0.0:0 --token secret --store races.db");
  EXPECT_EQ(brief.exit_code, 2);
  EXPECT_TRUE(contains(brief.errors, "the token is too short")) << brief.errors;
  EXPECT_FALSE(shell.exists("races.db"));
}

TEST(ServeTest, JsonReportBecomesAPage) {
  const Shell shell;
  shell.write_file("races.json", R"({"version":1,"findings":[]})");
  shell.write_file("other.json", R"({"version":1})");
  EXPECT_EQ(shell.run("deadheat report --html page.html races.json").exit_code, 0);
  EXPECT_TRUE(contains(shell.read_file("page.html"), "\"findings\":[]")) << "the report is in the page";
  const CommandResult other = shell.run("deadheat report --html other.html other.json");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(contains(other.errors, "is no report")) << other.errors;
  EXPECT_EQ(shell.run("deadheat report races.json").exit_code, 2);
}

}  // namespace
}  // namespace deadheat
