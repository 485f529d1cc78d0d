// SPDX-License-Identifier: Apache-2.0
#include "store/postgres_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "store/sql_connection.h"

namespace deadheat {

namespace {

namespace fs = std::filesystem;

// The directory of the newest server's programs, or empty.
std::string program_directory() {
  std::string newest;
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const std::string directory = version.path() / "bin";
    if (fs::exists(directory + "/initdb") && directory > newest) newest = directory;
  }
  return newest;
}

// In a child: leaves root for the server's account.
void become_unprivileged() {
  if (geteuid() != 0) return;
  const passwd* const account = getpwnam("postgres");
  if (account == nullptr || setgid(account->pw_gid) != 0 || setuid(account->pw_uid) != 0) _exit(97);
}

pid_t spawn(std::vector<std::string> words, const std::string& log) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  become_unprivileged();
  if (chdir("/") != 0) _exit(98);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(99);
}

bool run(std::vector<std::string> words, const std::string& log) {
  int status = 0;
  const pid_t child = spawn(std::move(words), log);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

std::string make_fast_directory(const std::string& name) {
  constexpr std::uintmax_t kEnough = 1'000'000'000;
  std::error_code error;
  const fs::path memory = "/dev/shm";
  const bool is_roomy = access(memory.c_str(), W_OK) == 0 && fs::space(memory, error).available >= kEnough && !error;
  std::string directory = ((is_roomy ? memory : fs::temp_directory_path()) / (name + "-XXXXXX")).string();
  return mkdtemp(directory.data()) == nullptr ? std::string() : directory;
}

bool PostgresServer::is_installed() { return !program_directory().empty(); }

std::unique_ptr<PostgresServer> PostgresServer::start(std::string& reason) {
  const std::string programs = program_directory();
  if (programs.empty()) {
    reason = "the server is not installed (Debian package postgresql)";
    return nullptr;
  }
  const std::string directory = make_fast_directory("deadheat-pg");
  if (directory.empty()) return nullptr;
  std::unique_ptr<PostgresServer> server(new PostgresServer(directory));
  const std::string log = directory + "/log";
  if (geteuid() == 0) {
    const passwd* const account = getpwnam("postgres");
    if (account == nullptr || chown(directory.c_str(), account->pw_uid, account->pw_gid) != 0) {
      reason = "there is no account 'postgres' to run the server under";
      return nullptr;
    }
  }
  reason = "it does not start; see " + log;
  const bool is_made = run({programs + "/initdb", "--pgdata", directory + "/data", "--auth", "trust", "--username",
                            "deadheat", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"},
                           log);
  if (!is_made || !server->launch()) return nullptr;
  return server;
}

bool PostgresServer::launch() {
  process_ = spawn({program_directory() + "/postgres", "-D", directory_ + "/data", "-k", directory_, "-c",
                    "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=40"},
                   directory_ + "/log");
  for (int tries = 0; tries < 400; ++tries) {
    if (open_postgres(url("postgres")).ok()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

void PostgresServer::stop(int signal) {
  if (process_ <= 0) return;
  kill(process_, signal);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

PostgresServer::~PostgresServer() {
  stop(SIGQUIT);
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

bool PostgresServer::crash_and_start_again() {
  stop(SIGQUIT);
  return launch();
}

std::string PostgresServer::url(const std::string& database) const {
  return fmt::format("postgresql:///{}?host={}&user=deadheat", database, directory_);
}

std::string PostgresServer::new_database() {
  const std::string name = fmt::format("races{}", ++databases_);
  auto connection = open_postgres(url("postgres"));
  if (!connection.ok() || !connection.value()->run("CREATE DATABASE " + name).ok()) return {};
  return url(name);
}

}  // namespace deadheat
