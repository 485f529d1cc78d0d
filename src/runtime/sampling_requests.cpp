// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampling_requests.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cstddef>
#include <ctime>

#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// Text into memory of a fixed size; what does not fit is left out.
class Line {
 public:
  void add(const char* text) {
    for (; *text != 0 && size_ < sizeof text_; ++text) text_[size_++] = *text;
  }
  void add(std::uint64_t number) {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count != 0 && size_ < sizeof text_) text_[size_++] = digits[--count];
  }
  void add(const char* name, std::uint64_t value) {
    if (size_ != 0) add(" ");
    add(name);
    add("=");
    add(value);
  }
  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  char text_[512];
  std::size_t size_ = 0;
};

bool begins_with(const char* text, std::size_t size, const char* word) {
  for (std::size_t at = 0; word[at] != 0; ++at) {
    if (at == size || text[at] != word[at]) return false;
  }
  return true;
}

bool parse_share(const char* text, std::size_t size, std::uint64_t& value) {
  if (size == 0 || size > 7) return false;
  value = 0;
  for (std::size_t at = 0; at < size; ++at) {
    if (text[at] < '0' || text[at] > '9') return false;
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  return value <= raw_report::kWholeRate;
}

// The user of the process that sent it may ask.
bool is_allowed(const msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    const auto* sender = reinterpret_cast<const ucred*>(CMSG_DATA(part));
    return sender->uid == 0 || sender->uid == static_cast<uid_t>(raw_call(SYS_geteuid));
  }
  return false;
}

}  // namespace

Request parse_request(const char* text, std::size_t size) {
  while (size != 0 && (text[size - 1] == '\n' || text[size - 1] == 0)) --size;
  Request request;
  if (size == 6 && begins_with(text, size, "status")) request.what = Request::What::kStatus;
  if (begins_with(text, size, "rate=") && parse_share(text + 5, size - 5, request.value)) {
    request.what = Request::What::kRate;
  }
  if (begins_with(text, size, "budget=") && parse_share(text + 7, size - 7, request.value)) {
    request.what = Request::What::kBudget;
  }
  return request;
}

void Requests::open() {
  socket_ = static_cast<int>(raw_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_ < 0) return;
  const int yes = 1;
  raw_call(SYS_setsockopt, socket_, SOL_SOCKET, SO_PASSCRED, reinterpret_cast<long>(&yes), sizeof yes);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Line name;
  name.add(raw_report::kControlName);
  name.add(static_cast<std::uint64_t>(raw_call(SYS_getpid)));
  for (std::size_t at = 0; at < name.size(); ++at) address.sun_path[1 + at] = name.text()[at];
  const std::size_t size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (raw_call(SYS_bind, socket_, reinterpret_cast<long>(&address), static_cast<long>(size)) == 0) return;
  raw_call(SYS_close, socket_);
  socket_ = -1;
}

bool Requests::wait(std::uint64_t time, Request& request) {
  timespec limit{static_cast<time_t>(time / 1'000'000'000), static_cast<long>(time % 1'000'000'000)};
  pollfd ready{socket_, POLLIN, 0};
  const long count =
      raw_call(SYS_ppoll, reinterpret_cast<long>(&ready), socket_ < 0 ? 0 : 1, reinterpret_cast<long>(&limit), 0, 8);
  if (count <= 0) return false;
  char text[64];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  sockaddr_un from{};
  iovec piece{text, sizeof text};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long size = raw_call(SYS_recvmsg, socket_, reinterpret_cast<long>(&message), 0);
  if (size < 0 || !is_allowed(message)) return false;
  request = parse_request(text, static_cast<std::size_t>(size));
  request.address_size = message.msg_namelen < sizeof request.address ? message.msg_namelen : 0;
  for (std::uint32_t at = 0; at < request.address_size; ++at) {
    request.address[at] = reinterpret_cast<const char*>(&from)[at];
  }
  return true;
}

void Requests::answer(const Request& request, const raw_report::Sampling& totals) {
  if (request.address_size == 0) return;
  Line line;
  if (request.what == Request::What::kUnknown) {
    line.add("error: no such request");
  } else {
    line.add("rate", totals.rate);
    line.add("budget", totals.budget);
    line.add("seed", totals.seed);
    line.add("period_us", totals.period_us);
    line.add("periods", totals.periods);
    line.add("work_ns", totals.work_ns);
    line.add("sampled_work_ns", totals.sampled_work_ns);
    line.add("cost_ns", totals.cost_ns);
    line.add("sampled_accesses", totals.sampled_accesses);
    line.add("checked_accesses", totals.checked_accesses);
    line.add("horizon_us", totals.horizon_us);
    line.add("expired_records", totals.expired_records);
    line.add("expected_work_ns", totals.expected_work_ns);
  }
  raw_call(SYS_sendto, socket_, reinterpret_cast<long>(line.text()), static_cast<long>(line.size()), 0,
           reinterpret_cast<long>(request.address), request.address_size);
}

}  // namespace deadheat::runtime
