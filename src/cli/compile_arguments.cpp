// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>

#include "cli/compiler_options.h"

namespace deadheat {

namespace {

constexpr int kMaxResponseDepth = 16;

// Blanks separate words, quotes of both kinds protect them, a backslash the next
// character.
std::vector<std::string> split_response(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char character = text[at];
    const bool blank = std::isspace(static_cast<unsigned char>(character)) != 0;
    if (quote == '\0' && blank) {
      if (word) words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (character == '\\' && at + 1 < text.size()) {
      *word += text[++at];
    } else if (character == quote) {
      quote = '\0';
    } else if (quote == '\0' && (character == '"' || character == '\'')) {
      quote = character;
    } else {
      *word += character;
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

void expand_into(const std::vector<std::string>& arguments, int depth, std::vector<std::string>& expanded) {
  for (const std::string& argument : arguments) {
    std::ifstream file;
    if (argument.size() > 1 && argument.front() == '@' && depth < kMaxResponseDepth) file.open(argument.substr(1));
    if (!file.is_open()) {
      expanded.push_back(argument);
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    expand_into(split_response(text), depth + 1, expanded);
  }
}

// "-fsanitize=thread,undefined" is ours in part: the compiler must not see the
// word, or it links its own runtime. Returns nothing when nothing is left.
std::optional<std::string> without_thread_sanitizer(const std::string& argument) {
  const auto list = value_of(argument, "-fsanitize=");
  if (!list) return argument;
  std::string kept;
  for (const std::string_view name : split_at(*list, ',')) {
    if (name == "thread") continue;
    if (!kept.empty()) kept += ',';
    kept += name;
  }
  if (kept == *list) return argument;
  if (kept.empty()) return std::nullopt;
  return "-fsanitize=" + kept;
}

// Counters that g++ changes by plain accesses are variables of the program to it.
bool unprotects_counters(const std::string& argument, CompilerFamily family) {
  return family == CompilerFamily::kGcc && argument == "-fprofile-update=single";
}

// The user's arguments with the words taken out that we say ourselves.
std::vector<std::string> user_arguments(const std::vector<std::string>& arguments, CompilerFamily family) {
  std::vector<std::string> result;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> expanded = expand_response_files({argument});
    std::vector<std::string> kept;
    for (const std::string& word : expanded) {
      if (unprotects_counters(word, family)) continue;
      if (auto rest = without_thread_sanitizer(word)) kept.push_back(std::move(*rest));
    }
    if (kept == expanded) {
      result.push_back(argument);
    } else {
      result.insert(result.end(), kept.begin(), kept.end());
    }
  }
  return result;
}

using Words = std::vector<std::string>;

void append(Words& words, std::initializer_list<std::string_view> more) {
  words.insert(words.end(), more.begin(), more.end());
}

// A word for the linker. It keeps its place among the inputs, and `-x c++` before
// it does not turn an archive into a source.
void append_for_linker(Words& words, const std::string& word) {
  if (word.find(',') == std::string::npos) {
    words.push_back("-Wl," + word);
  } else {
    append(words, {"-Xlinker", word});
  }
}

// How -fsanitize=thread reaches the compiler proper and does not bring the
// compiler's runtime into the link.
void append_sanitizer(Words& words, const CommandShape& shape, CompilerFamily family, const InstallLayout& layout) {
  const bool links = shape.stage == CompileStage::kLink;
  if (links && family == CompilerFamily::kGcc) {
    append(words, {"-specs=" + layout.gcc_specs()});  // also for objects alone: -flto compiles now
  } else if (!shape.has_sources) {
    return;  // clang would warn of an option without use
  } else if (!links) {
    append(words, {"-fsanitize=thread"});
  } else if (!shape.has_other_sanitizer) {
    append(words, {"-fsanitize=thread", "-fno-sanitize-link-runtime"});
  } else {
    // The option above would keep the other sanitizer's runtime away, too.
    append(words, {"-Xclang", "-fsanitize=thread"});
  }
}

// -load is for two: clang parses -mllvm options before it loads -fpass-plugin, and
// after -load; and ccache looks at the file behind -load only, so that without it a
// new plugin would get objects of the old one.
void append_pass(Words& words, const InstallLayout& layout, PassUse pass) {
  const std::string plugin = layout.pass_plugin();
  if (pass.level != PassLevel::kCalls) {
    append(words, {"-mllvm", "-tsan-instrument-memory-accesses=0", "-mllvm", "-tsan-instrument-func-entry-exit=0"});
  }
  append(words, {"-fpass-plugin=" + plugin});
  append(words, {"-Xclang", "-load", "-Xclang", plugin});
  if (pass.level == PassLevel::kCalls) append(words, {"-mllvm", "-deadheat-level=calls"});
  if (pass.level == PassLevel::kCompact) append(words, {"-mllvm", "-deadheat-two-versions=0"});
  if (pass.level == PassLevel::kPlain) append(words, {"-mllvm", "-deadheat-level=plain"});
  if (pass.explains) append(words, {"-Rpass=deadheat", "-Rpass-missed=deadheat", "-Rpass-analysis=deadheat"});
}

void append_compile_options(Words& words, const CommandShape& shape, CompilerFamily family, const InstallLayout& layout,
                            PassUse pass) {
  if (!shape.has_debug_option) append(words, {"-g1"});
  if (family == CompilerFamily::kGcc) {
    append(words,
           {"-Wno-tsan", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset", "-fno-builtin-strcpy",
            "-fno-builtin-stpcpy", "-fno-builtin-strncpy", "-fno-builtin-strcat", "-fno-builtin-strncat",
            "-mmemcpy-strategy=libcall:-1:noalign", "-mmemset-strategy=libcall:-1:noalign", "-fno-tree-loop-im",
            "-fno-hoist-adjacent-loads", "-fno-tree-pre", "-fno-code-hoisting"});
    if (pass.has_gcc_plugin && shape.stage != CompileStage::kPreprocess)
      append(words, {"-fplugin=" + layout.gcc_plugin()});
    // ccache gives up on the second one.
    if (shape.has_counters) append(words, {"-fno-profile-values", "-fprofile-update=atomic"});
    return;
  }
  // -g1 of clang says nothing else of where functions begin, and no names with their namespaces.
  append(words, {"-fdebug-info-for-profiling"});
  if (pass.level == PassLevel::kNone && shape.has_wide_vectors) append(words, {"-mprefer-vector-width=128"});
  if (shape.stage == CompileStage::kPreprocess) return;  // the others would be options without use
  append(words, {"-mllvm", "-enable-interleaved-mem-accesses=0"});
  if (pass.level != PassLevel::kNone) {
    append_pass(words, layout, pass);
  } else {
    append(words, {"-mllvm", "-disable-licm-promotion", "-mllvm", "-enable-load-in-loop-pre=0"});
  }
}

void append_runtime(Words& words, CompilerFamily family, const InstallLayout& layout) {
  append_for_linker(words, "--whole-archive");
  append_for_linker(words, layout.static_runtime());
  append_for_linker(words, "--no-whole-archive");
  if (family == CompilerFamily::kGcc) {
    append_for_linker(words, "--wrap=__gxx_personality_v0");
    append_for_linker(words, layout.cxx_runtime());
  }
  append_for_linker(words, "--dynamic-list=" + layout.symbol_list());
  append(words, {"-lpthread", "-ldl", "-lm"});
}

std::string option_refusal(const std::string& option) {
  if (option == "-static" || option == "--static" || option == "-static-pie") {
    return fmt::format(
        "cannot link with {}: the runtime must stand between the program and a shared C library; "
        "-static-libstdc++ and -static-libgcc are fine",
        option);
  }
  if (option == "-m32" || option == "-mx32" || option == "-m16") {
    return fmt::format("cannot compile with {}: only x86-64 programs can be checked", option);
  }
  return fmt::format("cannot combine {} with race detection: only one of these sanitizers fits in a program", option);
}

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> expanded;
  expand_into(arguments, 0, expanded);
  return expanded;
}

Result<std::vector<std::string>> instrumented_arguments(const std::vector<std::string>& arguments,
                                                        CompilerFamily family, const Result<InstallLayout>& layout,
                                                        PassUse pass) {
  const CommandShape shape = classify_command(expand_response_files(arguments));
  if (shape.stage == CompileStage::kQuery) return arguments;
  if (!shape.refused.empty()) return Error{ErrorCode::kUnsupported, option_refusal(shape.refused)};
  const bool links = shape.stage == CompileStage::kLink;
  if (links && !layout.ok()) return layout.error();
  if (shape.selects_accesses) pass = PassUse{};
  const InstallLayout files = layout.ok() ? layout.value() : InstallLayout{};

  Words words;
  append_sanitizer(words, shape, family, files);
  if (shape.has_sources) append_compile_options(words, shape, family, files, pass);
  const Words user = user_arguments(arguments, family);
  words.insert(words.end(), user.begin(), user.end());
  if (!links) return words;
  if (shape.result == LinkResult::kExecutable) append_runtime(words, family, files);
  if (shape.result == LinkResult::kSharedLibrary && shape.forbids_undefined) append_for_linker(words, "-zundefs");
  return words;
}

std::string shell_quoted(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "-_=+,./:@%^";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char character) {
      return std::isalnum(character) != 0 || kPlain.find(static_cast<char>(character)) != std::string_view::npos;
    });
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char character : word) {
      if (character == '\'') {
        line += "'\\''";
      } else {
        line += character;
      }
    }
    line += '\'';
  }
  return line;
}

}  // namespace deadheat
