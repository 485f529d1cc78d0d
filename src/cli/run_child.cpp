// SPDX-License-Identifier: Apache-2.0
#include "cli/run_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
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

// In the child: what the request says of its input, output and group.
void arrange(const ChildRequest& request) {
  if (request.has_own_group) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  if (request.has_no_input) dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  if (request.writes_to_errors) dup2(STDERR_FILENO, STDOUT_FILENO);
  if (request.output < 0) return;
  dup2(request.output, STDOUT_FILENO);
  dup2(request.output, STDERR_FILENO);
}

// In the child: becomes the program, or sends the error and ends.
[[noreturn]] void become(const ChildRequest& request, char* const* arguments, char* const* environment,
                         const sigset_t& mask, int errors) {
  arrange(request);
  // What we ignore is not to be ignored by the program.
  std::signal(SIGPIPE, SIG_DFL);
  if (request.has_own_group) std::signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(request.path.c_str(), arguments, environment);
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

Result<std::unique_ptr<WatchedSignals>> WatchedSignals::open() {
  const sigset_t watched = watched_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  const int descriptor = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) return Error{ErrorCode::kIo, "cannot watch signals: " + system_message(errno)};
  return std::unique_ptr<WatchedSignals>(new WatchedSignals(descriptor, before));
}

WatchedSignals::~WatchedSignals() { close(descriptor_); }

std::optional<WatchedSignals::Received> WatchedSignals::next() const {
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return Received{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

// One byte more than a packet can have, so that a longer one shows.
ChildProcess::ChildProcess(pid_t process, int channel, const ChildRequest& request)
    : process_(process),
      channel_(channel),
      has_own_group_(request.has_own_group),
      buffer_(raw_report::kMaxPacket + 1) {}

ChildProcess::~ChildProcess() { close(channel_); }

ChildProcess::Started ChildProcess::start(const ChildRequest& request, const WatchedSignals& signals) {
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

  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> settings = request.settings;
  settings.push_back(fmt::format("{}={}", request.descriptor_variable, channel.childs.get()));
  std::vector<std::string> environment = environment_with(settings);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const pid_t process = fork();
  if (process < 0) return system_failure("start another process");
  if (process == 0) {
    become(request, argument_pointers.data(), environment_pointers.data(), signals.mask_before(), errors_out.get());
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
  started.child.reset(new ChildProcess(process, channel.ours.release(), request));
  return started;
}

bool ChildProcess::is_over() const {
  if (!exited_at_) return false;
  if (!is_open_) return true;
  const Clock::time_point now = Clock::now();
  return now - *exited_at_ > kGrace || now - std::max(*exited_at_, latest_) > kSilence;
}

int ChildProcess::time_left() const {
  if (!exited_at_) return mailboxes_.empty() ? -1 : static_cast<int>(kSilence.count());
  return is_open_ ? static_cast<int>(kSilence.count()) + 1 : 0;
}

// The number of a process stays its own until it is waited for, which is left to
// finish(): until then a signal reaches nobody else.
void ChildProcess::notice_end() {
  if (exited_at_) return;
  siginfo_t info{};
  const auto id = static_cast<id_t>(process_);
  if (waitid(P_PID, id, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == process_) exited_at_ = Clock::now();
}

void ChildProcess::stop_listening() {
  shutdown(channel_, SHUT_RDWR);
  is_open_ = false;
}

void ChildProcess::send(int signal) const { kill(has_own_group_ ? -process_ : process_, signal); }

ChildEnd ChildProcess::finish() {
  end_.descendants_left = is_open_;
  if (has_own_group_) send(SIGKILL);
  while (waitpid(process_, &end_.wait_status, 0) < 0 && errno == EINTR) {
  }
  return end_;
}

// recv(), with the descriptor that comes along, if any.
ssize_t ChildProcess::receive_one(int& attached) {
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
  std::memcpy(&attached, CMSG_DATA(header), sizeof(attached));
  return size;
}

void ChildProcess::hand_over(const PacketHandler& handler, std::span<const std::byte> packet, int attached) {
  latest_ = Clock::now();
  if (announces_mailbox(packet)) {
    if (attached >= 0) mailboxes_.emplace_back(attached);
    return;
  }
  if (handler(packet, attached) == AfterPacket::kEndProgram && !exited_at_ && !end_.was_ended) {
    end_.was_ended = true;
    send(SIGKILL);
  }
}

void ChildProcess::read_mailboxes(const PacketHandler& handler) {
  for (MailboxReader& mailbox : mailboxes_) {
    mailbox.read([&](std::span<const std::byte> packet) { hand_over(handler, packet, -1); });
  }
}

void ChildProcess::receive(const PacketHandler& handler) {
  read_mailboxes(handler);
  // A few at a time, so that signals are not kept waiting by a flood.
  for (int count = 0; count < 64 && is_open_; ++count) {
    int number = -1;
    const ssize_t size = receive_one(number);
    const Descriptor attached(number);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    // An empty packet looks like the end; nobody of ours sends one.
    if (size <= 0) {
      is_open_ = false;
      read_mailboxes(handler);
      return;
    }
    hand_over(handler, std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)), attached.get());
  }
}

ChildEnd ChildProcess::watch(const WatchedSignals& signals, const PacketHandler& handler) {
  notice_end();
  while (!is_over()) {
    pollfd waits[] = {{channel(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    poll(waits, 2, time_left());
    if (waits[1].revents != 0) {
      while (const auto signal = signals.next()) {
        if (signal->number == SIGCHLD) {
          notice_end();
        } else if (!signal->is_from_terminal && !exited_at_) {
          send(signal->number);
        }
      }
    }
    if (waits[0].revents != 0 || !mailboxes_.empty()) receive(handler);
  }
  return finish();
}

}  // namespace deadheat
