// SPDX-License-Identifier: Apache-2.0
#include "cli/control_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "cli/messages.h"
#include "cli/run_settings.h"
#include "report/describe.h"
#include "report/raw_packet_reader.h"

namespace deadheat {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{2};
constexpr std::string_view kRefusal = "error: ";

Error failure(std::string message) { return {ErrorCode::kIo, std::move(message)}; }

Error not_permitted(pid_t process) {
  return failure(fmt::format("process {} belongs to somebody else; ask as its user, or as root", process));
}

Error does_not_sample(pid_t process) {
  return failure(fmt::format("process {} does not sample; start it with 'deadheat run --rate ...'", process));
}

Error no_answer(pid_t process) {
  return failure(fmt::format("process {} did not answer within {} s; is it stopped?", process, kPatience.count()));
}

Error error_of(int number, pid_t process) {
  if (number == ECONNREFUSED) return does_not_sample(process);
  if (number == EPERM || number == EACCES) return not_permitted(process);
  // Its queue of requests is full.
  if (number == EAGAIN) return no_answer(process);
  return failure(fmt::format("cannot ask process {}: {}", process, system_message(number)));
}

// The address is abstract: it begins with 0 and has a length instead of an end.
socklen_t set_address(sockaddr_un& address, pid_t process) {
  const std::string name = raw_report::kControlName + std::to_string(process);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// To be heard we need an address, of the kernel's choice, and to know who speaks.
bool prepare_and_connect(int descriptor, pid_t process) {
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  sockaddr_un theirs{};
  const socklen_t size = set_address(theirs, process);
  const int yes = 1;
  return ::setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0 &&
         ::bind(descriptor, reinterpret_cast<const sockaddr*>(&own), sizeof(own.sun_family)) == 0 &&
         ::connect(descriptor, reinterpret_cast<const sockaddr*>(&theirs), size) == 0;
}

struct Message {
  std::string text;
  pid_t sender = 0;  // 0: not known
};

std::optional<Message> take_message(int descriptor) {
  char text[4096];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  iovec part{text, sizeof(text)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t size = ::recvmsg(descriptor, &header, MSG_DONTWAIT);
  if (size < 0) return std::nullopt;
  Message message{std::string(text, static_cast<std::size_t>(size)), 0};
  const cmsghdr* const attached = CMSG_FIRSTHDR(&header);
  if (attached != nullptr && attached->cmsg_level == SOL_SOCKET && attached->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(attached), sizeof(sender));
    message.sender = sender.pid;
  }
  return message;
}

}  // namespace

Result<ControlSocket> ControlSocket::open(pid_t process) {
  if (::kill(process, 0) != 0) {
    if (errno == ESRCH) return failure(fmt::format("there is no process {}", process));
    return error_of(errno, process);
  }
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return error_of(errno, process);
  ControlSocket socket(descriptor, process);
  if (!prepare_and_connect(descriptor, process)) return error_of(errno, process);
  return socket;
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), process_(other.process_) {}

ControlSocket::~ControlSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> ControlSocket::receive() {
  const auto deadline = SteadyClock::now() + kPatience;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) return no_answer(process_);
    pollfd wanted{descriptor_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(left.count())) <= 0) continue;
    if ((wanted.revents & POLLIN) == 0) return error_of(ECONNREFUSED, process_);
    auto message = take_message(descriptor_);
    if (message && message->sender == process_) return std::move(message->text);
  }
}

Result<raw_report::Sampling> ControlSocket::ask(std::string_view request) {
  if (::send(descriptor_, request.data(), request.size(), MSG_DONTWAIT) < 0) return error_of(errno, process_);
  const auto answer = receive();
  if (!answer.ok()) return answer.error();
  const std::string_view words = answer.value();
  if (words.starts_with(kRefusal)) {
    return Error{ErrorCode::kInvalid, fmt::format("process {} refuses '{}': {}", process_, request,
                                                  printable(words.substr(kRefusal.size())))};
  }
  const auto sampling = parse_answer(words);
  if (sampling.ok()) return sampling;
  return Error{ErrorCode::kMalformed,
               fmt::format("the answer of process {} cannot be read: {}", process_, sampling.error().message)};
}

Result<raw_report::Sampling> parse_answer(std::string_view answer) {
  using raw_report::Sampling;
  constexpr std::pair<std::string_view, std::uint64_t Sampling::*> kNames[] = {
      {"rate", &Sampling::rate},
      {"budget", &Sampling::budget},
      {"seed", &Sampling::seed},
      {"period_us", &Sampling::period_us},
      {"periods", &Sampling::periods},
      {"work_ns", &Sampling::work_ns},
      {"sampled_work_ns", &Sampling::sampled_work_ns},
      {"cost_ns", &Sampling::cost_ns},
      {"sampled_accesses", &Sampling::sampled_accesses},
      {"checked_accesses", &Sampling::checked_accesses},
      {"horizon_us", &Sampling::horizon_us},
      {"expired_records", &Sampling::expired_records},
      {"expected_work_ns", &Sampling::expected_work_ns},
  };
  Sampling sampling;
  if (!setting_of(answer, "rate")) return Error{ErrorCode::kMalformed, "it has no rate"};
  for (const auto& [name, member] : kNames) {
    const auto value = setting_of(answer, name);
    if (!value) continue;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), sampling.*member);
    if (error != std::errc{} || end != value->data() + value->size()) {
      return Error{ErrorCode::kMalformed, fmt::format("'{}' is no number", printable(*value))};
    }
  }
  return check_sampling(sampling);
}

}  // namespace deadheat
