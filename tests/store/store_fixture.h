// SPDX-License-Identifier: Apache-2.0
// Every test of the store runs twice: with a file, and with a database of a server that the
// first of them starts.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "store/store.h"

namespace deadheat {

enum class Backend : std::uint8_t { kSqlite, kPostgres };
inline std::string name_of_backend(const testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::kSqlite ? "Sqlite" : "Postgres";
}

class StoreTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Of an empty store, another one each time.
  [[nodiscard]] std::string new_place();
  // Ends the test when it cannot.
  [[nodiscard]] static Store open(const std::string& place, StoreAccess access = StoreAccess::kWrite);

  // The server falls over and comes back.
  [[nodiscard]] static bool crash_server();

  std::string place_;
  std::string directory_;  // for files of the test

 private:
  int places_ = 0;
};

[[nodiscard]] StoredRun example_run(const std::string& mode, Microseconds started = 1'000'000);
[[nodiscard]] Sighting example_sighting(const std::string& fingerprint, std::uint64_t occurrences = 1);
// The value, or a failed test.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}
#define EXPECT_OK(status)                                     \
  do {                                                        \
    const ::deadheat::Status result_of = (status);            \
    EXPECT_TRUE(result_of.ok()) << result_of.error().message; \
  } while (false)

}  // namespace deadheat
