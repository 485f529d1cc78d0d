// SPDX-License-Identifier: Apache-2.0
// Where the pass goes in clang's pipeline: the checks of loops before the vectoriser
// changes the loops, everything else at the end, when the optimiser has removed
// what it can. clang's own pass of -fsanitize=thread comes after both (with
// -tsan-instrument-memory-accesses=0 and -tsan-instrument-func-entry-exit=0) and
// makes hooks of atomic operations, of memcpy and the like.
#include "announcement.h"
#include "hoisting.h"
#include "instrument.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "options.h"
#include "source_accesses.h"

namespace deadheat::pass {

namespace {

llvm::cl::opt<Level> wanted_level(
    "deadheat-level", llvm::cl::desc("What Deadheat's checks of memory accesses look like"),
    llvm::cl::values(clEnumValN(Level::kCalls, "calls", "calls, by clang's own pass for what it sees"),
                     clEnumValN(Level::kPlain, "plain", "a check for every access, at its place"),
                     clEnumValN(Level::kFull, "full", "without redundant ones, loops checked as a whole")),
    llvm::cl::init(Level::kFull));

llvm::cl::opt<bool> wants_two_versions("deadheat-two-versions",
                                       llvm::cl::desc("Each function once more, without checks, for sampling"),
                                       llvm::cl::init(true));

void add_hoisting(llvm::FunctionPassManager& manager) {
  manager.addPass(llvm::LoopSimplifyPass());
  manager.addPass(HoistPass());
}

void register_callbacks(llvm::PassBuilder& builder) {
  keep_to_accesses_of_source(builder);
  builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(HideMaskedLoadsPass()));
  });
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) { add_hoisting(manager); });
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(InstrumentPass()));
    if (level() != Level::kCalls) manager.addPass(AnnouncePass());
  });
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& manager, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name == "deadheat-hoist") {
          add_hoisting(manager);
        } else if (name == "deadheat") {
          manager.addPass(InstrumentPass());
        } else {
          return false;
        }
        return true;
      });
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::ModulePassManager& manager, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "deadheat-announce") return false;
        manager.addPass(AnnouncePass());
        return true;
      });
}

}  // namespace

Level level() { return wanted_level; }
bool makes_two_versions() { return wants_two_versions && wanted_level == Level::kFull; }

}  // namespace deadheat::pass

extern "C" [[gnu::visibility("default")]] llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "deadheat", DEADHEAT_VERSION, deadheat::pass::register_callbacks};
}
