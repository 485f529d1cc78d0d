// SPDX-License-Identifier: Apache-2.0
#include "hoisting.h"

#include "access.h"
#include "checked_mark.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "options.h"
#include "range_shape.h"
#include "stretches.h"

namespace deadheat::pass {

namespace {

// Repetitions of an access: `count` times, `step` bytes apart.
struct Dimension {
  const llvm::SCEV* step = nullptr;
  const llvm::SCEV* count = nullptr;  // 64 bits
};

// An access at one address, as seen from before `loop`.
struct Once {
  Access access;
  const llvm::SCEV* address = nullptr;
  llvm::Loop* loop = nullptr;
};

// All that one access touches, as seen from before `loop`.
struct Range {
  Access access;
  llvm::SmallVector<Access, 2> also;  // at the same addresses, not more than `access`
  const llvm::SCEV* start = nullptr;
  llvm::SmallVector<Dimension, 2> dimensions;
  llvm::Loop* loop = nullptr;
};

constexpr std::size_t kMaxDimensions = 2;
// Fewer iterations are cheaper checked one by one.
constexpr std::uint64_t kFewIterations = 3;

class LoopHoister {
 public:
  LoopHoister(llvm::Function& function, llvm::FunctionAnalysisManager& analyses)
      : function_(function),
        loops_(analyses.getResult<llvm::LoopAnalysis>(function)),
        evolution_(analyses.getResult<llvm::ScalarEvolutionAnalysis>(function)),
        dominators_(analyses.getResult<llvm::DominatorTreeAnalysis>(function)),
        library_(analyses.getResult<llvm::TargetLibraryAnalysis>(function)),
        remarks_(analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function)),
        harmless_(library_),
        number_(llvm::Type::getInt64Ty(function.getContext())) {}

  bool run() {
    llvm::SmallVector<Range, 16> ranges;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) find_ranges(*loop, ranges);
    for (Range& range : ranges) lift(range);
    for (const Range& range : ranges) write(range);
    for (const Once& once : once_) write(once);
    return !ranges.empty() || !once_.empty();
  }

 private:
  using Reasons = llvm::DenseMap<const llvm::Loop*, const char*>;
  template <class Find>
  const char* remembered(Reasons& reasons, llvm::Loop& loop, Find&& find) {
    if (const auto known = reasons.find(&loop); known != reasons.end()) return known->second;
    const char* reason = find();
    reasons[&loop] = reason;
    return reason;
  }

  // Why a check cannot move out of the loop; null if it can.
  const char* disturbance_of(llvm::Loop& loop) {
    return remembered(disturbances_, loop, [&] { return find_disturbance(loop); });
  }
  const char* find_disturbance(llvm::Loop& loop) {
    if (loop.getLoopPreheader() == nullptr || loop.getLoopLatch() == nullptr) return "the loop has no simple form";
    for (llvm::Loop* inner : loop.getSubLoops()) {
      if (const char* reason = obstacle_of(*inner)) return reason;  // may be endless
    }
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        if (ends_stretch(instruction, library_)) return "the loop has a call that may synchronise";
        if (may_not_continue(instruction, library_)) return "the loop has an instruction that may not come back";
      }
    }
    return nullptr;
  }

  // Why all iterations of a loop cannot be checked before it; null if they can.
  const char* obstacle_of(llvm::Loop& loop) {
    return remembered(obstacles_, loop, [&] { return find_obstacle(loop); });
  }
  const char* find_obstacle(llvm::Loop& loop) {
    if (const char* reason = disturbance_of(loop)) return reason;
    llvm::BasicBlock* exiting = loop.getExitingBlock();
    if (exiting == nullptr) return "the loop has several exits";
    const llvm::SCEV* count = evolution_.getExitCount(&loop, exiting);
    if (llvm::isa<llvm::SCEVCouldNotCompute>(count) || evolution_.getTypeSizeInBits(count->getType()) > 64) {
      return "the number of iterations is not known before the loop";
    }
    return nullptr;
  }

  // The block is executed each time that the loop is entered.
  bool runs_at_least_once(const llvm::Loop& loop, const llvm::BasicBlock* block) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop.getExitingBlocks(exits);
    exits.push_back(loop.getLoopLatch());
    return llvm::all_of(exits, [&](const llvm::BasicBlock* exit) { return dominators_.dominates(block, exit); });
  }

  // Always the same address, and certain: one check before the loop. How often the loop
  // turns, and how it ends, does not matter.
  bool find_once(llvm::Loop& loop, const Access& access) {
    Once once{access, evolution_.getSCEV(access.address), nullptr};
    const llvm::BasicBlock* block = access.instruction->getParent();
    llvm::SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "deadheat");
    for (llvm::Loop* around = &loop; around != nullptr; around = around->getParentLoop()) {
      if (disturbance_of(*around) != nullptr || !runs_at_least_once(*around, block)) break;
      block = around->getLoopPreheader();
      if (!evolution_.isLoopInvariant(once.address, around)) break;
      if (!expander.isSafeToExpandAt(once.address, block->getTerminator())) break;
      once.loop = around;
    }
    if (once.loop == nullptr) return false;
    once_.push_back(once);
    return true;
  }

  // How often a block of the loop is executed each time that the loop is entered, for
  // a block that is executed in every iteration; null otherwise.
  const llvm::SCEV* executions(llvm::Loop& loop, const llvm::BasicBlock* block) {
    if (!dominators_.dominates(block, loop.getLoopLatch())) return nullptr;
    llvm::BasicBlock* exiting = loop.getExitingBlock();
    const llvm::SCEV* taken = evolution_.getNoopOrZeroExtend(evolution_.getExitCount(&loop, exiting), number_);
    // What comes after the exit is not reached in the last iteration.
    if (!dominators_.dominates(block, exiting)) return taken;
    return evolution_.getAddExpr(taken, evolution_.getOne(number_));
  }

  void find_ranges(llvm::Loop& loop, llvm::SmallVectorImpl<Range>& ranges) {
    const std::size_t first = ranges.size();
    for (llvm::BasicBlock* block : loop.blocks()) {
      if (loops_.getLoopFor(block) != &loop) continue;
      for (llvm::Instruction& instruction : *block) {
        Access access;
        if (!is_plain_access(instruction, access) || access.flavour != Flavour::kPlain) continue;
        if (instruction.isVolatile() || instruction.isAtomic()) continue;
        if (harmless_.judge(access) != Harmless::kNo) continue;
        if (find_once(loop, access)) continue;
        Range range;
        const char* reason = find_range(loop, access, range);
        if (reason != nullptr) {
          say_missed(instruction, reason);
        } else {
          add(ranges, first, range);
        }
      }
    }
  }

  const char* find_range(llvm::Loop& loop, const Access& access, Range& range) {
    if (const char* reason = obstacle_of(loop)) return reason;
    const llvm::SCEV* count = executions(loop, access.instruction->getParent());
    if (count == nullptr) return "it is not executed in every iteration";
    if (const auto* known = llvm::dyn_cast<llvm::SCEVConstant>(count)) {
      if (known->getAPInt().ult(kFewIterations)) return "the loop has few iterations";
    }
    range.access = access;
    range.loop = &loop;
    const llvm::SCEV* address = evolution_.getSCEV(access.address);
    if (!add_dimension(loop, address, count, range)) return "its address does not go in equal steps";
    llvm::SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "deadheat");
    if (!is_expandable(expander, range)) return "its range cannot be computed before the loop";
    return nullptr;
  }

  // `address`, executed `count` times in the loop, as a start before the loop and one
  // more dimension.
  bool add_dimension(llvm::Loop& loop, const llvm::SCEV* address, const llvm::SCEV* count, Range& range) {
    if (evolution_.isLoopInvariant(address, &loop)) {
      range.start = address;
      range.dimensions.push_back({evolution_.getZero(number_), count});
      return true;
    }
    const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
    if (recurrence == nullptr || recurrence->getLoop() != &loop || !recurrence->isAffine()) return false;
    const llvm::SCEV* step = recurrence->getStepRecurrence(evolution_);
    if (step->getType() != number_) return false;
    range.start = recurrence->getStart();
    range.dimensions.push_back({step, count});
    return true;
  }

  bool is_expandable(llvm::SCEVExpander& expander, const Range& range) {
    const llvm::Instruction* place = range.loop->getLoopPreheader()->getTerminator();
    if (!evolution_.isLoopInvariant(range.start, range.loop) || !expander.isSafeToExpandAt(range.start, place)) {
      return false;
    }
    for (const Dimension& dimension : range.dimensions) {
      for (const llvm::SCEV* part : {dimension.step, dimension.count}) {
        if (!evolution_.isLoopInvariant(part, range.loop) || !expander.isSafeToExpandAt(part, place)) return false;
      }
    }
    return true;
  }

  // A read and a write of the same bytes in each iteration: the write stands for
  // both, as in elimination.cpp.
  void add(llvm::SmallVectorImpl<Range>& ranges, std::size_t first, const Range& range) {
    for (std::size_t at = first; at < ranges.size(); ++at) {
      Range& other = ranges[at];
      if (other.loop != range.loop || other.start != range.start || other.access.size != range.access.size) continue;
      if (other.dimensions[0].step != range.dimensions[0].step) continue;
      if (other.dimensions[0].count != range.dimensions[0].count) continue;
      if (range.access.is_write() && !other.access.is_write()) {
        other.also.push_back(other.access);
        other.access = range.access;
      } else {
        other.also.push_back(range.access);
      }
      return;
    }
    ranges.push_back(range);
  }

  // To before the loops around, as far as possible.
  void lift(Range& range) {
    for (llvm::Loop* parent = range.loop->getParentLoop(); parent != nullptr; parent = parent->getParentLoop()) {
      if (obstacle_of(*parent) != nullptr) return;
      const llvm::SCEV* count = executions(*parent, range.loop->getLoopPreheader());
      if (count == nullptr) return;
      Range wider = range;
      wider.loop = parent;
      if (!add_dimension(*parent, range.start, count, wider)) return;
      drop_idle_dimensions(wider);
      llvm::SCEVExpander expander(evolution_, function_.getParent()->getDataLayout(), "deadheat");
      if (wider.dimensions.size() > kMaxDimensions || !is_expandable(expander, wider)) return;
      range = wider;
    }
  }

  // The same addresses again and again, at least once: once is enough.
  void drop_idle_dimensions(Range& range) {
    llvm::erase_if(range.dimensions, [&](const Dimension& dimension) {
      return dimension.step->isZero() && evolution_.isKnownNonZero(dimension.count);
    });
    if (range.dimensions.empty()) range.dimensions.push_back({evolution_.getZero(number_), evolution_.getOne(number_)});
  }

  void write(const Range& range) {
    llvm::Module& module = *function_.getParent();
    llvm::Instruction* place = range.loop->getLoopPreheader()->getTerminator();
    llvm::SCEVExpander expander(evolution_, module.getDataLayout(), "deadheat");
    llvm::IRBuilder<> builder(place);
    llvm::SmallVector<llvm::Value*, 6> arguments;
    arguments.push_back(expander.expandCodeFor(range.start, builder.getPtrTy(), place));
    for (const Dimension& dimension : range.dimensions) {
      arguments.push_back(expander.expandCodeFor(dimension.step, number_, place));
      arguments.push_back(expander.expandCodeFor(dimension.count, number_, place));
    }
    arguments.push_back(builder.getInt64(range_shape(range.access)));
    builder.SetInsertPoint(place);
    builder.SetCurrentDebugLocation(range.access.instruction->getDebugLoc());
    builder.CreateCall(range_function(module, range.dimensions.size()), arguments);
    mark_as_checked(*range.access.instruction);
    for (const Access& access : range.also) mark_as_checked(*access.instruction);
    say_hoisted(range.access, range.dimensions.size() > 1 ? " and the loop around it" : "");
  }

  void write(const Once& once) {
    llvm::Module& module = *function_.getParent();
    llvm::Instruction* place = once.loop->getLoopPreheader()->getTerminator();
    llvm::SCEVExpander expander(evolution_, module.getDataLayout(), "deadheat");
    llvm::IRBuilder<> builder(place);
    llvm::Value* address = expander.expandCodeFor(once.address, builder.getPtrTy(), place);
    builder.SetInsertPoint(place);
    builder.SetCurrentDebugLocation(once.access.instruction->getDebugLoc());
    builder.CreateCall(check_function(module), {address, builder.getInt64(check_shape(once.access))});
    mark_as_checked(*once.access.instruction);
    say_hoisted(once.access, "");
  }

  void say_hoisted(const Access& access, const char* addition) {
    remarks_.emit([&] {
      return llvm::OptimizationRemark("deadheat", "Hoisted", access.instruction)
             << (access.is_write() ? "write" : "read") << " of "
             << llvm::ore::NV("Size", static_cast<unsigned>(access.size)) << " bytes is checked before the loop"
             << addition;
    });
  }

  void say_missed(llvm::Instruction& instruction, const char* reason) {
    remarks_.emit([&] {
      return llvm::OptimizationRemarkMissed("deadheat", "NotHoisted", &instruction)
             << "access is checked in every iteration: " << reason;
    });
  }

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  const llvm::TargetLibraryInfo& library_;
  llvm::OptimizationRemarkEmitter& remarks_;
  HarmlessAccesses harmless_;
  llvm::Type* number_;
  Reasons disturbances_;
  Reasons obstacles_;
  llvm::SmallVector<Once, 8> once_;
};

}  // namespace

llvm::PreservedAnalyses HoistPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (level() != Level::kFull || !function.hasFnAttribute(llvm::Attribute::SanitizeThread)) {
    return llvm::PreservedAnalyses::all();
  }
  if (!LoopHoister(function, analyses).run()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace deadheat::pass
