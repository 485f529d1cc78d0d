// SPDX-License-Identifier: Apache-2.0
#include "report/function_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/describe.h"

namespace deadheat {

namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kUnnamedSpace = "(anonymous namespace)";

// One past the bracket that closes the one at `at`.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  const char open = text[at];
  const char close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && (close != '>' || text[at - 1] != '-') && --depth == 0) return at + 1;
  }
  return text.size();
}

bool ends_with_word(const std::string& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  if (text.size() == word.size()) return true;
  const char before = text[text.size() - word.size() - 1];
  return std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_';
}

// One past the signs behind "operator" at `at`.
std::size_t end_of_operator(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "()" || text.substr(at, 2) == "[]") return at + 2;
  const std::size_t end = text.find_first_not_of("<>=+-*/%^&|~!,", at);
  return std::min(end, text.size());
}

// Whether the part is like clang's "$_0".
bool is_clang_lambda(std::string_view part) {
  return part.starts_with("$_") && std::all_of(part.begin() + 2, part.end(), [](char letter) {
           return std::isdigit(static_cast<unsigned char>(letter)) != 0;
         });
}

// "main::$_0::operator()" as "main::{lambda}::operator()".
std::string with_lambdas(const std::string& name) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = name.find("::", at);
    const std::string_view part = std::string_view(name).substr(at, end == std::string::npos ? end : end - at);
    out += is_clang_lambda(part) ? std::string_view("{lambda}") : part;
    if (end == std::string::npos) return out;
    out += "::";
    at = end + 2;
  }
}

void replace_all(std::string& text, std::string_view old, std::string_view now) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += now.size()) {
    text.replace(at, old.size(), now);
  }
}

// The last arguments of a template, where the library's own template stands for what it assumes.
void drop_assumed(std::string& text, std::string_view assumed) {
  const std::string begin = fmt::format(", std::{}<", assumed);
  // From behind: an argument may have one in itself.
  for (std::size_t at = text.rfind(begin); at != std::string::npos; at = at == 0 ? at : text.rfind(begin, at - 1)) {
    std::size_t end = end_of_brackets(text, at + begin.size() - 1);
    while (end < text.size() && text[end] == ' ') ++end;
    const bool is_last = end < text.size() && text[end] == '>';
    if (is_last) text.erase(at, end - at);
    if (at == 0) break;
  }
}

}  // namespace

std::string qualified_name(std::string_view function) {
  std::string name;
  for (std::size_t at = 0; at < function.size();) {
    const char letter = function[at];
    if (ends_with_word(name, kOperator) &&
        std::string_view("<>=+-*/%^&|~!,([").find(letter) != std::string_view::npos) {
      const std::size_t end = end_of_operator(function, at);
      if (end > at) {
        name += function.substr(at, end - at);
        at = end;
        continue;
      }
    }
    if (function.substr(at).starts_with(kUnnamedSpace)) {
      name += kUnnamedSpace;
      at += kUnnamedSpace.size();
    } else if (letter == '<' || letter == '[') {
      at = end_of_brackets(function, at);
    } else if (letter == '{' || letter == '\'') {
      // "{lambda(int)#1}", "'lambda'(int)", "{unnamed type#1}"
      const std::size_t end = letter == '{' ? end_of_brackets(function, at)
                                            : std::min(function.find('\'', at + 1), function.size() - 1) + 1;
      const bool is_lambda = function.substr(at + 1).starts_with("lambda");
      name += is_lambda ? std::string_view("{lambda}") : function.substr(at, end - at);
      at = end;
    } else if (letter == '(') {
      at = end_of_brackets(function, at);
      std::string_view rest = function.substr(at);
      for (const std::string_view word : {" const", " volatile", " &&", " &"}) {
        if (rest.starts_with(word)) rest.remove_prefix(word.size());
      }
      if (name != "decltype" && !rest.starts_with("::")) break;
      at = function.size() - rest.size();
    } else if (letter == ' ' && function.substr(at + 1).starts_with('<')) {
      ++at;  // "operator< <int>"
    } else if (letter == ' ' && !ends_with_word(name, kOperator)) {
      name.clear();  // it was the type of the result
      ++at;
    } else {
      name += letter;
      ++at;
    }
  }
  return with_lambdas(name);
}

std::string short_name(std::string_view function) {
  std::string name(function);
  replace_all(name, "std::__cxx11::", "std::");
  replace_all(name, "std::__1::", "std::");
  replace_all(name, "[abi:cxx11]", "");
  for (const std::string_view assumed : {"allocator", "equal_to", "hash", "less", "char_traits", "default_delete"}) {
    drop_assumed(name, assumed);
  }
  for (const std::string_view words : {"string", "string_view"}) {
    replace_all(name, fmt::format("std::basic_{}<char>", words), fmt::format("std::{}", words));
    replace_all(name, fmt::format("std::basic_{}<wchar_t>", words), fmt::format("std::w{}", words));
  }
  for (const std::string_view stream : {"ostream", "istream", "iostream", "stringstream", "ostringstream",
                                        "istringstream", "fstream", "ofstream", "ifstream", "streambuf"}) {
    replace_all(name, fmt::format("std::basic_{}<char>", stream), fmt::format("std::{}", stream));
  }
  return name;
}

std::string short_identity(std::string_view function) {
  const std::string name = qualified_name(function);
  const auto last_part = [](std::string_view text) {
    const std::size_t colons = text.rfind("::");
    return std::string(colons == std::string_view::npos ? text : text.substr(colons + 2));
  };
  const std::size_t lambda = name.find("::{lambda}");
  if (lambda == std::string::npos) return last_part(name);
  return last_part(std::string_view(name).substr(0, lambda)) + "{lambda}";
}

bool is_system_library(std::string_view path) {
  const std::string_view name = base_name(path);
  for (const std::string_view known : {"libc.so", "libc-", "ld-linux", "ld-2", "libpthread", "libdl.so", "librt.so",
                                       "libm.so", "libm-", "libgcc_s", "libstdc++", "libc++", "libresolv", "libnss_"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

bool is_library_frame(const Site& site) {
  if (site.file.find("/include/c++/") != std::string::npos || is_system_library(site.module)) return true;
  const std::string name = qualified_name(site.function);
  for (const std::string_view known : {"std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "operator delete"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

bool is_own_frame(const Site& site) {
  return (!site.function.empty() || !site.file.empty()) && !is_library_frame(site);
}

bool is_runtime_frame(const Site& site) {
  const std::string_view module = base_name(site.module);
  return module.starts_with("libdeadheat_rt") || site.module.find("/deadheat/tsan/lib") != std::string::npos ||
         qualified_name(site.function).starts_with("deadheat::runtime::");
}

const Site& own_frame(const std::vector<Site>& frames) {
  const auto own = std::find_if(frames.begin(), frames.end(), is_own_frame);
  return own == frames.end() ? frames.front() : *own;
}

}  // namespace deadheat
