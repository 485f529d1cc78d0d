// SPDX-License-Identifier: Apache-2.0
// The agent in a process that runs already, and out of it again.
#include "watch/attach/inject.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "watch/attach/traced_process.h"
#include "watch_agent/watched_run.h"
#include "watch_agent/watched_sites.h"

namespace deadheat::watch {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The watched program, by itself.
class RunningProgram {
 public:
  RunningProgram(const std::string& what, std::size_t threads) {
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(input[0], 0);
      dup2(output[1], 1);
      execl(DEADHEAT_WATCHED_PROGRAM, DEADHEAT_WATCHED_PROGRAM, what.c_str(), nullptr);
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    output_ = output[0];
    while (threads_of(process_).size() != threads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~RunningProgram() {
    if (input_ >= 0) kill(process_, SIGKILL);
    close(output_);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  // Everything that an agent could leave behind.
  [[nodiscard]] std::string traces() const {
    const std::string folder = "/proc/" + std::to_string(process_);
    const auto files = std::filesystem::directory_iterator(folder + "/fd");
    return text_of_file(folder + "/maps") + std::to_string(std::distance(begin(files), end(files))) + " files, " +
           std::to_string(threads_of(process_).size()) + " threads, handles " + status_of(process_, "SigCgt") + "\n";
  }
  std::string finish() {
    close(input_);
    input_ = -1;
    std::string output(100, '\0');
    const ssize_t size = read(output_, output.data(), output.size());
    output.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    int status = 0;
    waitpid(process_, &status, 0);
    EXPECT_EQ(status, 0);
    return output;
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
};

struct Heard {
  Progress progress;
  std::size_t confirmed = 0;
  std::size_t suspected = 0;
  bool has_stacks = true;
  bool said_bye = false;
  std::string messages;
};

// Until the agent says farewell, which it is asked for when there is enough.
Heard listen(InjectedAgent& agent, const std::function<bool(const Heard&)>& is_enough) {
  Heard heard;
  std::vector<char> bytes(sizeof(Collision) + sizeof(Modules));
  const auto deadline = SteadyClock::now() + std::chrono::seconds(20);
  while (!heard.said_bye && SteadyClock::now() < deadline + std::chrono::seconds(5)) {
    pollfd wait{agent.channel(), POLLIN, 0};
    poll(&wait, 1, 50);
    const ssize_t size = recv(agent.channel(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size == 0) break;
    PacketHead head;
    if (size > 0) std::memcpy(&head, bytes.data(), sizeof head);
    if (size > 0 && head.kind == PacketKind::kCollision) {
      static Collision collision;
      std::memcpy(&collision, bytes.data(), sizeof collision);
      ++(collision.is_confirmed != 0 ? heard.confirmed : heard.suspected);
      heard.has_stacks = heard.has_stacks && collision.sampled_stack.size > 0 && collision.tripped_stack.size > 0;
    }
    if (size > 0 && head.kind == PacketKind::kProgress)
      std::memcpy(&heard.progress, bytes.data(), sizeof heard.progress);
    if (size > 0 && head.kind == PacketKind::kMessage) heard.messages += bytes.data() + sizeof head;
    if (size > 0 && head.kind == PacketKind::kBye) heard.said_bye = true;
    if (is_enough(heard) || SteadyClock::now() > deadline) agent.ask_to_finish();
  }
  return heard;
}

class InjectTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (!has_breakpoints(reason)) GTEST_SKIP() << reason;
  }
  Result<std::unique_ptr<InjectedAgent>> inject(pid_t process, const std::string& options) {
    const std::string table = text_of_file(sites.path());
    const auto bytes = std::as_bytes(std::span(table));
    return InjectedAgent::inject({process, DEADHEAT_WATCH_AGENT, {bytes.begin(), bytes.end()}, options, false});
  }

  WatchedSites sites;
};

TEST_F(InjectTest, ARaceIsFoundAndTheProcessIsAsBefore) {
  RunningProgram program("race", 3);
  const std::string before = program.traces();
  for (int times = 0; times < 2; ++times) {
    auto agent = inject(program.process(), "method=confirm");
    ASSERT_TRUE(agent.ok()) << agent.error().message;
    EXPECT_EQ(agent.value()->thread_count(), 3U);
    const Heard heard = listen(*agent.value(), [](const Heard& so_far) { return so_far.confirmed != 0; });
    EXPECT_GT(heard.confirmed, 0U);
    EXPECT_TRUE(heard.has_stacks);
    EXPECT_TRUE(heard.said_bye);
    EXPECT_EQ(heard.messages, "");
    const Status status = agent.value()->withdraw();
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(program.traces(), before);
  }
  EXPECT_EQ(program.finish(), "raced\n");
}

TEST_F(InjectTest, LocksOfARunningProgramAreSeen) {
  RunningProgram program("locked", 3);
  const std::string before = program.traces();
  auto agent = inject(program.process(), "method=clock:rate=1000:cpu_share=1000000");
  ASSERT_TRUE(agent.ok()) << agent.error().message;
  EXPECT_GE(agent.value()->call_count(), 2U);
  const Heard heard = listen(*agent.value(), [](const Heard& so_far) { return so_far.progress.watches >= 100; });
  EXPECT_GE(heard.progress.watches, 100U);
  EXPECT_EQ(heard.confirmed + heard.suspected, 0U);
  EXPECT_TRUE(agent.value()->withdraw().ok());
  EXPECT_EQ(program.traces(), before);
  EXPECT_EQ(program.finish(), "exact\n");
}

TEST_F(InjectTest, TwentyTimesLeaveNothing) {
  RunningProgram program("locked", 3);
  const std::string before = program.traces();
  for (int times = 0; times < 20; ++times) {
    auto agent = inject(program.process(), "method=confirm:rate=1000:cpu_share=1000000");
    ASSERT_TRUE(agent.ok()) << agent.error().message;
    const Heard heard = listen(*agent.value(), [](const Heard&) { return true; });
    EXPECT_TRUE(heard.said_bye);
    const Status status = agent.value()->withdraw();
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_EQ(program.traces(), before);
  }
  EXPECT_EQ(program.finish(), "exact\n");
}

TEST_F(InjectTest, ThreadsThatWaitInTheSystemGoOnWaiting) {
  RunningProgram program("sleepers", 4);
  const std::string before = program.traces();
  auto agent = inject(program.process(), "method=confirm");
  ASSERT_TRUE(agent.ok()) << agent.error().message;
  EXPECT_EQ(agent.value()->thread_count(), 4U);
  const Heard heard =
      listen(*agent.value(), [](const Heard& so_far) { return so_far.progress.elapsed_ns > 400'000'000; });
  EXPECT_TRUE(heard.said_bye);
  const Status status = agent.value()->withdraw();
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(program.traces(), before);
  EXPECT_EQ(program.finish(), "3 woken\n");
}

TEST_F(InjectTest, AProcessThatEndsWhileItIsWatchedEndsAsItWould) {
  RunningProgram program("race", 3);
  auto agent = inject(program.process(), "method=collide:rate=1000:cpu_share=1000000:stall_share=500000");
  ASSERT_TRUE(agent.ok()) << agent.error().message;
  bool is_asked = false;
  std::string output;
  listen(*agent.value(), [&](const Heard& so_far) {
    if (so_far.confirmed != 0 && !std::exchange(is_asked, true)) output = program.finish();
    return false;
  });
  EXPECT_EQ(output, "raced\n");
  EXPECT_TRUE(agent.value()->withdraw().ok());
}

TEST_F(InjectTest, AProcessThatConfinesItselfMeanwhileIsNotHarmed) {
  RunningProgram program("confine-late", 3);
  const std::string before = program.traces();
  auto agent = inject(program.process(), "method=confirm:rate=1000:cpu_share=1000000");
  ASSERT_TRUE(agent.ok()) << agent.error().message;
  const Heard heard = listen(*agent.value(), [](const Heard&) { return false; });
  EXPECT_NE(heard.messages.find("seccomp"), std::string::npos) << heard.messages;
  while (status_of(program.process(), "Seccomp") == "0") std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Status status = agent.value()->withdraw();
  if (status.ok()) {
    EXPECT_EQ(program.traces(), before);
  } else {  // only root may suspend a filter
    EXPECT_NE(status.error().message.find("seccomp"), std::string::npos) << status.error().message;
  }
  EXPECT_EQ(program.finish(), "confined\n");
}

// Until there is nothing of an agent in it, or for some seconds.
void wait_for_traces(const RunningProgram& program, const std::string& traces) {
  const auto deadline = SteadyClock::now() + std::chrono::seconds(10);
  while (program.traces() != traces && SteadyClock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void kill_own_children() {
  const std::string own = std::to_string(getpid());
  std::istringstream children(text_of_file("/proc/" + own + "/task/" + own + "/children"));
  for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
}

TEST_F(InjectTest, ASecondOneIsRefusedByNameOfTheFirst) {
  RunningProgram program("locked", 3);
  const std::string before = program.traces();
  auto first = inject(program.process(), "method=confirm");
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = inject(program.process(), "method=confirm");
  ASSERT_FALSE(second.ok());
  const std::string named = "is watched already, by process " + std::to_string(getpid()) + " ('";
  EXPECT_NE(second.error().message.find(named), std::string::npos) << second.error().message;
  EXPECT_TRUE(first.value()->withdraw().ok());
  EXPECT_EQ(program.traces(), before);
  EXPECT_EQ(program.finish(), "exact\n");
}

TEST_F(InjectTest, WhatIsLeftOfAKilledOneIsTakenOut) {
  RunningProgram program("locked", 3);
  const std::string before = program.traces();
  const pid_t watcher = fork();
  if (watcher == 0) {
    const auto agent = inject(program.process(), "method=confirm");
    kill_own_children();  // the keeper
    kill(getpid(), SIGKILL);
  }
  waitpid(watcher, nullptr, 0);
  EXPECT_NE(program.traces(), before);
  auto agent = inject(program.process(), "method=confirm");
  ASSERT_TRUE(agent.ok()) << agent.error().message;
  EXPECT_TRUE(agent.value()->withdraw().ok());
  EXPECT_EQ(program.traces(), before);
  EXPECT_EQ(program.finish(), "exact\n");
}

TEST_F(InjectTest, WhenWeAreKilledTheProcessGoesOn) {
  RunningProgram program("locked", 3);
  const std::string before = program.traces();
  const pid_t watcher = fork();
  if (watcher == 0) {
    auto agent =
        inject(program.process(), "method=collide:rate=100000:limit_us=100:stall_share=500000:cpu_share=1000000");
    if (agent.ok()) {
      listen(*agent.value(), [](const Heard& so_far) {
        if (so_far.progress.watches > 20) kill(getpid(), SIGKILL);
        return false;
      });
    }
    _exit(1);
  }
  int status = 0;
  waitpid(watcher, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << std::hex << status;
  wait_for_traces(program, before);
  EXPECT_EQ(program.traces(), before);
  EXPECT_EQ(program.finish(), "exact\n");
}

TEST_F(InjectTest, WhatCannotBeTracedIsExplained) {
  EXPECT_EQ(reason_against_tracing(1 << 22), "there is no process 4194304");
  EXPECT_EQ(reason_against_tracing(getpid()), "a process cannot watch itself");
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child, nullptr, nullptr), 0);
  const auto agent = inject(child, "");
  ASSERT_FALSE(agent.ok());
  EXPECT_NE(agent.error().message.find("is traced by process"), std::string::npos) << agent.error().message;
  kill(child, SIGKILL);
  waitpid(child, nullptr, __WALL);
}

}  // namespace
}  // namespace deadheat::watch
