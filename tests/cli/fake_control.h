// SPDX-License-Identifier: Apache-2.0
// The control socket of a process that samples, as raw_report.h describes it, for a
// program that only plays one. It says "ready" and then answers until it is killed.
#pragma once

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "support/packet_builder.h"

namespace deadheat::fake_control {

inline std::string state_of(const raw_report::Sampling& state) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  return "rate=" + number(state.rate) + " budget=" + number(state.budget) + " seed=" + number(state.seed) +
         " period_us=" + number(state.period_us) + " periods=" + number(state.periods) +
         " work_ns=" + number(state.work_ns) + " sampled_work_ns=" + number(state.sampled_work_ns) +
         " cost_ns=" + number(state.cost_ns) + " sampled_accesses=" + number(state.sampled_accesses) +
         " checked_accesses=" + number(state.checked_accesses) + " horizon_us=" + number(state.horizon_us) +
         " expired_records=" + number(state.expired_records);
}

inline int bind_socket() {
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = raw_report::kControlName + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) != 0) std::perror("fake program: bind");
  return descriptor;
}

// "state" answers as it should, "child" lets another process do so, "silence" does not
// answer at all; any other manner is the answer.
inline void serve(std::string_view manner) {
  const int descriptor = bind_socket();
  std::printf("ready\n");
  std::fflush(stdout);
  if (manner == "child") {
    if (fork() != 0) {
      pause();
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  raw_report::Sampling state = packets::usual_sampling();
  while (true) {
    char text[256];
    sockaddr_un from{};
    socklen_t from_size = sizeof(from);
    const ssize_t size =
        recvfrom(descriptor, text, sizeof(text) - 1, 0, reinterpret_cast<sockaddr*>(&from), &from_size);
    if (size < 0) return;
    text[size] = '\0';
    const std::string_view request = text;
    if (request.substr(0, 5) == "rate=") state.rate = std::strtoull(text + 5, nullptr, 10);
    if (request.substr(0, 7) == "budget=") state.budget = std::strtoull(text + 7, nullptr, 10);
    if (manner == "silence") continue;
    const std::string answer = manner == "state" || manner == "child" ? state_of(state) : std::string(manner);
    sendto(descriptor, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from), from_size);
  }
}

}  // namespace deadheat::fake_control
