// SPDX-License-Identifier: Apache-2.0
// Stands for a program with Deadheat's runtime inside: it sends the packets that
// its arguments name, one after another, to the descriptor that `deadheat run`
// gave it, or to the file FAKE_RAW_FILE. It never has a race of its own.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/fake_control.h"
#include "cli/fake_schedule.h"
#include "model/finding.h"
#include "support/own_modules.h"
#include "support/packet_builder.h"

// By this `deadheat run` knows a program that reports.
extern "C" __attribute__((used, visibility("default"))) const int __deadheat_runtime_version = 1;

DEADHEAT_PLAIN_GLOBAL int fake_counter;

namespace {

using namespace deadheat;

int channel = -1;

std::uint32_t self() { return static_cast<std::uint32_t>(getpid()); }

void send_packet(const packets::Bytes& bytes) {
  if (write(channel, bytes.data(), bytes.size()) < 0) std::perror("fake program: write");
}

void greet() {
  send_packet(packets::hello(self(), own_path(), static_cast<std::uint32_t>(getppid())));
  send_packet(packets::modules(self(), own_modules()));
}

__attribute__((noinline)) std::uint64_t increment() {
  volatile std::uint64_t code = code_here();
  return code;
}

__attribute__((noinline)) std::uint64_t reset() {
  volatile std::uint64_t code = code_here();
  return code;
}

void race() {
  packets::FindingParts parts(1, reinterpret_cast<std::uint64_t>(&fake_counter));
  packets::set_text(parts.threads[1].name, "worker");
  parts.finding.later.stack = parts.stack({increment()});
  parts.finding.earlier.stack = parts.stack({reset()});
  send_packet(parts.bytes(self()));
}

// Another one: a read.
void other_race() {
  packets::FindingParts parts(2, reinterpret_cast<std::uint64_t>(&fake_counter));
  parts.finding.later.kind = static_cast<std::uint8_t>(AccessKind::kRead);
  parts.finding.later.stack = parts.stack({increment()});
  parts.finding.earlier.stack = parts.stack({reset()});
  send_packet(parts.bytes(self()));
}

// Two threads, a race on fake_counter.
void trace() {
  const ThreadId main{1};
  const ThreadId worker{2};
  const auto address = reinterpret_cast<Address>(&fake_counter);
  send_packet(packets::sites(self(), {{10, 0, reset()}, {20, 0, increment()}}));
  send_packet(packets::events(self(), {events::on_thread(EventKind::kFork, main, worker),
                                       events::at(events::write(main, address, 4), SiteId{10}),
                                       events::at(events::write(worker, address, 4), SiteId{20})}));
}

// A race of main's write before the fork with the child's worker, which the parent
// does not have.
void trace_of_child() {
  const ThreadId main{1};
  const ThreadId worker{2};
  const auto address = reinterpret_cast<Address>(&fake_counter);
  const std::uint32_t parent = self();
  send_packet(packets::recording(self()));
  send_packet(packets::sites(self(), {{10, 0, reset()}, {20, 0, increment()}}));
  send_packet(packets::events(self(), {events::on_thread(EventKind::kFork, main, worker),
                                       events::at(events::write(main, address, 4), SiteId{10})}));
  send_packet(packets::forking(self(), 1));
  if (fork() == 0) {
    greet();
    send_packet(packets::recording(self(), {parent, 0, 1}));
    send_packet(packets::events(self(), {events::at(events::write(worker, address, 4), SiteId{20})}));
    _exit(0);
  }
  wait(nullptr);
}

// Too irregular to be compressed well.
void many_events() {
  std::uint64_t number = 1;
  for (int round = 0; round < 50; ++round) {
    std::vector<Event> some;
    for (int count = 0; count < 2000; ++count) {
      number = number * 6364136223846793005U + 1442695040888963407U;
      some.push_back(events::write(ThreadId{1}, number >> 17U, 4));
    }
    send_packet(packets::events(self(), some));
  }
}

void perform(std::string_view action) {
  if (action == "race") race();
  if (action == "other-race") other_race();
  if (action == "schedule") fake_schedule::count();
  if (action == "deadlock") {
    fake_schedule::deadlock(reinterpret_cast<std::uint64_t>(&fake_counter), increment(), reset());
  }
  if (action == "crash" || action == "abort") {
    std::fflush(stdout);
    const int signal = action == "crash" ? SIGSEGV : SIGABRT;
    std::signal(signal, SIG_DFL);  // a sanitizer would turn it into an exit status
    raise(signal);
  }
  if (action == "ignore-term") std::signal(SIGTERM, SIG_IGN);
  if (action == "twice") send_packet(packets::summary(self(), {{1, 2}}));
  if (action == "clean") send_packet(packets::summary(self(), {}));
  if (action == "loss") send_packet(packets::summary(self(), {}, {{"stacks dropped", 3, packets::Loss::kYes}}));
  if (action == "sampled") send_packet(packets::sampling(self(), packets::usual_sampling()));
  if (action == "nothing-sampled") send_packet(packets::sampling(self(), {.rate = 30'000, .seed = 7}));
  if (action == "cold-calls") send_packet(packets::cold_calls(self(), {1'200'345, 4'120, 0}));
  if (action == "cold-refused") send_packet(packets::cold_calls(self(), {0, 0, 1}));
  if (action.substr(0, 8) == "control=") fake_control::serve(action.substr(8));
  if (action == "notice") send_packet(packets::notice(self(), "limit reached"));
  if (action == "garbage") send_packet(packets::Bytes(20));
  if (action == "trace") trace();
  if (action == "trace-of-child") trace_of_child();
  if (action == "many-events") many_events();
  if (action == "options") std::printf("%s\n", std::getenv("DEADHEAT_OPTIONS"));
  if (action == "kill") raise(SIGKILL);
  if (action == "wait-for-term") {
    std::printf("ready\n");
    std::fflush(stdout);
    pause();
  }
  if (action == "fork") {
    if (fork() == 0) {
      greet();
      race();
      send_packet(packets::summary(self(), {{1, 5}}));
      _exit(0);
    }
    wait(nullptr);
  }
  if (action == "daemon" && fork() == 0) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    sleep(5);
    _exit(0);
  }
  if (action.substr(0, 5) == "exit=") std::exit(std::atoi(action.data() + 5));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const char* descriptor = std::getenv(raw_report::kDescriptorVariable);
  const char* file = std::getenv("FAKE_RAW_FILE");
  if (descriptor != nullptr) channel = std::atoi(descriptor);
  if (file != nullptr) channel = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  greet();
  for (int index = 1; index < argument_count; ++index) {
    // "run=3 race": a race in the third run of a hunt only.
    const std::string_view action = arguments[index];
    if (action.substr(0, 4) != "run=") {
      perform(action);
    } else if (std::atoi(arguments[index] + 4) != fake_schedule::run_number()) {
      ++index;
    }
  }
  return 0;
}
