// SPDX-License-Identifier: Apache-2.0
// Stepper: runs a program one instruction at a time, and shows the registers before each.
//
// The processor's trap flag does it, through ptrace, for every thread of the program: exact
// and slow (tens of microseconds per instruction). Either everything after the program's
// entry point is stepped, or only chosen functions with all that they call; then the rest runs
// at full speed between breakpoints. A string instruction with a repeat prefix traps
// after each round; it is shown once.
//
// A chosen function whose first instruction cannot be executed elsewhere (a jump, a call, an operand relative to the
// instruction) has its breakpoint lifted while a thread steps over it; another thread that enters it in these
// microseconds is not stepped through that call.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/recording.h"

namespace deadheat::record {

struct Step {
  pid_t thread = 0;
  // The thread was not stepped just before: its first step, or the first of a chosen function.
  bool is_after_gap = false;
  const RegisterFile& registers;  // before the instruction at `ip`
};

enum class AfterStep : std::uint8_t {
  kGoOn,
  kLeaveFunction,  // let the thread run until it enters a chosen function again
  kRunFree,        // no more steps of any thread; wait for the end
  kKill,
};

class StepListener {
 public:
  virtual ~StepListener() = default;
  // Everything the program was linked with is loaded; its first instruction comes next. Returns
  // the addresses of functions to step; none: everything.
  virtual std::vector<std::uint64_t> on_ready(pid_t process) = 0;
  virtual AfterStep on_step(const Step& step) = 0;
  virtual void on_thread_end(pid_t /*thread*/) {}
};

struct StepCommand {
  std::vector<std::string> words;        // the program, a path or found in PATH, and its arguments
  std::vector<std::string> environment;  // NAME=VALUE, in addition to our own
  bool is_layout_random = false;         // as the machine does it, or at the same addresses every time
  bool is_output_shown = true;           // otherwise its standard output goes nowhere
};

struct StepSummary {
  std::uint64_t steps = 0;
  int exit_code = 0;  // 128 + the signal, if one ended it
};

// Until the program ends. The caller has no other children meanwhile. kIo: it cannot be started or stepped.
[[nodiscard]] Result<StepSummary> step_program(const StepCommand& command, StepListener& listener);

// Of a stopped or running process; how many bytes could be read.
[[nodiscard]] std::size_t read_memory(pid_t process, std::uint64_t address, std::span<std::byte> into);

// The files with code that a process has mapped now, with their build ids.
[[nodiscard]] std::vector<CodeMapping> code_mappings(pid_t process);

// Where functions of the program are. Names as in its symbol table, or as in the source without arguments
// ("work", "pool::take"): then all functions that are called so. kInvalid: there is none; others as ElfImage.
[[nodiscard]] Result<std::vector<std::uint64_t>> function_addresses(const CodeMapping& program,
                                                                    const std::vector<std::string>& names);

}  // namespace deadheat::record
