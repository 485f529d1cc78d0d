// SPDX-License-Identifier: Apache-2.0
// From a compiler's command line to the same command line with race detection.
//
// The wrapper stands where a build system expects a compiler, so it must leave
// every command line as it is except for what it adds. It therefore understands
// only as much as it needs to: does this command compile, does it link, and what
// is the result of the link?
//
// What is added
//   Compiling (also -E and -M, because sources ask whether the thread sanitizer
//   is on, and both must see the same text): -fsanitize=thread, and -g1 if the
//   command has no -g option, for the lines in reports.
//     g++:   -Wno-tsan, because it warns of fences, which we support. Options
//            that keep mem* and str* calls as calls: expanded inline, g++ does
//            not instrument them and races in them are invisible.
//            -fno-tree-loop-im and -fno-hoist-adjacent-loads, or it reads what the source reads
//            only under a condition; -fno-tree-pre and -fno-code-hoisting, or one read stands for two lines,
//            of which perhaps one was executed. Where coverage or a profile is
//            asked for, -fprofile-update=atomic and -fno-profile-values, or there are counters that are
//            changed without order; -fprofile-update=single, which asks for them, is taken out.
//            With our plugin for g++ 12 (pass/gcc): -fplugin, which calls the runtime for
//            what -fsanitize=thread leaves out.
//     clang: -enable-interleaved-mem-accesses=0, or the vectoriser loads more than
//            the program does (one field of an array of structs by loading all
//            fields), and that is reported as a race with who writes the rest.
//     clang with our plugin (docs/pass.md): the plugin instead of clang's own
//            checks of plain accesses. Who tells clang which kinds of accesses to
//            instrument (-fno-sanitize-thread-memory-access and the like) gets
//            clang's own checks, because only these obey.
//            With --no-pass the plugin is there, too, and leaves clang's own checks alone: it
//            adds what they leave out, and keeps the optimiser from accesses that the
//            source does not make.
//     clang without it: -disable-licm-promotion and -enable-load-in-loop-pre=0, or variables
//            are read before a loop that may not read them, or once more on the way out of it.
//            -mprefer-vector-width=128 if -mavx... or -march=... is
//            there: it does not instrument vectors wider than 16 bytes. Vector
//            intrinsics of that width stay invisible.
//     These come before the user's options, which win.
//   Linking an executable: our static runtime, whole, and the list of functions
//   that it exports to shared libraries. The compiler's own runtime must stay
//   away: clang has an option for that. g++ adds its runtime to every link with
//   -fsanitize=thread, so there the option reaches only the compiler proper, by
//   way of a specs file.
//   Linking a shared library (-shared): nothing; the executable that loads it
//   has the runtime. -z defs and --no-undefined would call that an error, so
//   they are taken back. Linking with -r: nothing.
//
// What is refused: what cannot work, in instrumented_arguments().
//
// Response files (@file) are read to understand them and passed on as they are,
// unless they contain an option that must be taken out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/install_layout.h"

namespace deadheat {

enum class CompilerFamily : std::uint8_t { kGcc, kClang };

enum class CompileStage : std::uint8_t {
  kQuery,       // no input: --version, -print-..., -v, -Wl,--version
  kPreprocess,  // stops after -E, -M, -MM
  kCompile,     // stops at an object, assembler text or diagnostics
  kLink,
};

enum class LinkResult : std::uint8_t { kExecutable, kSharedLibrary, kRelocatable };

// What the wrapper wants to know of a command line.
struct CommandShape {
  CompileStage stage = CompileStage::kQuery;
  LinkResult result = LinkResult::kExecutable;
  bool has_sources = false;  // something to instrument, not only objects, libraries and assembler text
  bool has_debug_option = false;
  bool has_wide_vectors = false;     // clang: vectors of more than 16 bytes may appear
  bool has_counters = false;         // of coverage or profiles
  bool has_other_sanitizer = false;  // with a runtime of its own that must be linked, as undefined
  bool forbids_undefined = false;    // -z defs
  bool selects_accesses = false;     // clang: says itself which kinds of accesses are instrumented
  std::string refused;               // the first option that cannot work with us, empty if none
};

// How plain accesses are checked.
enum class PassLevel : std::uint8_t {
  kNone,     // by the compiler's own hooks
  kCalls,    // by calls, too, with the plugin for what clang's own pass does not see
  kPlain,    // inline, each access at its place
  kCompact,  // inline, without redundant checks, loops as a whole
  kFull,     // the same, and each function once more without checks
};
struct PassUse {
  PassLevel level = PassLevel::kNone;  // other than kNone for clang 19 only
  bool explains = false;               // remarks about what was left out and moved, and why not
  bool has_gcc_plugin = false;         // g++: the plugin adds what g++ leaves out
};

// Arguments with each readable @file replaced by what it contains, recursively,
// in the compilers' quoting.
[[nodiscard]] std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments);

// Arguments without the compiler's name, response files expanded.
[[nodiscard]] CommandShape classify_command(const std::vector<std::string>& expanded);

// The arguments to run the compiler with. Errors: kUnsupported for what cannot
// work; kIo when a link needs the runtime and `layout` is the error of finding it.
[[nodiscard]] Result<std::vector<std::string>> instrumented_arguments(const std::vector<std::string>& arguments,
                                                                      CompilerFamily family,
                                                                      const Result<InstallLayout>& layout,
                                                                      PassUse pass = {});

// The command as one line that a shell reads back as the same words.
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace deadheat
