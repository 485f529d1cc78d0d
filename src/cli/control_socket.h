// SPDX-License-Identifier: Apache-2.0
// ControlSocket: asks a running process that samples, and hears what it says. The
// other end and the words of both are described in runtime/raw_report.h.
//
// Anybody can take a name among the abstract sockets. So only an answer that the
// kernel says comes from the process itself is heard.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/raw_report.h"

namespace deadheat {

class ControlSocket {
 public:
  // Errors: kIo (no such process, it does not sample, it is not ours).
  static Result<ControlSocket> open(pid_t process);

  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;
  ~ControlSocket();

  // One request; the state of the process after it. Errors: kIo (it ended, or does not
  // answer within two seconds), kInvalid (it refuses), kMalformed (no answer of ours).
  [[nodiscard]] Result<raw_report::Sampling> ask(std::string_view request);

 private:
  ControlSocket(int descriptor, pid_t process) : descriptor_(descriptor), process_(process) {}
  [[nodiscard]] Result<std::string> receive();

  int descriptor_;
  pid_t process_;
};

// "name=value name=value ...", with the names of Sampling; those that are missing are 0,
// but for the rate. Errors: kMalformed.
[[nodiscard]] Result<raw_report::Sampling> parse_answer(std::string_view answer);

}  // namespace deadheat
