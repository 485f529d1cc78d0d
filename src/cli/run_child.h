// SPDX-License-Identifier: Apache-2.0
// ChildProcess: the program under test and the channel on which it reports.
//
// The channel is a pair of SOCK_SEQPACKET sockets: packets stay whole although
// many processes write to it, a write is complete when send() returns (what a
// process sent before it was killed is in the kernel and is read), and a reader
// that is gone is an error for the writer, not a signal. The child's end is
// inherited by everything that the program starts; its number is high, out of
// the way of programs that count on small ones.
//
// Signals: a terminal sends Ctrl-C to the child as well, as both are in one
// process group; one that somebody sent to us alone is passed on. We outlive the
// child in any case, because the report is not finished before it is. A child with
// a group of its own gets nothing from the terminal, and is ended with all that it
// started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/mailbox_reader.h"
#include "cli/program_file.h"
#include "runtime/raw_report.h"

namespace deadheat {

struct ChildRequest {
  std::string path;                    // of the program's file
  std::vector<std::string> arguments;  // with the name in front
  // Of the child's environment, "NAME=value", replacing what we have.
  std::vector<std::string> settings;
  int output = -1;                                                    // of standard output and error; -1: ours
  bool writes_to_errors = false;                                      // our standard output is for something else
  bool has_no_input = false;                                          // standard input is empty
  bool has_own_group = false;                                         // ends with us, and with all that it started
  std::string descriptor_variable = raw_report::kDescriptorVariable;  // tells it the number of its end of the channel
};

enum class AfterPacket : std::uint8_t { kGoOn, kEndProgram };
// With the descriptor that came with the packet, or -1; it is closed afterwards.
using PacketHandler = std::function<AfterPacket(std::span<const std::byte>, int descriptor)>;

struct ChildEnd {
  int wait_status = 0;
  // A process that the program started still has the channel open.
  bool descendants_left = false;
  // The handler asked for the end.
  bool was_ended = false;
};

// The signals that a watcher of children handles. They are read, not delivered,
// from open() to the end of our process.
class WatchedSignals {
 public:
  struct Received {
    int number = 0;
    bool is_from_terminal = false;  // or from elsewhere in the kernel
  };

  // Errors: kIo.
  static Result<std::unique_ptr<WatchedSignals>> open();

  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  ~WatchedSignals();

  // To poll for input.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Nothing: no more for now.
  [[nodiscard]] std::optional<Received> next() const;
  // What a program is started with.
  [[nodiscard]] const sigset_t& mask_before() const { return before_; }

 private:
  WatchedSignals(int descriptor, const sigset_t& before) : descriptor_(descriptor), before_(before) {}

  int descriptor_;
  sigset_t before_;
};

class ChildProcess {
 public:
  // Nothing is left behind after an error.
  struct Started;
  static Started start(const ChildRequest& request, const WatchedSignals& signals);

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t process() const { return process_; }

  // Hands over every packet as it comes, until the child has ended and nobody
  // writes any more, and passes signals on. Once.
  ChildEnd watch(const WatchedSignals& signals, const PacketHandler& handler);

  // No more packets: whoever writes notices that nobody reads. The program goes on.
  void stop_listening();

  // The same in pieces, for whoever watches several children.
  // To poll for input; -1: nobody writes any more.
  [[nodiscard]] int channel() const { return is_open_ ? channel_ : -1; }
  // Milliseconds to poll for at most; -1: any time.
  [[nodiscard]] int time_left() const;
  // Hands over some of the packets that are there.
  void receive(const PacketHandler& handler);
  // After SIGCHLD, and once at the beginning.
  void notice_end();
  [[nodiscard]] bool has_ended() const { return exited_at_.has_value(); }
  // It has ended, and its last words were read: what it sent is there before its end is.
  [[nodiscard]] bool is_over() const;
  // To the program; to its group if it has one of its own.
  void send(int signal) const;
  // When it is over. Once.
  ChildEnd finish();

 private:
  using Clock = std::chrono::steady_clock;

  ChildProcess(pid_t process, int channel, const ChildRequest& request);
  ssize_t receive_one(int& attached);
  void hand_over(const PacketHandler& handler, std::span<const std::byte> packet, int attached);
  void read_mailboxes(const PacketHandler& handler);

  pid_t process_;
  int channel_;
  bool has_own_group_;
  bool is_open_ = true;
  std::vector<std::byte> buffer_;
  std::vector<MailboxReader> mailboxes_;
  std::optional<Clock::time_point> exited_at_;
  Clock::time_point latest_;
  ChildEnd end_;
};

struct ChildProcess::Started {
  std::unique_ptr<ChildProcess> child;  // null: see error
  LaunchError error;
};

}  // namespace deadheat
