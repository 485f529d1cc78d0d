// SPDX-License-Identifier: Apache-2.0
#include "instrument.h"

#include "access.h"
#include "assembly.h"
#include "checked_mark.h"
#include "elimination.h"
#include "frames.h"
#include "hidden_loads.h"
#include "inline_check.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Function.h"
#include "lost_lines.h"
#include "options.h"
#include "range_shape.h"
#include "rare_accesses.h"
#include "small_copies.h"
#include "two_versions.h"
#include "unseen_atomics.h"
#include "value_arguments.h"

namespace deadheat::pass {

namespace {

// What became of the accesses of a function.
struct Summary {
  std::size_t constants = 0;
  std::size_t thread_local_ones = 0;
  std::size_t in_loop_checks = 0;
  std::size_t repeated = 0;
  std::size_t before_writes = 0;
  std::size_t checked = 0;
  std::size_t checks = 0;
};

using Candidates = llvm::SmallVector<Candidate, 32>;
using Groups = llvm::SmallVector<CheckGroup, 16>;

Candidates find_candidates(llvm::Function& function, HarmlessAccesses& harmless, Summary& summary) {
  Candidates candidates;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      Access access;
      if (is_check_call(instruction, access)) candidates.push_back({access});
      if (!is_plain_access(instruction, access)) continue;
      switch (harmless.judge(access)) {
        case Harmless::kForeign:
          break;
        case Harmless::kConstant:
          ++summary.constants;
          break;
        case Harmless::kThreadLocal:
          ++summary.thread_local_ones;
          break;
        case Harmless::kNo:
          const bool is_checked = is_marked_as_checked(instruction);
          summary.in_loop_checks += is_checked ? 1 : 0;
          candidates.push_back({access, !is_checked});
      }
    }
  }
  return candidates;
}

Groups plain_checks(llvm::ArrayRef<Candidate> candidates) {
  Groups groups;
  for (const Candidate& candidate : candidates) {
    groups.push_back({candidate.access.instruction, {candidate.access}, {0}});
  }
  return groups;
}

void explain(const llvm::Function& function, const Summary& summary, llvm::OptimizationRemarkEmitter& remarks) {
  const auto number = [](const char* key, std::size_t value) {
    return llvm::ore::NV(key, static_cast<unsigned>(value));
  };
  remarks.emit([&] {
    return llvm::OptimizationRemarkAnalysis("deadheat", "Summary", function.getSubprogram(), &function.getEntryBlock())
           << number("Checked", summary.checked) << " accesses checked inline, in " << number("Checks", summary.checks)
           << " checks; not checked by themselves: " << number("Loops", summary.in_loop_checks)
           << " checked with their loop, " << number("Repeated", summary.repeated) << " repeated, "
           << number("BeforeWrites", summary.before_writes) << " reads before writes, "
           << number("ThreadLocal", summary.thread_local_ones) << " of memory that no other thread can reach, "
           << number("Constants", summary.constants) << " of constants";
  });
}

llvm::SmallVector<llvm::BasicBlock*, 32> blocks_of(llvm::Function& function) {
  llvm::SmallVector<llvm::BasicBlock*, 32> blocks;
  for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  return blocks;
}

// Returns whether anything was changed.
bool instrument_accesses(llvm::Function& function, llvm::FunctionAnalysisManager& analyses, RuntimeSymbols& runtime) {
  const bool has_copies = expand_small_copies(function);
  const auto& library = analyses.getResult<llvm::TargetLibraryAnalysis>(function);
  Summary summary;
  HarmlessAccesses harmless(library);
  check_value_arguments(function, harmless);
  Candidates candidates = find_candidates(function, harmless, summary);
  Groups groups;
  if (level() == Level::kPlain) {
    groups = plain_checks(candidates);
  } else {
    summary.repeated = eliminate_repeated(function, candidates, library);
    summary.before_writes = eliminate_reads_before_writes(candidates, library);
    groups = group_neighbours(candidates, library);
  }
  summary.checks = groups.size();
  for (const CheckGroup& group : groups) summary.checked += group.accesses.size();
  explain(function, summary, analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function));

  const bool has_rare = instrument_rare_accesses(function, runtime) | instrument_assembly(function, runtime, harmless);
  bool has_unchecked_code = false;
  if (makes_two_versions()) {
    const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
    has_unchecked_code = make_unchecked_version(function, groups, runtime, library, target);
    // Then it has nothing to check, or is a function of which there can only be one.
    if (!has_unchecked_code) has_unchecked_code = inline_unseen_atomics(blocks_of(function), runtime);
  }
  for (const CheckGroup& group : groups) emit_check(runtime, group);
  // Now that there are checks in their place.
  for (const Candidate& candidate : candidates) {
    if (llvm::isa<llvm::CallInst>(candidate.access.instruction)) candidate.access.instruction->eraseFromParent();
  }
  return !candidates.empty() || has_rare || has_copies || has_unchecked_code;
}

void mark_as_foreign(llvm::Instruction& instruction) {
  instruction.setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(instruction.getContext(), {}));
}

// Sees to the accesses that clang's own pass, which comes later, makes no call of. Returns whether anything was
// changed.
bool call_for_the_rest(llvm::Function& function, llvm::FunctionAnalysisManager& analyses, RuntimeSymbols& runtime) {
  HarmlessAccesses harmless(analyses.getResult<llvm::TargetLibraryAnalysis>(function));
  const bool has_arguments = check_value_arguments(function, harmless);
  llvm::SmallVector<Access, 8> accesses;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      Access access;
      const bool is_plain = is_plain_access(instruction, access);
      const Harmless reason = is_plain ? harmless.judge(access) : Harmless::kNo;
      if (reason == Harmless::kForeign) mark_as_foreign(instruction);
      const bool is_left_out = is_plain && !is_common_size(access) && reason == Harmless::kNo;
      if (is_left_out || is_check_call(instruction, access)) accesses.push_back(access);
    }
  }
  for (const Access& access : accesses) {
    llvm::IRBuilder<> builder(access.instruction);
    runtime.call_hook(builder, access);
    if (llvm::isa<llvm::CallInst>(access.instruction)) access.instruction->eraseFromParent();
  }
  const bool has_rare = instrument_rare_accesses(function, runtime) | instrument_assembly(function, runtime, harmless);
  return has_arguments || has_rare || !accesses.empty();
}

}  // namespace

llvm::PreservedAnalyses InstrumentPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const bool has_hidden = show_masked_loads(function);
  if (function.hasFnAttribute(llvm::Attribute::Naked) ||
      function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation)) {
    return has_hidden ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
  RuntimeSymbols runtime(*function.getParent());
  const bool is_checked = function.hasFnAttribute(llvm::Attribute::SanitizeThread);
  if (is_checked) give_lines(function);
  if (level() == Level::kCalls) {
    const bool has_calls = is_checked && call_for_the_rest(function, analyses, runtime);
    return has_calls || has_hidden ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
  const bool has_checks = is_checked && instrument_accesses(function, analyses, runtime);
  const bool has_frames = instrument_frames(function, runtime);
  return has_checks || has_frames || has_hidden ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace deadheat::pass
