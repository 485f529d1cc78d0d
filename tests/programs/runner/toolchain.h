// SPDX-License-Identifier: Apache-2.0
// How a program is built and run: with Deadheat, or with the runtime that the
// compiler itself brings, for comparison.
//
// Compiling is most of the time of a test run, so objects and linked programs are
// kept in a cache. The key of an object is a hash of all that it depends on: the
// source, the shared headers, the command, and what the compiler says it would do
// with it (its -### output, which shows the flags that a wrapper adds). The key of
// a program has the runtime library in addition, which may be linked into it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "command.h"
#include "found_races.h"
#include "test_program.h"

namespace deadheat::programs {

enum class Runtime { kDeadheat, kTsan };

struct Build {
  const TestProgram* program = nullptr;
  std::string compiler;  // "g++" or "clang"
  std::string level;     // "-O0"
};

struct BuiltProgram {
  std::filesystem::path executable;
  std::filesystem::path plugin;  // empty when there is none
  std::string problem;           // what the compiler said; empty: built
};

class Toolchain {
 public:
  struct Settings {
    Runtime runtime = Runtime::kDeadheat;
    std::filesystem::path deadheat;
    std::filesystem::path programs;  // the folder with race/ and norace/
    std::filesystem::path cache;
    std::string pass;      // clang: --pass= of the wrapper; empty: its default
    bool records = false;  // also a trace of each run
    std::string rate;      // of sampling; empty: none. Below 100% races may be missing
  };

  explicit Toolchain(Settings settings);

  // May be called by several threads at once.
  [[nodiscard]] BuiltProgram build(const Build& build);
  [[nodiscard]] Command run_command_of(const Build& build, const BuiltProgram& built,
                                       const std::filesystem::path& scratch) const;
  // With Settings::records. Empty: the traces of the run are well formed, and the
  // reference detector agrees with the run (disagreements()).
  [[nodiscard]] std::vector<std::string> judge_recording(const Build& build,
                                                         const std::filesystem::path& scratch) const;
  // Where a run has left them.
  [[nodiscard]] static std::vector<std::filesystem::path> traces_in(const std::filesystem::path& scratch);
  // Empty: the run was as the program's comments say.
  [[nodiscard]] std::vector<std::string> judge(const Build& build, const CommandResult& result,
                                               const std::filesystem::path& scratch) const;

 private:
  [[nodiscard]] std::vector<std::string> compiler_words(const std::filesystem::path& source,
                                                        const std::string& compiler) const;
  [[nodiscard]] Command compile_command(const Build& build, const std::filesystem::path& source,
                                        const std::filesystem::path& object) const;
  [[nodiscard]] Command link_command(const Build& build, const std::filesystem::path& source,
                                     const std::filesystem::path& object, const std::filesystem::path& target) const;
  [[nodiscard]] const std::string& what_compiler_does(const Build& build, const std::filesystem::path& source);
  // The folder of `key` in the cache, filled by `command` if it is not there yet;
  // the command writes to `file`, which lies in a folder that is renamed afterwards.
  [[nodiscard]] std::filesystem::path cached(const std::string& key, const std::string& file,
                                             const std::function<Command(const std::filesystem::path&)>& command,
                                             std::string& problem);
  [[nodiscard]] std::filesystem::path built_file(const Build& build, const std::filesystem::path& source,
                                                 const std::string& file, std::string& problem);
  [[nodiscard]] std::filesystem::path new_folder(const std::string& purpose);

  Settings settings_;
  std::string headers_;  // text of the shared headers
  std::string runtime_;  // hash of the runtime library
  std::string plugins_;  // and of the plugins for the compilers
  bool has_lld_ = false;
  std::mutex mutex_;  // guards the two members below
  std::map<std::string, std::string> compiler_descriptions_;
  int folders_ = 0;
};

}  // namespace deadheat::programs
