// SPDX-License-Identifier: Apache-2.0
// Classifies a compiler's command line; see compile_arguments.h.
#include "cli/compiler_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "cli/compile_arguments.h"

namespace deadheat {

namespace {

// Options whose value is the next argument (some also take it joined: "-o" and
// "-ofile"; then the argument is not equal to the name). Sorted.
constexpr auto kTakesNext = std::to_array<std::string_view>({
    "--config",
    "--entry",
    "--for-linker",
    "--include",
    "--param",
    "--sysroot",
    "--target",
    "-A",
    "-B",
    "-D",
    "-F",
    "-I",
    "-L",
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-Xanalyzer",
    "-Xarch_host",
    "-Xassembler",
    "-Xclang",
    "-Xlinker",
    "-Xpreprocessor",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-e",
    "-framework",
    "-idirafter",
    "-imacros",
    "-imultilib",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-isystem-after",
    "-ivfsoverlay",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iwithsysroot",
    "-l",
    "-mllvm",
    "-o",
    "-resource-dir",
    "-rpath",
    "-specs",
    "-target",
    "-u",
    "-working-directory",
    "-wrapper",
    "-x",
    "-z",
});
static_assert(std::is_sorted(kTakesNext.begin(), kTakesNext.end()));

// Sanitizers that replace the allocator or own the address space. The others
// (undefined and its parts, among them) get along with us.
constexpr auto kRivals = std::to_array<std::string_view>({"address", "dataflow", "hwaddress", "kernel-address",
                                                          "kernel-hwaddress", "kernel-memory", "leak", "memory",
                                                          "memtag", "numerical", "realtime", "safe-stack", "type"});
static_assert(std::is_sorted(kRivals.begin(), kRivals.end()));

template <class Array>
bool is_one_of(const Array& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

bool ends_with_one_of(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return path.ends_with(ending); });
}

// Objects, archives, shared libraries with their version numbers, and assembler
// text. Everything else that is named is compiled, or handed to the linker as a
// script, which does no harm to misjudge.
bool is_without_code_to_instrument(std::string_view path) {
  return ends_with_one_of(path, {".o", ".a", ".so", ".lo", ".obj", ".os", ".lib", ".s", ".S", ".sx"}) ||
         path.find(".so.") != std::string_view::npos;
}

// Precompiled to a .gch or .pch even without -c.
bool is_header(std::string_view path) { return ends_with_one_of(path, {".h", ".hh", ".hpp", ".hxx", ".H", ".h++"}); }

bool is_debug_option(std::string_view argument) {
  return argument.starts_with("-g") && !argument.starts_with("-gcc-toolchain") && !argument.starts_with("-gz") &&
         !argument.starts_with("-gno-") && !argument.starts_with("-grecord");
}

bool allows_wide_vectors(std::string_view argument) {
  return argument.starts_with("-mavx") || argument.starts_with("-march=") || argument == "-mfma";
}

// Counts how often code runs, for coverage or for profiles.
bool asks_for_counters(std::string_view argument) {
  return argument == "--coverage" || argument == "-coverage" || argument.starts_with("-fprofile-arcs") ||
         argument.starts_with("-fprofile-generate");
}

// Of clang, and of its own pass by way of -mllvm.
bool is_about_kinds_of_accesses(std::string_view option) {
  return option.starts_with("-fsanitize-thread-") || option.starts_with("-fno-sanitize-thread-");
}
bool is_about_kinds_of_accesses_in_llvm(std::string_view option) {
  return option.starts_with("-tsan-instrument-") || option.starts_with("--tsan-instrument-");
}

// Reads one argument after the other, the way the compilers' drivers do: a
// later option can take back an earlier one.
class Classifier {
 public:
  void read(const std::vector<std::string>& arguments) {
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      const std::string_view argument = arguments[at];
      if (argument == "-" || argument.empty() || argument.front() != '-') {
        read_input(argument);
      } else if (is_one_of(kTakesNext, argument)) {
        if (at + 1 < arguments.size()) read_pair(argument, arguments[++at]);
      } else {
        read_option(argument);
      }
    }
  }

  [[nodiscard]] CommandShape shape() {
    if (is_query_ || !has_input_) return CommandShape{};
    if (stage_ == CompileStage::kLink && has_only_headers_) stage_ = CompileStage::kCompile;
    shape_.stage = stage_;
    const bool links = stage_ == CompileStage::kLink;
    if (vector_width_given_) shape_.has_wide_vectors = false;
    if (shape_.refused.empty() && links && shape_.result == LinkResult::kExecutable) shape_.refused = static_option_;
    return shape_;
  }

 private:
  void read_input(std::string_view path) {
    has_input_ = true;
    const bool assembler = language_.starts_with("assembler");
    if (!assembler && !is_without_code_to_instrument(path)) shape_.has_sources = true;
    if (!is_header(path) && !language_.ends_with("-header")) has_only_headers_ = false;
  }

  void read_library() {
    has_input_ = true;
    has_only_headers_ = false;
  }

  void read_pair(std::string_view option, std::string_view value) {
    if (option == "-l") read_library();
    if (option == "-x") language_ = value;
    if (option == "-mllvm" && is_about_kinds_of_accesses_in_llvm(value)) shape_.selects_accesses = true;
    if (option == "-z") read_linker_word("-z" + std::string(value));
    if (option == "-Xlinker" || option == "--for-linker") read_linker_word(value);
  }

  void read_option(std::string_view option) {
    if (option.starts_with("-l")) read_library();
    if (const auto language = value_of(option, "-x")) language_ = *language;
    if (option.starts_with("-z")) read_linker_word(option);
    if (const auto words = value_of(option, "-Wl,")) {
      for (const std::string_view word : split_at(*words, ',')) read_linker_word(word);
    }
    read_stage(option);
    read_target(option);
    if (const auto list = value_of(option, "-fsanitize=")) read_sanitizers(option, *list);
    if (is_debug_option(option)) shape_.has_debug_option = true;
    if (allows_wide_vectors(option)) shape_.has_wide_vectors = true;
    if (asks_for_counters(option)) shape_.has_counters = true;
    if (is_about_kinds_of_accesses(option)) shape_.selects_accesses = true;
    if (option.starts_with("-mprefer-vector-width")) vector_width_given_ = true;
  }

  void read_stage(std::string_view option) {
    if (option == "-E" || option == "-M" || option == "-MM" || option == "--preprocess") {
      stage_ = CompileStage::kPreprocess;
    } else if (stage_ == CompileStage::kLink &&
               (option == "-c" || option == "-S" || option == "-fsyntax-only" || option == "--compile" ||
                option == "--assemble" || option == "--precompile" || option == "--analyze" || option == "-emit-ast" ||
                option == "-emit-pch")) {
      stage_ = CompileStage::kCompile;
    } else if (option == "--version" || option == "--help" || option.starts_with("-print-") ||
               option.starts_with("--print-") || option == "-dumpversion" || option == "-dumpmachine" ||
               option == "-dumpfullversion" || option == "-dumpspecs") {
      is_query_ = true;
    }
  }

  void read_target(std::string_view option) {
    if (option == "-shared" || option == "--shared") shape_.result = LinkResult::kSharedLibrary;
    if (option == "-r" || option == "--relocatable") shape_.result = LinkResult::kRelocatable;
    if (option == "-static" || option == "--static" || option == "-static-pie") static_option_ = option;
    if (option == "-m32" || option == "-mx32" || option == "-m16") shape_.refused = option;
    if (option == "-m64" && shape_.refused.starts_with("-m")) shape_.refused.clear();
  }

  void read_sanitizers(std::string_view option, std::string_view list) {
    for (const std::string_view name : split_at(list, ',')) {
      if (is_one_of(kRivals, name)) shape_.refused = option;
      if (name != "thread") shape_.has_other_sanitizer = true;
    }
  }

  // Both "-z defs", in two words or one, and --no-undefined.
  void read_linker_word(std::string_view word) {
    const bool after_z = previous_linker_word_ == "-z";
    if (word == "--no-undefined" || word == "-no-undefined" || word == "-zdefs" || (after_z && word == "defs")) {
      shape_.forbids_undefined = true;
    }
    if (word == "-r" || word == "--relocatable") shape_.result = LinkResult::kRelocatable;
    if (word == "-shared" || word == "--shared" || word == "-Bshareable") shape_.result = LinkResult::kSharedLibrary;
    previous_linker_word_ = word;
  }

  CommandShape shape_;
  CompileStage stage_ = CompileStage::kLink;
  bool has_input_ = false;
  bool is_query_ = false;
  bool has_only_headers_ = true;
  bool vector_width_given_ = false;
  std::string language_;  // of the inputs to come, as -x said
  std::string static_option_;
  std::string previous_linker_word_;
};

}  // namespace

std::optional<std::string_view> value_of(std::string_view argument, std::string_view prefix) {
  if (!argument.starts_with(prefix)) return std::nullopt;
  return argument.substr(prefix.size());
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

CommandShape classify_command(const std::vector<std::string>& expanded) {
  Classifier classifier;
  classifier.read(expanded);
  return classifier.shape();
}

}  // namespace deadheat
