// SPDX-License-Identifier: Apache-2.0
// The wrapper replaces itself by the compiler (exec): output, exit status and
// signals are the compiler's own, and nothing runs beside it. So everything must
// be decided before: which compiler, of which family, with which arguments.
//
// The arguments are not parsed by the library that parses the other commands:
// they belong to the compiler. Ours are --cc=, --cxx=, --pass=, --no-pass, --explain
// and --deadheat-show, which no compiler has, wherever they stand.
#include "cli/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "cli/commands.h"
#include "cli/compiler_options.h"
#include "cli/install_layout.h"
#include "cli/messages.h"
#include "cli/program_file.h"

namespace deadheat {

namespace {

constexpr char kHelp[] = R"(Compile and link with race detection
Usage: deadheat {0} [--{1}=COMPILER] [--deadheat-show] ARGUMENTS...

Everything but the options below goes to the compiler as it is. `deadheat-{0}` is
the same in one word, for build systems.

Options:
  --{1}=COMPILER    g++ or clang++, gcc or clang, a name or a path; "ccache g++" works, too.
                    Without it: the environment variable {2}, then clang 19, clang, gcc.
  --pass=LEVEL      How accesses are checked, with clang 19. full: inline, without redundant
                    checks, loops as a whole, each function once more without checks for
                    sampling (the default). compact: not twice. plain: inline, each at its place.
                    no, or --no-pass: by calls, as with every other compiler.
  --explain         Say what the pass left out or moved, and what it could not and why
  --deadheat-show   Print the command instead of running it

Examples:
  deadheat {0} -O2 -g program.{3} -o program
  deadheat {0} --{1}={4} -c part.{3}
  cmake -B build -DCMAKE_{5}_COMPILER=deadheat-{0}
  make {upper}=deadheat-{0}
  {upper}=deadheat-{0} meson setup build
  deadheat-{0} "--{1}=ccache {6}" -c part.{3}

ccache belongs between the wrapper and the compiler, as in the last example or by way of
{2}="ccache {6}". In front of the wrapper it does not see which compiler {2}
names, nor when that compiler or the plugin changes.

Not possible: -static, -m32, other sanitizers that replace the allocator.

Exit codes: 0 success; 1 no runtime; 2 bad usage or no compiler; otherwise the compiler's own.
)";

std::string help(SourceLanguage language) {
  const bool cpp = language == SourceLanguage::kCpp;
  return fmt::format(kHelp, cpp ? "c++" : "cc", cpp ? "cxx" : "cc", cpp ? "DEADHEAT_CXX" : "DEADHEAT_CC",
                     cpp ? "cpp" : "c", cpp ? "g++" : "gcc", cpp ? "CXX" : "C", cpp ? "clang++-19" : "clang-19",
                     fmt::arg("upper", cpp ? "CXX" : "CC"));
}

enum class ShowCommand : std::uint8_t { kNo, kYes };

constexpr char kPluginVersion[] = "19";     // of clang
constexpr char kGccPluginVersion[] = "12";  // of g++

struct CompileRequest {
  SourceLanguage language = SourceLanguage::kCpp;
  std::string wanted;  // the compiler, empty for the default
  ShowCommand show = ShowCommand::kNo;
  std::optional<PassLevel> pass;  // nothing: the best that the compiler can do
  bool explains = false;
  std::string problem;  // with our own options; empty: none
  std::vector<std::string> arguments;
};

std::optional<CompilerFamily> family_by_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.find("clang") != std::string::npos) return CompilerFamily::kClang;
  if (name.find("g++") != std::string::npos || name.find("gcc") != std::string::npos) return CompilerFamily::kGcc;
  return std::nullopt;
}

// What the compiler answers to --version.
std::string version_text(const std::vector<std::string>& words) {
  const std::string question = shell_quoted(words) + " --version 2>/dev/null </dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> answer(popen(question.c_str(), "r"), pclose);
  char text[512] = {};
  if (answer) (void)std::fread(text, 1, sizeof text - 1, answer.get());
  return text;
}

// `c++` and `cc` are links to the real name on most systems; a script is asked.
CompilerFamily family_of(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (const auto family = family_by_name(word)) return *family;
    std::error_code error;
    const auto real = std::filesystem::canonical(find_program(word).path, error);
    if (const auto family = family_by_name(error ? std::string() : real.string())) return *family;
  }
  return version_text(words).find("clang") != std::string::npos ? CompilerFamily::kClang : CompilerFamily::kGcc;
}

// Debian's clang lies in a directory that has the version, which saves a question
// that costs as much as a small compilation.
bool is_plugin_version(const std::vector<std::string>& words) {
  const std::string directory = std::string("/llvm-") + kPluginVersion + "/";
  for (const std::string& word : words) {
    std::error_code error;
    const auto real = std::filesystem::canonical(find_program(word).path, error);
    if (!error && real.string().find(directory) != std::string::npos) return true;
    if (!error && real.string().find("/llvm-") != std::string::npos) return false;
  }
  return version_text(words).find(std::string("clang version ") + kPluginVersion + ".") != std::string::npos;
}

// Debian's g++ has the version in the name of the file, and a question is saved again.
bool is_gcc_plugin_version(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    std::error_code error;
    const auto real = std::filesystem::canonical(find_program(word).path, error);
    if (error || family_by_name(real.string()) != CompilerFamily::kGcc) continue;
    const std::string name = real.filename().string();
    const std::size_t dash = name.rfind('-');
    const std::string version = dash == std::string::npos ? std::string() : name.substr(dash + 1);
    if (!version.empty() && std::isdigit(static_cast<unsigned char>(version[0])) != 0)
      return version == kGccPluginVersion;
  }
  return version_text(words).find(std::string(") ") + kGccPluginVersion + ".") != std::string::npos;
}

bool is_this_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::equivalent(path, "/proc/self/exe", error);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split_at(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::vector<std::string> default_compilers(SourceLanguage language) {
  if (language == SourceLanguage::kCpp) return {"clang++-19", "clang++", "g++"};
  return {"clang-19", "clang", "gcc"};
}

std::optional<PassLevel> pass_level_named(std::string_view name) {
  if (name == "full") return PassLevel::kFull;
  if (name == "compact") return PassLevel::kCompact;
  if (name == "plain") return PassLevel::kPlain;
  if (name == "no") return PassLevel::kCalls;
  return std::nullopt;
}

// The arguments after the command's name, ours taken out.
CompileRequest read_request(SourceLanguage language, const std::vector<std::string>& arguments) {
  CompileRequest request;
  request.language = language;
  for (const std::string& argument : arguments) {
    auto compiler = value_of(argument, "--cxx=");
    if (!compiler) compiler = value_of(argument, "--cc=");
    if (compiler) {
      request.wanted = *compiler;
    } else if (argument == "--deadheat-show") {
      request.show = ShowCommand::kYes;
    } else if (argument == "--explain") {
      request.explains = true;
    } else if (argument == "--no-pass") {
      request.pass = PassLevel::kCalls;
    } else if (const auto level = value_of(argument, "--pass=")) {
      request.pass = pass_level_named(*level);
      if (!request.pass)
        request.problem = fmt::format("unknown level '{}' in --pass=: full, compact, plain or no", *level);
    } else {
      request.arguments.push_back(argument);
    }
  }
  return request;
}

// Returns only if the system refuses.
ExitCode replace_process(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  print_error(fmt::format("cannot run '{}': {}", words[0], system_message(errno)));
  return ExitCode::kUsage;
}

// What the compiler and the installation can do, as far as it was asked for.
Result<PassUse> pass_use(const CompileRequest& request, const Compiler& compiler, const Result<InstallLayout>& layout) {
  std::string obstacle;
  std::error_code error;
  PassUse calls;
  calls.has_gcc_plugin = compiler.family == CompilerFamily::kGcc && compiler.takes_plugin && layout.ok() &&
                         std::filesystem::exists(layout.value().gcc_plugin(), error);
  if (compiler.family == CompilerFamily::kGcc || !compiler.takes_plugin) {
    obstacle = fmt::format("'{}' is not clang {}", compiler.words.back(), kPluginVersion);
  } else if (!layout.ok() || !std::filesystem::exists(layout.value().pass_plugin(), error)) {
    obstacle = "the plugin is not installed";
  }
  if (obstacle.empty()) return PassUse{request.pass.value_or(PassLevel::kFull), request.explains};
  if (request.pass == PassLevel::kCalls) return calls;
  if (request.pass) return Error{ErrorCode::kUnsupported, fmt::format("no inline checks: {}", obstacle)};
  if (request.explains) print_note(fmt::format("accesses are checked by calls: {}", obstacle));
  return calls;
}

ExitCode compile(const CompileRequest& request) {
  if (!request.problem.empty()) {
    print_error(request.problem);
    return ExitCode::kUsage;
  }
  const auto compiler = find_compiler(request.language, request.wanted);
  if (!compiler.ok()) {
    print_error(compiler.error().message);
    return ExitCode::kUsage;
  }
  const Result<InstallLayout> layout = find_install_layout();
  const auto pass = pass_use(request, compiler.value(), layout);
  if (!pass.ok()) {
    print_error(pass.error().message);
    return ExitCode::kUsage;
  }
  const auto arguments = instrumented_arguments(request.arguments, compiler.value().family, layout, pass.value());
  if (!arguments.ok()) {
    print_error(arguments.error().message);
    return arguments.error().code == ErrorCode::kIo ? ExitCode::kFailure : ExitCode::kUsage;
  }
  std::vector<std::string> words = compiler.value().words;
  words.insert(words.end(), arguments.value().begin(), arguments.value().end());
  if (request.show == ShowCommand::kNo) return replace_process(words);
  std::puts(shell_quoted(words).c_str());
  return ExitCode::kSuccess;
}

std::optional<SourceLanguage> language_named(std::string_view name) {
  if (name == "cc") return SourceLanguage::kC;
  if (name == "c++") return SourceLanguage::kCpp;
  return std::nullopt;
}

}  // namespace

Result<Compiler> find_compiler(SourceLanguage language, const std::string& wanted) {
  const bool cpp = language == SourceLanguage::kCpp;
  std::string text = wanted;
  const char* named = std::getenv(cpp ? "DEADHEAT_CXX" : "DEADHEAT_CC");
  if (text.empty() && named != nullptr) text = named;
  std::vector<std::string> words = words_of(text);
  if (words.empty()) {
    for (const std::string& candidate : default_compilers(language)) {
      if (words.empty() && !find_program(candidate).path.empty()) words = {candidate};
    }
  }
  if (words.empty()) {
    return Error{ErrorCode::kIo, fmt::format("found neither clang nor gcc; install one, or name one with --{}=COMPILER",
                                             cpp ? "cxx" : "cc")};
  }
  const std::string path = find_program(words[0]).path;
  if (path.empty()) return Error{ErrorCode::kIo, fmt::format("compiler '{}' not found", words[0])};
  if (is_this_program(path)) {
    return Error{ErrorCode::kIo, fmt::format("'{}' is deadheat itself, not a compiler", words[0])};
  }
  Compiler compiler{words, family_of(words), false};
  compiler.takes_plugin =
      compiler.family == CompilerFamily::kClang ? is_plugin_version(words) : is_gcc_plugin_version(words);
  compiler.words[0] = path;
  return compiler;
}

std::optional<ExitCode> run_as_compiler(int argument_count, char** arguments) {
  std::vector<std::string> words(arguments, arguments + argument_count);
  if (words.empty()) return std::nullopt;
  const std::string called = std::filesystem::path(words[0]).filename().string();
  if (const auto name = value_of(called, "deadheat-")) {
    if (const auto language = language_named(*name)) {
      return compile(read_request(*language, {words.begin() + 1, words.end()}));
    }
  }
  const auto language = words.size() > 1 ? language_named(words[1]) : std::nullopt;
  if (!language) return std::nullopt;
  // The one-word commands give the compiler's help: build systems ask for it.
  if (words.size() == 2 || words[2] == "--help") {
    std::fputs(help(*language).c_str(), stdout);
    return words.size() == 2 ? ExitCode::kUsage : ExitCode::kSuccess;
  }
  return compile(read_request(*language, {words.begin() + 2, words.end()}));
}

void add_compile_commands(CLI::App& app) {
  for (const SourceLanguage language : {SourceLanguage::kC, SourceLanguage::kCpp}) {
    const bool cpp = language == SourceLanguage::kCpp;
    CLI::App* command =
        app.add_subcommand(cpp ? "c++" : "cc", fmt::format("Compile {} with race detection; arguments are "
                                                           "the compiler's",
                                                           cpp ? "C++" : "C"));
    const std::string text = help(language);
    command->footer(text.substr(text.find("Examples:"), std::string::npos));
    command->add_option(cpp ? "--cxx" : "--cc", "The compiler: a name or a path")->option_text("COMPILER");
    command->add_option("--pass", "How accesses are checked, with clang 19")
        ->check(CLI::IsMember(std::vector<std::string>{"full", "plain", "no"}))
        ->option_text("LEVEL");
    const auto add_flag = [command](const char* name, const std::string& meaning) { command->add_flag(name, meaning); };
    add_flag("--no-pass", "The same as --pass no");
    add_flag("--explain", "Say what the pass left out or moved, and what it could not and why");
    add_flag("--deadheat-show", "Print the command instead of running it");
  }
}

}  // namespace deadheat
