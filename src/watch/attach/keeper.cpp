// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/keeper.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <type_traits>

#include "watch/attach/traced_process.h"

namespace deadheat::watch {
namespace {

static_assert(std::is_trivially_copyable_v<KeeperNews>);

// Fields of /proc/self/stat: where the words are that ps shows.
void replace_own_words(const std::string& words) {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  constexpr int kBegin = 48;
  for (int number = 3; number < kBegin && fields >> field; ++number) {
  }
  if (!(fields >> begin >> end) || end <= begin + 1) return;
  auto* const place = reinterpret_cast<char*>(begin);
  std::memset(place, 0, end - begin);
  std::memcpy(place, words.data(), std::min<std::size_t>(words.size(), end - begin - 1));
}

void become_keeper(pid_t process, int socket) {
  setsid();
  prctl(PR_SET_NAME, kKeeperName);
  prctl(PR_SET_PDEATHSIG, 0);
  replace_own_words(fmt::format("{} {}", kKeeperName, process));
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  // A process that waits for the end of the command's files must not wait for us.
  const auto kept = static_cast<unsigned>(socket);
  if (kept > 0) close_range(0, kept - 1, 0);
  close_range(kept + 1, ~0U, 0);
}

void tell(int socket, const Status& status, const PlacedAgent& agent) {
  KeeperNews news;
  news.is_ok = status.ok() ? 1 : 0;
  news.agent = agent;
  if (!status.ok()) {
    news.error_code = static_cast<int>(status.error().code);
    std::snprintf(news.message, sizeof news.message, "%s", status.error().message.c_str());
  }
  iovec part{&news, sizeof news};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (agent.channel >= 0) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &agent.channel, sizeof(int));
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace

void keep_agent(const InjectRequest& request, pid_t watcher, int socket) {
  become_keeper(request.process, socket);
  auto placed = place_agent(request, watcher);
  if (!placed.ok()) {
    tell(socket, placed.error(), {});
    _exit(0);
  }
  PlacedAgent agent = placed.value();
  tell(socket, {}, agent);
  ::close(agent.channel);
  agent.channel = -1;
  char word = 0;
  ssize_t size = -1;
  do {
    size = recv(socket, &word, 1, 0);
  } while (size < 0 && errno == EINTR);
  Status status = withdraw_agent(agent);
  tell(socket, status, agent);
  // Nobody waits any more: a thread that stands in the way may still move on.
  constexpr int kMoreTimes = 20;
  for (int times = 0; !status.ok() && times < kMoreTimes; ++times) status = withdraw_agent(agent);
  _exit(0);
}

bool receive_news(int socket, KeeperNews& news) {
  iovec part{&news, sizeof news};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t size = -1;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof news)) return false;
  news.agent.channel = -1;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
      std::memcpy(&news.agent.channel, CMSG_DATA(head), sizeof(int));
  }
  return true;
}

}  // namespace deadheat::watch
