// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL server of the test's own: in a temporary directory, without a network, under
// the account `postgres` when the test is root (the server refuses root), gone with the object.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace deadheat {

// A new directory of that name and a random ending: in memory if there is much of it, because
// a busy disk makes a test that waits for each commit slow. Empty when it cannot be made.
[[nodiscard]] std::string make_fast_directory(const std::string& name);

class PostgresServer {
 public:
  // Null when it is not installed or does not start; `reason` then says which.
  static std::unique_ptr<PostgresServer> start(std::string& reason);

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // Of a new, empty database.
  [[nodiscard]] std::string new_database();
  // As a crash would do it: the server's processes are ended at once, then it starts again.
  [[nodiscard]] bool crash_and_start_again();

  [[nodiscard]] static bool is_installed();

 private:
  explicit PostgresServer(std::string directory) : directory_(std::move(directory)) {}
  bool launch();
  void stop(int signal);
  [[nodiscard]] std::string url(const std::string& database) const;

  std::string directory_;
  pid_t process_ = -1;
  int databases_ = 0;
};

}  // namespace deadheat
