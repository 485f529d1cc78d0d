// SPDX-License-Identifier: Apache-2.0
#include "cli/run_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/messages.h"
#include "runtime/raw_report.h"

namespace deadheat {

namespace {

using Clock = std::chrono::steady_clock;

// After the program's end: how long to wait for another packet, and altogether.
constexpr std::chrono::milliseconds kSilence{300};
constexpr std::chrono::seconds kGrace{10};
// Room for packets that were sent and not read yet.
constexpr int kChannelBytes = 8 << 20;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

struct Channel {
  Descriptor ours;
  Descriptor childs;  // inherited by what we start
};

bool open_channel(Channel& channel) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  channel.ours.reset(pair[0]);
  const Descriptor low(pair[1]);
  for (const int number : pair) {
    // The forced form needs rights that we rarely have; the other is cut to the system's limit.
    if (setsockopt(number, SOL_SOCKET, SO_SNDBUFFORCE, &kChannelBytes, sizeof(kChannelBytes)) != 0) {
      setsockopt(number, SOL_SOCKET, SO_SNDBUF, &kChannelBytes, sizeof(kChannelBytes));
    }
  }
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 64;
  const int high = known ? static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024)) - 24 : 3;
  channel.childs.reset(fcntl(low.get(), F_DUPFD, high));
  return channel.childs.get() >= 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  const auto name_of = [](std::string_view setting) { return setting.substr(0, setting.find('=')); };
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const auto replaces = [&](const std::string& setting) { return name_of(setting) == name_of(*entry); };
    if (std::none_of(settings.begin(), settings.end(), replaces)) all.emplace_back(*entry);
  }
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

// In the child: becomes the program, or sends the error and ends.
[[noreturn]] void become(const char* path, char* const* arguments, char* const* environment, const sigset_t& mask,
                         int errors) {
  std::signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(path, arguments, environment);
  const int error = errno;
  // The parent reads it or is gone: nothing else can be done here.
  [[maybe_unused]] const ssize_t sent = write(errors, &error, sizeof(error));
  _exit(127);
}

std::string exec_failure(const std::string& path, int error) {
  std::string message = fmt::format("cannot run '{}': {}", path, system_message(error));
  if (error == ENOENT) message += " (the interpreter that it names does not exist)";
  if (error == E2BIG) message += " (arguments and environment together)";
  return message;
}

}  // namespace

ChildProcess::~ChildProcess() {
  close(channel_);
  close(signals_);
}

ChildProcess::Started ChildProcess::start(const ChildRequest& request) {
  const auto failed = [](std::string message) {
    return Started{nullptr, {LaunchFailure::kNotExecutable, std::move(message)}};
  };
  const auto system_failure = [&](std::string_view what) {
    return failed(fmt::format("cannot {}: {}", what, system_message(errno)));
  };
  Channel channel;
  if (!open_channel(channel)) return system_failure("open the channel for reports");
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) != 0) return system_failure("open a pipe");
  const Descriptor errors_in(pair[0]);
  Descriptor errors_out(pair[1]);

  const sigset_t watched = watched_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  Descriptor signals(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals.get() < 0) return system_failure("watch signals");

  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> settings = request.settings;
  settings.push_back(fmt::format("{}={}", raw_report::kDescriptorVariable, channel.childs.get()));
  std::vector<std::string> environment = environment_with(settings);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const pid_t process = fork();
  if (process < 0) return system_failure("start another process");
  if (process == 0) {
    become(request.path.c_str(), argument_pointers.data(), environment_pointers.data(), before, errors_out.get());
  }
  errors_out.reset();
  int error = 0;
  ssize_t size = 0;
  while ((size = read(errors_in.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (size == sizeof(error)) {
    waitpid(process, nullptr, 0);
    return failed(exec_failure(request.path, error));
  }
  Started started;
  started.child.reset(new ChildProcess(process, channel.ours.release(), signals.release()));
  return started;
}

namespace {

// The state of one watch().
class Watch {
 public:
  Watch(pid_t process, int channel, int signals, const PacketHandler& handler)
      : process_(process), channel_(channel), signals_(signals), handler_(handler), buffer_(kBufferBytes) {}

  ChildEnd run() {
    reap();
    while (!is_over()) {
      pollfd waits[] = {{is_open_ ? channel_ : -1, POLLIN, 0}, {signals_, POLLIN, 0}};
      poll(waits, 2, time_left());
      if (waits[1].revents != 0) handle_signals();
      if (waits[0].revents != 0) receive();
    }
    end_.descendants_left = is_open_;
    return end_;
  }

 private:
  static constexpr std::size_t kBufferBytes = raw_report::kMaxPacket + 1;

  // With the last words of the child read: what it sent is there before its end is.
  [[nodiscard]] bool is_over() const {
    if (!exited_at_) return false;
    if (!is_open_) return true;
    const Clock::time_point now = Clock::now();
    return now - *exited_at_ > kGrace || now - std::max(*exited_at_, latest_) > kSilence;
  }

  // Milliseconds for poll().
  [[nodiscard]] static int waiting_time(Clock::duration duration) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + 1;
  }
  [[nodiscard]] int time_left() const { return exited_at_ ? waiting_time(kSilence) : -1; }

  void reap() {
    if (exited_at_) return;
    if (waitpid(process_, &end_.wait_status, WNOHANG) == process_) exited_at_ = Clock::now();
  }

  void handle_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) {
        reap();
      } else if (info.ssi_code != SI_KERNEL && !exited_at_) {
        kill(process_, signal);
      }
    }
  }

  // recv(), with the descriptor that comes along, if any.
  ssize_t receive_one(Descriptor& attached) {
    iovec piece{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t size = recvmsg(channel_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size <= 0) return size;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return size;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof(number));
    attached.reset(number);
    return size;
  }

  void receive() {
    // A few at a time, so that signals are not kept waiting by a flood.
    for (int count = 0; count < 64 && is_open_; ++count) {
      Descriptor attached;
      const ssize_t size = receive_one(attached);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      // An empty packet looks like the end; nobody of ours sends one.
      if (size <= 0) {
        is_open_ = false;
        return;
      }
      latest_ = Clock::now();
      const AfterPacket next =
          handler_(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)), attached.get());
      if (next == AfterPacket::kEndProgram && !exited_at_ && !end_.was_ended) {
        end_.was_ended = true;
        kill(process_, SIGKILL);
      }
    }
  }

  pid_t process_;
  int channel_;
  int signals_;
  const PacketHandler& handler_;
  std::vector<std::byte> buffer_;
  bool is_open_ = true;
  std::optional<Clock::time_point> exited_at_;
  Clock::time_point latest_;
  ChildEnd end_;
};

}  // namespace

ChildEnd ChildProcess::watch(const PacketHandler& handler) {
  return Watch(process_, channel_, signals_, handler).run();
}

}  // namespace deadheat
