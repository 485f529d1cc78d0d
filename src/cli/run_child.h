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
// child in any case, because the report is not finished before it is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/program_file.h"

namespace deadheat {

struct ChildRequest {
  std::string path;                    // of the program's file
  std::vector<std::string> arguments;  // with the name in front
  // Of the child's environment, "NAME=value", replacing what we have.
  std::vector<std::string> settings;
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

class ChildProcess {
 public:
  // Nothing is left behind after an error.
  struct Started;
  static Started start(const ChildRequest& request);

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t process() const { return process_; }

  // Hands over every packet as it comes, until the child has ended and nobody
  // writes any more. Once.
  ChildEnd watch(const PacketHandler& handler);

 private:
  ChildProcess(pid_t process, int channel, int signals) : process_(process), channel_(channel), signals_(signals) {}

  pid_t process_;
  int channel_;
  int signals_;  // of signalfd()
};

struct ChildProcess::Started {
  std::unique_ptr<ChildProcess> child;  // null: see error
  LaunchError error;
};

}  // namespace deadheat
