// SPDX-License-Identifier: Apache-2.0
#include "report/sampled_stack.h"

#include <elfutils/libdwfl.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace deadheat {
namespace {

constexpr std::size_t kMostFrames = 64;
constexpr pid_t kOnlyThread = 1;

// DWARF's numbers of the general registers, in the order of ours; 16 is the return address.
constexpr std::array<unsigned, kRegisterCount> kDwarfNumbers = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

class SampledStack::State {
 public:
  explicit State(const std::vector<UnwoundFile>& files) : dwfl_(dwfl_begin(&kCallbacks)) {
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    for (const UnwoundFile& file : files) {
      if (dwfl_report_elf(dwfl_, file.path.c_str(), file.path.c_str(), -1, file.bias, true) == nullptr) continue;
      has_files_ = true;
    }
    dwfl_report_end(dwfl_, nullptr, nullptr);
    is_ready_ = has_files_ && dwfl_attach_state(dwfl_, nullptr, kOnlyThread, &kThreads, this);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }

  SampledCallers callers(const RegisterSample& sample) {
    result_ = {};
    if (!is_ready_ || sample.stack.empty()) return {};
    sample_ = &sample;
    is_first_ = true;
    // 0: the outermost frame says that it is.
    result_.is_whole = dwfl_getthread_frames(dwfl_, kOnlyThread, &State::on_frame, this) == 0;
    sample_ = nullptr;
    return std::move(result_);
  }

 private:
  static pid_t next_thread(Dwfl* /*dwfl*/, void* self, void** cursor) {
    if (*cursor != nullptr) return 0;
    *cursor = self;
    return kOnlyThread;
  }
  static bool get_thread(Dwfl* /*dwfl*/, pid_t /*thread*/, void* self, void** argument) {
    *argument = self;
    return true;
  }
  static bool read_memory(Dwfl* /*dwfl*/, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const RegisterSample& sample = *static_cast<State*>(self)->sample_;
    const std::uint64_t offset = address - sample.registers[Register::kRsp];
    if (offset > sample.stack.size() || sample.stack.size() - offset < sizeof *result) return false;
    std::memcpy(result, sample.stack.data() + offset, sizeof *result);
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const RegisterFile& registers = static_cast<State*>(self)->sample_->registers;
    std::array<Dwarf_Word, kRegisterCount + 1> values{};
    for (std::size_t number = 0; number < kRegisterCount; ++number) {
      values[kDwarfNumbers[number]] = registers.general[number];
    }
    values[kRegisterCount] = registers.ip;
    dwfl_thread_state_register_pc(thread, registers.ip);
    return dwfl_thread_state_registers(thread, 0, values.size(), values.data());
  }
  // Where the tables say nothing, elfutils would follow rbp, whatever it holds.
  bool has_table(Dwarf_Addr pc) const {
    Dwfl_Module* const module = dwfl_addrmodule(dwfl_, pc);
    if (module == nullptr) return false;
    Dwarf_Addr bias = 0;
    Dwarf_CFI* const tables = dwfl_module_eh_cfi(module, &bias);
    Dwarf_Frame* frame = nullptr;
    if (tables == nullptr || dwarf_cfi_addrframe(tables, pc - bias, &frame) != 0) return false;
    std::free(frame);
    return true;
  }
  static int on_frame(Dwfl_Frame* frame, void* argument) {
    auto* const self = static_cast<State*>(argument);
    Dwarf_Addr pc = 0;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
    // The return address is behind the call.
    const Dwarf_Addr inside = is_activation || self->is_first_ ? pc : pc - 1;
    if (!self->is_first_) self->result_.calls.push_back(inside);
    self->is_first_ = false;
    if (self->result_.calls.size() >= kMostFrames || !self->has_table(inside)) return DWARF_CB_ABORT;
    return DWARF_CB_OK;
  }

  static const Dwfl_Callbacks kCallbacks;
  static const Dwfl_Thread_Callbacks kThreads;

  Dwfl* dwfl_;
  bool has_files_ = false;
  bool is_ready_ = false;
  const RegisterSample* sample_ = nullptr;
  bool is_first_ = true;
  SampledCallers result_;
};

const Dwfl_Callbacks SampledStack::State::kCallbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                                        dwfl_offline_section_address, nullptr};
const Dwfl_Thread_Callbacks SampledStack::State::kThreads = {
    &State::next_thread, &State::get_thread, &State::read_memory, &State::set_registers, nullptr, nullptr};

SampledStack::SampledStack(const std::vector<UnwoundFile>& files) : state_(std::make_unique<State>(files)) {}
SampledStack::~SampledStack() = default;

SampledCallers SampledStack::callers(const RegisterSample& sample) { return state_->callers(sample); }

}  // namespace deadheat
