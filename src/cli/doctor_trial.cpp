// SPDX-License-Identifier: Apache-2.0
// The part of the doctor that builds and runs a program: for each compiler, in
// a temporary directory, through our own commands, as a user would.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/compile.h"
#include "cli/doctor_checks.h"
#include "cli/exit_codes.h"
#include "cli/install_layout.h"

namespace deadheat {

namespace {

// Nothing orders the two writes, whichever comes first.
constexpr char kSource[] = R"(#include <thread>
int balance = 0;
int main() {
  std::thread other([] { balance = 1; });
  balance = 2;
  other.join();
}
)";
constexpr char kSourceName[] = "doctor.cpp";

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "deadheat-doctor-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }  // empty if there is none

 private:
  std::string path_;
};

struct Outcome {
  int exit_code = -1;
  std::string output;  // of both streams
};

Outcome run_in(const std::string& directory, const std::vector<std::string>& words) {
  // A minute is long for this program on any machine; a hang must not last.
  const std::string line =
      fmt::format("cd {} && timeout 60 {} 2>&1 </dev/null", shell_quoted({directory}), shell_quoted(words));
  Outcome outcome;
  std::FILE* stream = popen(line.c_str(), "r");
  if (stream == nullptr) return outcome;
  char piece[4096];
  for (std::size_t size = 0; (size = std::fread(piece, 1, sizeof piece, stream)) > 0;)
    outcome.output.append(piece, size);
  const int status = pclose(stream);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

CheckResult check_files(const Result<InstallLayout>& layout) {
  CheckResult result{"runtime", CheckScope::kFullDetection, CheckVerdict::kOk, {}, {}, {}};
  if (!layout.ok()) {
    result.verdict = CheckVerdict::kMissing;
    result.found = layout.error().message;
    result.meaning = "programs cannot be linked with race detection";
    result.fix = "install Deadheat as a whole: cmake --install";
    return result;
  }
  result.found = layout.value().library_directory;
  std::error_code error;
  for (const std::string& path : {layout.value().shared_runtime(), layout.value().symbol_list(),
                                  layout.value().gcc_specs(), layout.value().stand_in_directory()}) {
    if (std::filesystem::exists(path, error)) continue;
    result.verdict = CheckVerdict::kWarning;
    result.found = fmt::format("no '{}'", path);
    result.meaning = "some programs cannot be linked or run with race detection";
    result.fix = "install Deadheat as a whole: cmake --install";
  }
  return result;
}

// What went wrong, or nothing.
std::optional<std::string> try_compiler(const std::string& directory, const std::string& compiler) {
  const std::string self = executable_path();
  const Outcome built =
      run_in(directory, {self, "c++", "--cxx=" + compiler, "-O1", "-pthread", kSourceName, "-o", "doctor"});
  if (built.exit_code != 0) return "does not link with the runtime: " + first_line(built.output);
  const Outcome ran = run_in(directory, {self, "run", "./doctor"});
  if (ran.exit_code != static_cast<int>(ExitCode::kRacesFound)) {
    return fmt::format("its program ran with exit code {} instead of 66: {}", ran.exit_code, first_line(ran.output));
  }
  if (ran.output.find(std::string(kSourceName) + ":") == std::string::npos) return "reports have no source lines";
  return std::nullopt;
}

enum class Trial : std::uint8_t { kPossible, kImpossible };

CheckResult check_compiler(const std::string& directory, const std::string& name, Trial trial) {
  CheckResult result{name, CheckScope::kInformation, CheckVerdict::kOk, {}, {}, {}};
  const auto compiler = find_compiler(SourceLanguage::kCpp, name);
  if (!compiler.ok()) {
    result.verdict = CheckVerdict::kWarning;
    result.found = "not found";
    result.meaning = "one compiler is enough; clang is the faster one with race detection";
    result.fix = "sudo apt-get install " + (name.starts_with("clang") ? std::string("clang-19") : name);
    return result;
  }
  result.found = first_line(run_in(directory, {compiler.value().words[0], "--version"}).output);
  if (trial == Trial::kImpossible) {
    result.verdict = CheckVerdict::kWarning;
    result.meaning = "not tried, because there is no runtime to link";
    return result;
  }
  if (const auto problem = try_compiler(directory, compiler.value().words[0])) {
    result.verdict = CheckVerdict::kMissing;
    result.found += "; " + *problem;
    result.meaning = "programs built with it cannot be checked";
    result.fix = fmt::format("see the messages of: deadheat c++ --cxx={} FILE && deadheat run ./a.out", name);
    return result;
  }
  result.found += "; compiles, links, reports a race with its lines";
  return result;
}

// Full detection works when one compiler's program came through.
CheckResult conclude(const std::vector<CheckResult>& compilers) {
  CheckResult result{"race found in a trial", CheckScope::kFullDetection, CheckVerdict::kMissing, "no", {}, {}};
  for (const CheckResult& compiler : compilers) {
    if (compiler.verdict != CheckVerdict::kOk) continue;
    result.verdict = CheckVerdict::kOk;
    result.found = "yes, with " + compiler.name;
    return result;
  }
  result.meaning = "no compiler's program came through, see above";
  return result;
}

}  // namespace

std::vector<CheckResult> check_compilers() {
  const auto layout = find_install_layout();
  std::vector<CheckResult> results = {check_files(layout)};
  const ScratchDirectory scratch;
  if (scratch.path().empty() || !(std::ofstream(scratch.path() + "/" + kSourceName) << kSource)) {
    results.push_back({"temporary directory", CheckScope::kFullDetection, CheckVerdict::kMissing, "not writable",
                       "the trial of the compilers is not possible", "set TMPDIR to a directory with room"});
    return results;
  }
  const Trial trial = layout.ok() ? Trial::kPossible : Trial::kImpossible;
  std::vector<CheckResult> compilers;
  for (const char* name : {"clang++-19", "clang++", "g++"}) {
    compilers.push_back(check_compiler(scratch.path(), name, trial));
  }
  results.insert(results.end(), compilers.begin(), compilers.end());
  results.push_back(conclude(compilers));
  return results;
}

}  // namespace deadheat
