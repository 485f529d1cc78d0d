// SPDX-License-Identifier: Apache-2.0
#include "toolchain.h"

#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace deadheat::programs {

namespace {

constexpr int kExitRacesFound = 66;
constexpr const char* kLlvmPrograms = "/usr/lib/llvm-19/bin";

// FNV-1a.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3u;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(hash >> shift) & 15u];
  return name;
}

// Reports of other things than races would only be in the way. Addresses stay
// fixed because these runtimes cannot live with much randomisation.
std::string tsan_options(const TestProgram& program, const std::filesystem::path& suppressions) {
  std::string options =
      "report_thread_leaks=0 report_destroy_locked=0 report_mutex_bugs=0 report_signal_unsafe=0 detect_deadlocks=0 "
      "atexit_sleep_ms=0 ";
  for (const char letter : program.options) options += letter == ':' ? ' ' : letter;
  if (!program.suppressions.empty()) options += " suppressions=" + suppressions.string();
  return options;
}

// The words that pkg-config says about the program's packages.
std::vector<std::string> package_words(const TestProgram& program, const std::string& question) {
  if (program.packages.empty()) return {};
  std::string line = "pkg-config " + question;
  for (const std::string& package : program.packages) line += " " + package;
  std::string text;
  if (FILE* const pipe = popen(line.c_str(), "r")) {
    char buffer[4096];
    while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    pclose(pipe);
  }
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Every event of the trace was analysed.
bool is_complete(const std::string& analysis) {
  return std::regex_search(analysis, std::regex(R"("complete": *true)"));
}

}  // namespace

Toolchain::Toolchain(Settings settings) : settings_(std::move(settings)) {
  std::filesystem::create_directories(settings_.cache);
  has_lld_ = std::filesystem::exists(std::filesystem::path(kLlvmPrograms) / "ld.lld");
  for (const auto& header : std::filesystem::directory_iterator(settings_.programs / "support")) {
    headers_ += read_file(header.path());
  }
  if (settings_.runtime == Runtime::kDeadheat) {
    const std::filesystem::path libraries = settings_.deadheat.parent_path() / "../lib/deadheat";
    runtime_ = hash_of(read_file(libraries / "libdeadheat_rt.a"));
    for (const char* const plugin : {"libdeadheat_pass.so", "libdeadheat_gcc_pass.so"}) {
      if (std::filesystem::exists(libraries / plugin)) plugins_ += hash_of(read_file(libraries / plugin));
    }
  }
}

std::filesystem::path Toolchain::new_folder(const std::string& purpose) {
  const std::scoped_lock lock(mutex_);
  const std::filesystem::path folder =
      settings_.cache / (purpose + "-" + std::to_string(getpid()) + "-" + std::to_string(++folders_));
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<std::string> Toolchain::compiler_words(const std::filesystem::path& source,
                                                   const std::string& compiler) const {
  const bool is_cpp = source.extension() == ".cpp";
  const std::string real = compiler == "g++" ? (is_cpp ? "g++" : "gcc") : (is_cpp ? "clang++-19" : "clang-19");
  if (settings_.runtime == Runtime::kTsan) return {real, "-fsanitize=thread"};
  std::vector<std::string> words = {settings_.deadheat.string(), is_cpp ? "c++" : "cc",
                                    (is_cpp ? "--cxx=" : "--cc=") + real};
  if (compiler == "clang" && !settings_.pass.empty()) words.push_back("--pass=" + settings_.pass);
  return words;
}

Command Toolchain::compile_command(const Build& build, const std::filesystem::path& source,
                                   const std::filesystem::path& object) const {
  Command command;
  command.limit = std::chrono::seconds(120);
  command.words = compiler_words(source, build.compiler);
  command.words.emplace_back(source.extension() == ".cpp" ? "-std=c++20" : "-std=gnu17");
  command.words.emplace_back("-g");
  command.words.push_back(build.level);
  command.words.push_back("-I" + (settings_.programs / "support").string());
  command.words.push_back("-I" + (settings_.programs / "../../include").lexically_normal().string());
  if (source != build.program->source) command.words.emplace_back("-fPIC");
  for (const std::string& flag : build.program->flags) command.words.push_back(flag);
  for (const std::string& word : package_words(*build.program, "--cflags")) command.words.push_back(word);
  for (const std::string& word : {std::string("-c"), source.string(), std::string("-o"), object.string()}) {
    command.words.push_back(word);
  }
  return command;
}

Command Toolchain::link_command(const Build& build, const std::filesystem::path& source,
                                const std::filesystem::path& object, const std::filesystem::path& target) const {
  Command command;
  command.limit = std::chrono::seconds(120);
  command.words = compiler_words(source, build.compiler);
  if (source != build.program->source) command.words.emplace_back("-shared");
  // Both linkers: the usual one where nothing is optimised, elsewhere the one that takes a third of its time.
  if (build.level != "-O0" && has_lld_) {
    command.words.emplace_back("-fuse-ld=lld");
    command.words.push_back(std::string("-B") + kLlvmPrograms);  // g++ would not look there
  }
  for (const std::string& word : {std::string("-pthread"), object.string(), std::string("-o"), target.string()}) {
    command.words.push_back(word);
  }
  for (const std::string& word : build.program->libraries) command.words.push_back(word);
  for (const std::string& word : package_words(*build.program, "--libs")) command.words.push_back(word);
  return command;
}

const std::string& Toolchain::what_compiler_does(const Build& build, const std::filesystem::path& source) {
  const std::string kind = build.compiler + source.extension().string();
  {
    const std::scoped_lock lock(mutex_);
    const auto known = compiler_descriptions_.find(kind);
    if (known != compiler_descriptions_.end()) return known->second;
  }
  const std::filesystem::path folder = new_folder("probe");
  Command command;
  command.words = compiler_words(source, build.compiler);
  for (const char* word : {"-###", "-x", "c", "/dev/null", "-o", "/dev/null"}) command.words.emplace_back(word);
  std::string text = run_command(command, folder).output;
  // Names of temporary files differ each time.
  text = std::regex_replace(text, std::regex("/tmp/[A-Za-z0-9_-]*"), "");
  std::filesystem::remove_all(folder);
  const std::scoped_lock lock(mutex_);
  return compiler_descriptions_.emplace(kind, text).first->second;
}

std::filesystem::path Toolchain::cached(const std::string& key, const std::string& file,
                                        const std::function<Command(const std::filesystem::path&)>& command,
                                        std::string& problem) {
  const std::filesystem::path final_folder = settings_.cache / key;
  if (std::filesystem::exists(final_folder)) return final_folder / file;
  const std::filesystem::path folder = new_folder("build");
  const Command wanted = command(folder / file);
  const CommandResult result = run_command(wanted, folder);
  if (result.status != 0) {
    problem = wanted.text() + "\n" + result.output;
    std::filesystem::remove_all(folder);
    return {};
  }
  std::error_code someone_was_faster;
  std::filesystem::rename(folder, final_folder, someone_was_faster);
  if (someone_was_faster) std::filesystem::remove_all(folder);
  return final_folder / file;
}

std::filesystem::path Toolchain::built_file(const Build& build, const std::filesystem::path& source,
                                            const std::string& file, std::string& problem) {
  const std::string object_key = hash_of(compile_command(build, source, "").text() + what_compiler_does(build, source) +
                                         plugins_ + headers_ + read_file(source));
  const std::filesystem::path object = cached(
      object_key, "object.o",
      [&](const std::filesystem::path& target) { return compile_command(build, source, target); }, problem);
  if (!problem.empty()) return {};
  const std::string key = hash_of(object_key + link_command(build, source, object, "").text() + runtime_);
  return cached(
      key, file, [&](const std::filesystem::path& target) { return link_command(build, source, object, target); },
      problem);
}

BuiltProgram Toolchain::build(const Build& build) {
  BuiltProgram built;
  built.executable = built_file(build, build.program->source, "program", built.problem);
  if (build.program->plugin && built.problem.empty()) {
    built.plugin = built_file(build, *build.program->plugin, "plugin.so", built.problem);
  }
  return built;
}

Command Toolchain::run_command_of(const Build& build, const BuiltProgram& built,
                                  const std::filesystem::path& scratch) const {
  const TestProgram& program = *build.program;
  const std::filesystem::path suppressions = scratch / "suppressions";
  if (!program.suppressions.empty()) write_file(suppressions, program.suppressions);
  Command command;
  command.input = program.input;
  if (program.takes_long) command.limit = std::chrono::seconds(600);
  if (settings_.runtime == Runtime::kTsan) {
    command.environment.push_back("TSAN_OPTIONS=" + tsan_options(program, suppressions));
    command.words = {"setarch", "-R"};
  } else {
    if (!program.options.empty()) command.environment.push_back("DEADHEAT_OPTIONS=" + program.options);
    command.words = {settings_.deadheat.string(), "run", "--format", "json", "--output", (scratch / "report").string()};
    if (!program.suppressions.empty()) command.words.push_back("--suppressions=" + suppressions.string());
    if (settings_.records && program.is_recorded) {
      command.words.push_back("--record=" + (scratch / "trace").string());
      command.limit *= 6;
    }
    // Periods as short as the programs are.
    if (!settings_.rate.empty())
      command.words.insert(command.words.end(), {"--rate=" + settings_.rate, "--period=100us"});
    command.words.emplace_back("--");
  }
  command.words.push_back(built.executable.string());
  if (!built.plugin.empty()) command.words.push_back(built.plugin.string());
  return command;
}

// The file that was asked for, and those of other processes with a number behind
// its name.
std::vector<std::filesystem::path> Toolchain::traces_in(const std::filesystem::path& scratch) {
  std::vector<std::filesystem::path> traces;
  for (const auto& entry : std::filesystem::directory_iterator(scratch)) {
    const std::string name = entry.path().filename().string();
    if (name == "trace" || name.starts_with("trace.")) traces.push_back(entry.path());
  }
  return traces;
}

std::vector<std::string> Toolchain::judge_recording(const Build& build, const std::filesystem::path& scratch) const {
  const TestProgram& program = *build.program;
  std::vector<std::vector<FoundRace>> traces;
  for (const std::filesystem::path& trace : traces_in(scratch)) {
    Command analyze;
    analyze.limit = std::chrono::seconds(300);
    // The analysis checks the rules of traces as it goes.
    analyze.words = {settings_.deadheat.string(),
                     "analyze",
                     "--detector",
                     program.recording_detector,
                     "--format",
                     "json",
                     "--output",
                     (scratch / "analysis").string(),
                     trace.string()};
    if (program.options.find("strict_atomics=1") != std::string::npos) analyze.words.emplace_back("--strict-atomics");
    const CommandResult analysed = run_command(analyze, scratch);
    if (analysed.status != 0 && analysed.status != kExitRacesFound) {
      return {"a recorded trace cannot be analysed: " + analyze.text() + "\n" + analysed.output};
    }
    const std::string analysis = read_file(scratch / "analysis");
    if (!is_complete(analysis)) return {"a recorded trace is cut off: " + analyze.text() + "\n" + analysed.output};
    traces.push_back(races_in_json(analysis, program));
  }
  if (traces.empty()) return {"nothing was recorded"};
  return disagreements(races_in_json(read_file(scratch / "report"), program), traces,
                       program.suppressions.empty() ? Suppressed::kNothing : Suppressed::kSomething);
}

namespace {

// What is known of a program of which only a part is sampled: which races there are at
// most.
TestProgram when_sampled(TestProgram program) {
  for (auto& [label, race] : program.races) race.may_be_missing = true;
  program.findings.reset();
  program.occurrences.reset();
  if (!program.races.empty()) program.exit_status.reset();
  return program;
}

}  // namespace

std::vector<std::string> Toolchain::judge(const Build& build, const CommandResult& result,
                                          const std::filesystem::path& scratch) const {
  const bool is_whole = settings_.rate.empty() || settings_.rate == "100%";
  const TestProgram program = is_whole ? *build.program : when_sampled(*build.program);
  if (result.timed_out) return {"did not end in time"};
  std::vector<std::string> wrong;
  try {
    const std::vector<FoundRace> found = settings_.runtime == Runtime::kTsan
                                             ? races_in_tsan_text(result.output, program)
                                             : races_in_json(read_file(scratch / "report"), program);
    wrong = differences(found, program);
    if (settings_.runtime != Runtime::kTsan && !program.may_lose) {
      for (const std::string& loss : losses_in_json(read_file(scratch / "report"))) wrong.push_back("lost: " + loss);
    }
  } catch (const std::runtime_error& error) {
    wrong.emplace_back(error.what());
  }
  if (!program.exit_status) return wrong;
  const int expected = program.races.empty() ? *program.exit_status : kExitRacesFound;
  if (result.status != expected) {
    wrong.push_back("exit status " + std::to_string(result.status) + " instead of " + std::to_string(expected));
  }
  return wrong;
}

}  // namespace deadheat::programs
