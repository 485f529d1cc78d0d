// SPDX-License-Identifier: Apache-2.0
#include "hoisting.h"

#include "access.h"
#include "checked_mark.h"
#include "exits.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "loop_facts.h"
#include "lost_lines.h"
#include "options.h"
#include "range_shape.h"

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
  SameAddresses accesses;
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
        remarks_(analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function)),
        harmless_(analyses.getResult<llvm::TargetLibraryAnalysis>(function)),
        facts_(function, analyses),
        evolution_(facts_.evolution()),
        number_(facts_.number()),
        at_exits_(facts_) {}

  bool run() {
    llvm::SmallVector<Range, 16> ranges;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) find_ranges(*loop, ranges);
    for (Range& range : ranges) lift(range);
    for (const Range& range : ranges) write(range);
    for (const Once& once : once_) write(once);
    at_exits_.write([&](const Access& access) { say_moved(access, "after the loop"); });
    return !ranges.empty() || !once_.empty() || !at_exits_.empty();
  }
  [[nodiscard]] bool has_new_blocks() const { return !at_exits_.empty(); }

 private:
  // Always the same address, and certain: one check before the loop. How often the loop
  // turns, and how it ends, does not matter.
  bool find_once(llvm::Loop& loop, const Access& access) {
    Once once{access, evolution_.getSCEV(access.address), nullptr};
    const llvm::BasicBlock* block = access.instruction->getParent();
    for (llvm::Loop* around = &loop; around != nullptr; around = around->getParentLoop()) {
      if (facts_.disturbance_of(*around) != nullptr || !facts_.runs_at_least_once(*around, block)) break;
      block = around->getLoopPreheader();
      if (!facts_.is_known_before(once.address, *around)) break;
      once.loop = around;
    }
    if (once.loop == nullptr) return false;
    once_.push_back(once);
    return true;
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
        if (find_range(loop, access, range)) {
          add(ranges, first, range);
        } else if (const char* reason = at_exits_.add(loop, access)) {
          say_missed(instruction, reason);
        }
      }
    }
  }

  // All iterations, before the loop.
  bool find_range(llvm::Loop& loop, const Access& access, Range& range) {
    const llvm::BasicBlock* block = access.instruction->getParent();
    if (facts_.obstacle_of(loop) != nullptr || !facts_.runs_in_every_iteration(loop, block)) return false;
    const llvm::SCEV* count = facts_.executions(loop, block);
    if (const auto* known = llvm::dyn_cast<llvm::SCEVConstant>(count)) {
      if (known->getAPInt().ult(kFewIterations)) return false;
    }
    range.accesses.access = access;
    range.loop = &loop;
    return add_dimension(loop, evolution_.getSCEV(access.address), count, range) && is_expandable(range);
  }

  // `address`, executed `count` times in the loop, as a start before the loop and one
  // more dimension.
  bool add_dimension(llvm::Loop& loop, const llvm::SCEV* address, const llvm::SCEV* count, Range& range) {
    if (evolution_.isLoopInvariant(address, &loop)) {
      range.start = address;
      range.dimensions.push_back({evolution_.getZero(number_), count});
      return true;
    }
    const auto* recurrence = facts_.recurrence_of(address, loop);
    if (recurrence == nullptr) return false;
    range.start = recurrence->getStart();
    range.dimensions.push_back({recurrence->getStepRecurrence(evolution_), count});
    return true;
  }

  bool is_expandable(const Range& range) {
    return facts_.is_known_before(range.start, *range.loop) &&
           llvm::all_of(range.dimensions, [&](const Dimension& dimension) {
             return facts_.is_known_before(dimension.step, *range.loop) &&
                    facts_.is_known_before(dimension.count, *range.loop);
           });
  }

  // Together with another one of the same addresses, if there is one.
  void add(llvm::SmallVectorImpl<Range>& ranges, std::size_t first, const Range& range) {
    const Access& access = range.accesses.access;
    for (std::size_t at = first; at < ranges.size(); ++at) {
      Range& other = ranges[at];
      if (other.loop != range.loop || other.start != range.start) continue;
      if (other.accesses.access.size != access.size) continue;
      if (other.dimensions[0].step != range.dimensions[0].step) continue;
      if (other.dimensions[0].count != range.dimensions[0].count) continue;
      return other.accesses.add(access);
    }
    ranges.push_back(range);
  }

  // To before the loops around, as far as possible.
  void lift(Range& range) {
    for (llvm::Loop* parent = range.loop->getParentLoop(); parent != nullptr; parent = parent->getParentLoop()) {
      const llvm::BasicBlock* block = range.loop->getLoopPreheader();
      if (facts_.obstacle_of(*parent) != nullptr || !facts_.runs_in_every_iteration(*parent, block)) return;
      const llvm::SCEV* count = facts_.executions(*parent, block);
      Range wider = range;
      wider.loop = parent;
      if (!add_dimension(*parent, range.start, count, wider)) return;
      drop_idle_dimensions(wider);
      if (wider.dimensions.size() > kMaxDimensions || !is_expandable(wider)) return;
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
    arguments.push_back(builder.getInt64(range_shape(range.accesses.access)));
    builder.SetInsertPoint(place);
    builder.SetCurrentDebugLocation(range.accesses.access.instruction->getDebugLoc());
    builder.CreateCall(range_function(module, range.dimensions.size()), arguments);
    range.accesses.mark_as_checked();
    say_moved(range.accesses.access,
              range.dimensions.size() > 1 ? "before the loop and the loop around it" : "before the loop");
  }

  void write(const Once& once) {
    llvm::Module& module = *function_.getParent();
    llvm::Instruction* place = once.loop->getLoopPreheader()->getTerminator();
    llvm::SCEVExpander expander(evolution_, module.getDataLayout(), "deadheat");
    llvm::IRBuilder<> builder(place);
    llvm::Value* address = expander.expandCodeFor(once.address, builder.getPtrTy(), place);
    builder.SetInsertPoint(place);
    call_check(builder, address, once.access);
    mark_as_checked(*once.access.instruction);
    say_moved(once.access, "before the loop");
  }

  void say_moved(const Access& access, const char* where) {
    remarks_.emit([&] {
      return llvm::OptimizationRemark("deadheat", "Hoisted", access.instruction)
             << (access.is_write() ? "write" : "read") << " of "
             << llvm::ore::NV("Size", static_cast<unsigned>(access.size)) << " bytes is checked " << where;
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
  llvm::OptimizationRemarkEmitter& remarks_;
  HarmlessAccesses harmless_;
  LoopFacts facts_;
  llvm::ScalarEvolution& evolution_;
  llvm::Type* number_;
  llvm::SmallVector<Once, 8> once_;
  ExitChecks at_exits_;
};

}  // namespace

llvm::PreservedAnalyses HoistPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (level() != Level::kFull || !function.hasFnAttribute(llvm::Attribute::SanitizeThread)) {
    return llvm::PreservedAnalyses::all();
  }
  give_lines(function);
  LoopHoister hoister(function, analyses);
  if (!hoister.run()) return llvm::PreservedAnalyses::all();
  if (hoister.has_new_blocks()) return llvm::PreservedAnalyses::none();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace deadheat::pass
