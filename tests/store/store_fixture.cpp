// SPDX-License-Identifier: Apache-2.0
#include "store/store_fixture.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "store/postgres_server.h"

namespace deadheat {

namespace {

// Stopped when the program ends.
std::unique_ptr<PostgresServer>& server() {
  static std::unique_ptr<PostgresServer> started;
  return started;
}

}  // namespace

bool StoreTest::crash_server() { return server()->crash_and_start_again(); }

void StoreTest::SetUp() {
  directory_ = make_fast_directory("deadheat-store");
  ASSERT_FALSE(directory_.empty());
  if (GetParam() == Backend::kPostgres && !server()) {
    std::string reason;
    server() = PostgresServer::start(reason);
    if (!server() && !PostgresServer::is_installed()) {
      std::printf("skipped: PostgreSQL: %s\n", reason.c_str());
      GTEST_SKIP() << reason;
    }
    ASSERT_NE(server(), nullptr) << reason;
  }
  place_ = new_place();
  ASSERT_FALSE(place_.empty());
}

void StoreTest::TearDown() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string StoreTest::new_place() {
  if (GetParam() == Backend::kPostgres) return server()->new_database();
  return fmt::format("{}/races{}.db", directory_, ++places_);
}

Store StoreTest::open(const std::string& place, StoreAccess access) { return must(Store::open(place, access)); }

StoredRun example_run(const std::string& mode, Microseconds started) {
  StoredRun run;
  run.mode = mode;
  run.program = "/home/me/bank";
  run.arguments = R"(["--accounts","7"])";
  run.machine = "box";
  run.tool = "0.1.0";
  run.started = started;
  return run;
}

Sighting example_sighting(const std::string& fingerprint, std::uint64_t occurrences) {
  return {.fingerprint = fingerprint,
          .kind = "write-write",
          .title = "write-write race",
          .variable = "balance",
          .earlier = "transfer bank.cpp:31",
          .later = "deposit bank.cpp:42",
          .occurrences = occurrences,
          .document = R"({"fingerprint":")" + fingerprint + R"("})"};
}

}  // namespace deadheat
