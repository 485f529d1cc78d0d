// SPDX-License-Identifier: Apache-2.0
#include "watch_agent/watched_run.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "support/temp_path.h"

namespace deadheat::watch {
namespace {

constexpr const char* kProgram = DEADHEAT_WATCHED_PROGRAM;
constexpr const char* kAgent = DEADHEAT_WATCH_AGENT;

struct Child {
  pid_t process = -1;
  int input = -1;
  int output = -1;
  int packets = -1;
};

// Only calls that are safe after fork.
[[noreturn]] void become_program(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  std::vector<char*> arguments{const_cast<char*>(kProgram)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  execve(kProgram, arguments.data(), variables.data());
  _exit(127);
}

Child start(const std::string& arguments, const std::string& table, const std::string& options) {
  int input[2];
  int output[2];
  int packets[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0 ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets) != 0) {
    std::abort();
  }
  std::vector<std::string> environment;
  if (!table.empty()) {
    environment = {std::string("LD_PRELOAD=") + kAgent, "DEADHEAT_WATCH_SITES=" + table,
                   "DEADHEAT_WATCH_SOCKET=" + std::to_string(packets[1]), "DEADHEAT_WATCH_OPTIONS=" + options};
  }
  std::vector<std::string> words;
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  Child child;
  child.process = fork();
  if (child.process == 0) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    dup2(output[1], 2);
    fcntl(packets[1], F_SETFD, 0);
    become_program(words, environment);
  }
  close(input[0]);
  close(output[1]);
  close(packets[1]);
  child.input = input[1];
  child.output = output[0];
  child.packets = packets[0];
  return child;
}

template <class Packet>
Packet as(const std::vector<char>& bytes) {
  Packet packet;
  std::memcpy(&packet, bytes.data(), std::min(sizeof packet, bytes.size()));
  return packet;
}

void take(RunResult& result, const std::vector<char>& bytes) {
  switch (as<PacketHead>(bytes).kind) {
    case PacketKind::kHello:
      result.said_hello = true;
      result.hello = as<Hello>(bytes);
      break;
    case PacketKind::kModules:
      result.modules += as<Modules>(bytes).lines;
      break;
    case PacketKind::kCollision:
      result.collisions.push_back(as<Collision>(bytes));
      break;
    case PacketKind::kProgress:
      result.progress = as<Progress>(bytes);
      break;
    case PacketKind::kMessage:
      result.messages.emplace_back(as<Message>(bytes).text);
      break;
    case PacketKind::kBye:
      result.said_bye = true;
      break;
  }
}

// False at the end of the file.
bool read_some(int& file, std::vector<char>& bytes) {
  bytes.resize(64 * 1024);
  const ssize_t got = read(file, bytes.data(), bytes.size());
  if (got > 0) {
    bytes.resize(static_cast<std::size_t>(got));
    return true;
  }
  close(file);
  file = -1;
  return false;
}

RunResult collect(Child child, const std::function<bool(const RunResult&)>& is_enough, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  const auto hopeless = deadline + std::chrono::seconds(30);
  RunResult result;
  std::vector<char> bytes;
  while (child.output >= 0 || child.packets >= 0) {
    pollfd files[2] = {{child.output, POLLIN, 0}, {child.packets, POLLIN, 0}};
    poll(files, 2, 20);
    if (files[0].revents != 0 && read_some(child.output, bytes)) result.output.append(bytes.data(), bytes.size());
    if (files[1].revents != 0 && read_some(child.packets, bytes)) take(result, bytes);
    if (child.input >= 0 && (is_enough(result) || Clock::now() > deadline)) {
      close(child.input);
      child.input = -1;
    }
    if (Clock::now() > hopeless) kill(child.process, SIGKILL);
  }
  if (child.input >= 0) close(child.input);
  waitpid(child.process, &result.status, 0);
  return result;
}

std::uint64_t size_of_file(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

WatchedSites::WatchedSites() : path_(temp_path("sites")) {
  std::vector<Site> sites;
  std::istringstream lines(run_alone("sites").output);
  unsigned long offset = 0;
  unsigned name = 0;
  unsigned length = 0;
  unsigned base = 0;
  unsigned flags = 0;
  unsigned first_byte = 0;
  while (lines >> offset >> name >> length >> base >> flags >> first_byte) {
    Site site;
    site.offset = static_cast<std::uint32_t>(offset);
    site.base = static_cast<std::uint8_t>(base);
    site.length = static_cast<std::uint8_t>(length);
    site.size = 4;
    site.flags = static_cast<std::uint8_t>(flags);
    site.first_byte = static_cast<std::uint8_t>(first_byte);
    sites.push_back(site);
    names_[offset] = name;
  }
  std::sort(sites.begin(), sites.end(), [](const Site& one, const Site& other) { return one.offset < other.offset; });
  SiteTableHeader header;
  header.module_count = 1;
  header.site_count = static_cast<std::uint32_t>(sites.size());
  SiteModule module;
  char* const real = realpath(kProgram, nullptr);
  std::snprintf(module.path, sizeof module.path, "%s", real);
  std::free(real);
  module.file_size = size_of_file(kProgram);
  module.site_count = header.site_count;
  std::FILE* const file = std::fopen(path_.c_str(), "wb");
  std::fwrite(&header, sizeof header, 1, file);
  std::fwrite(&module, sizeof module, 1, file);
  std::fwrite(sites.data(), sizeof(Site), sites.size(), file);
  std::fclose(file);
}

WatchedSites::~WatchedSites() { std::remove(path_.c_str()); }

unsigned WatchedSites::name_at(std::uint64_t offset) const {
  const auto found = names_.find(offset);
  return found != names_.end() ? found->second : 0;
}

std::pair<unsigned, unsigned> RunResult::names(const Collision& collision, const WatchedSites& sites) const {
  const std::uint64_t base = std::strtoull(modules.c_str(), nullptr, 16);  // the executable is the lowest
  return {sites.name_at(collision.sampled.code - base), sites.name_at(collision.tripped.code - base)};
}

std::size_t RunResult::count_confirmed() const {
  std::size_t count = 0;
  for (const Collision& collision : collisions) count += collision.is_confirmed != 0 ? 1 : 0;
  return count;
}

std::size_t RunResult::count_suspects() const { return collisions.size() - count_confirmed(); }

RunResult run_watched(const WatchedSites& sites, const std::string& arguments, const std::string& options,
                      const std::function<bool(const RunResult&)>& is_enough, double seconds) {
  return collect(start(arguments, sites.path(), options), is_enough, seconds);
}

RunResult run_unheard(const WatchedSites& sites, const std::string& arguments, const std::string& options) {
  Child child = start(arguments, sites.path(), options);
  std::vector<char> bytes;
  RunResult first;
  if (read_some(child.packets, bytes)) take(first, bytes);
  if (child.packets >= 0) close(child.packets);
  child.packets = -1;
  RunResult result = collect(child, [](const RunResult&) { return false; }, 0.5);
  result.said_hello = first.said_hello;
  return result;
}

RunResult run_alone(const std::string& arguments) {
  return collect(start(arguments, "", ""), [](const RunResult&) { return true; }, 0);
}

bool has_breakpoints(std::string& reason) {
  static std::uint64_t word = 0;
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = reinterpret_cast<std::uint64_t>(&word);
  attributes.bp_len = 1;
  attributes.sample_period = 1;
  attributes.disabled = 1;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const long event = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
  if (event < 0) {
    reason = std::string("no data breakpoints here: perf_event_open: ") + std::strerror(errno);
    return false;
  }
  close(static_cast<int>(event));
  return true;
}

}  // namespace deadheat::watch
