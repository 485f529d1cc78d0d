// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/inject.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "watch/attach/keeper.h"
#include "watch/attach/remove_agent.h"
#include "watch/attach/traced_process.h"

namespace deadheat::watch {

Result<std::unique_ptr<InjectedAgent>> InjectedAgent::inject(const InjectRequest& request) {
  if (std::string reason = reason_against_tracing(request.process); !reason.empty())
    return Error{ErrorCode::kIo, reason};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot open a socket: {}", std::strerror(errno))};
  }
  std::unique_ptr<InjectedAgent> injected(new InjectedAgent);
  const pid_t watcher = getpid();
  injected->keeper_socket_ = pair[0];
  injected->keeper_ = fork();
  if (injected->keeper_ == 0) {
    close(pair[0]);
    keep_agent(request, watcher, pair[1]);
  }
  close(pair[1]);
  if (injected->keeper_ < 0) return Error{ErrorCode::kIo, fmt::format("cannot fork: {}", std::strerror(errno))};
  KeeperNews news;
  if (!receive_news(injected->keeper_socket_, news)) {
    return Error{ErrorCode::kIo, "the process that traces for us was killed"};
  }
  if (news.is_ok == 0) return Error{static_cast<ErrorCode>(news.error_code), news.message};
  injected->agent_ = news.agent;
  return injected;
}

InjectedAgent::~InjectedAgent() {
  close_channel();
  end_keeper();
}

void InjectedAgent::close_channel() {
  if (agent_.channel >= 0) close(std::exchange(agent_.channel, -1));
}

void InjectedAgent::end_keeper() {
  if (keeper_socket_ >= 0) close(std::exchange(keeper_socket_, -1));
  if (keeper_ <= 0) return;
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
}

void InjectedAgent::ask_to_finish() { ask_agent_to_finish(agent_.process, agent_.place); }

Status InjectedAgent::withdraw() {
  close_channel();
  const char withdraw = 'w';
  KeeperNews news;
  const bool was_done = send(keeper_socket_, &withdraw, 1, MSG_NOSIGNAL) == 1 && receive_news(keeper_socket_, news);
  if (was_done && news.is_ok == 0) keeper_ = -1;  // it goes on trying, without us
  end_keeper();
  if (!was_done) return withdraw_agent(agent_);  // somebody has killed it
  if (news.is_ok != 0) return {};
  return Error{static_cast<ErrorCode>(news.error_code), news.message};
}

}  // namespace deadheat::watch
