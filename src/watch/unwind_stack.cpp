// SPDX-License-Identifier: Apache-2.0
#include "watch/unwind_stack.h"

#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace deadheat::watch {
namespace {

// The library asks by numbers of threads; there is one at a time.
constexpr pid_t kTheThread = 1;

struct UnwoundFrames {
  std::vector<std::uint64_t> returns;
  bool is_first = true;
};

struct EndDwfl {
  void operator()(Dwfl* session) const { dwfl_end(session); }
};

int add_frame(Dwfl_Frame* frame, void* argument) {
  auto& frames = *static_cast<UnwoundFrames*>(argument);
  Dwarf_Addr code = 0;
  if (!dwfl_frame_pc(frame, &code, nullptr) || code == 0) return DWARF_CB_ABORT;
  if (!std::exchange(frames.is_first, false)) frames.returns.push_back(code);
  return frames.returns.size() < kWatchFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

struct StackUnwinder::State {
  std::set<std::pair<std::string, std::uint64_t>> modules;
  std::unique_ptr<Dwfl, EndDwfl> session;  // of these modules; none if there are new ones
  const StackCopy* stack = nullptr;        // that is being unwound

  static State& of(void* argument) { return *static_cast<State*>(argument); }

  static pid_t next_thread(Dwfl* /*session*/, void* argument, void** thread_argument) {
    if (*thread_argument != nullptr) return 0;
    *thread_argument = argument;
    return kTheThread;
  }
  static bool get_thread(Dwfl* /*session*/, pid_t /*thread*/, void* argument, void** thread_argument) {
    *thread_argument = argument;
    return true;
  }
  static bool read_memory(Dwfl* /*session*/, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
    const StackCopy& stack = *of(argument).stack;
    const std::uint64_t offset = address - stack.registers[7];  // rsp
    if (offset > stack.size || stack.size - offset < sizeof *result) return false;
    std::memcpy(result, stack.bytes + offset, sizeof *result);
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* argument) {
    const StackCopy& stack = *of(argument).stack;
    return dwfl_thread_state_registers(thread, 0, 17, stack.registers);
  }

  void open();
};

void StackUnwinder::State::open() {
  static const Dwfl_Callbacks kFiles = {.find_elf = dwfl_build_id_find_elf,
                                        .find_debuginfo = dwfl_standard_find_debuginfo,
                                        .section_address = dwfl_offline_section_address,
                                        .debuginfo_path = nullptr};
  static const Dwfl_Thread_Callbacks kThread = {.next_thread = next_thread,
                                                .get_thread = get_thread,
                                                .memory_read = read_memory,
                                                .set_initial_registers = set_registers,
                                                .detach = nullptr,
                                                .thread_detach = nullptr};
  session.reset(dwfl_begin(&kFiles));
  if (session == nullptr) return;
  dwfl_report_begin(session.get());
  for (const auto& [path, bias] : modules) dwfl_report_elf(session.get(), path.c_str(), path.c_str(), -1, bias, true);
  dwfl_report_end(session.get(), nullptr, nullptr);
  if (!dwfl_attach_state(session.get(), nullptr, kTheThread, &kThread, this)) session.reset();
}

StackUnwinder::StackUnwinder() : state_(std::make_unique<State>()) {}
StackUnwinder::~StackUnwinder() = default;

void StackUnwinder::add_module(const std::string& path, std::uint64_t bias) {
  if (state_->modules.emplace(path, bias).second) state_->session.reset();
}

std::vector<std::uint64_t> StackUnwinder::unwind(const StackCopy& stack) {
  UnwoundFrames frames;
  if (state_->session == nullptr) state_->open();
  if (state_->session == nullptr) return {};
  state_->stack = &stack;
  dwfl_getthread_frames(state_->session.get(), kTheThread, add_frame, &frames);
  return std::move(frames.returns);
}

}  // namespace deadheat::watch
