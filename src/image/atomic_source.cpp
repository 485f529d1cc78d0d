// SPDX-License-Identifier: Apache-2.0
#include "image/atomic_source.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "image/atomic_data.h"
#include "image/debug_units.h"

namespace deadheat {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kLargestFile = 4 << 20;
constexpr std::size_t kMostHeaders = 300;  // of one unit

bool is_part_of_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

std::string_view name_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && is_part_of_name(text[end])) ++end;
  return text.substr(begin, end - begin);
}

bool is_atomic_name(std::string_view name, const std::vector<std::string>& macros) {
  for (const std::string_view prefix : {"__atomic_", "__sync_", "__c11_atomic_", "atomic_"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) return true;
  }
  return std::find(macros.begin(), macros.end(), name) != macros.end();
}

bool has_atomic_name(std::string_view text, const std::vector<std::string>& macros) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_part_of_name(text[at])) {
      ++at;
      continue;
    }
    const std::string_view name = name_at(text, at);
    if (is_atomic_name(name, macros)) return true;
    at += name.size();
  }
  return false;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// The rest of a line after "# WORD"; empty if it is something else.
std::string_view directive(std::string_view line, std::string_view word) {
  line = without_blanks(line);
  if (!line.starts_with('#')) return {};
  line = without_blanks(line.substr(1));
  return line.starts_with(word) ? without_blanks(line.substr(word.size())) : std::string_view{};
}

struct SourceText {
  std::string text;
  std::vector<std::string_view> lines;
};

class Sources {
 public:
  explicit Sources(const std::string& program) {
    std::error_code error;
    newest_ = files::last_write_time(program, error);
  }

  // nullptr if it cannot be read, or is not what the program was made from.
  const SourceText* find(const std::string& path) {
    const auto [place, is_new] = known_.try_emplace(path);
    if (is_new) place->second = load(path);
    return place->second.get();
  }

 private:
  std::unique_ptr<SourceText> load(const std::string& path) const {
    std::error_code error;
    const auto size = files::file_size(path, error);
    if (error || size > kLargestFile) return nullptr;
    const auto written = files::last_write_time(path, error);
    if (error || written > newest_) return nullptr;
    std::ifstream file(path, std::ios::binary);
    auto source = std::make_unique<SourceText>();
    source->text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    for (std::string_view rest = source->text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      source->lines.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return source;
  }

  files::file_time_type newest_;
  std::map<std::string, std::unique_ptr<SourceText>> known_;
};

// One unit of the debug information.
class UnitWalk {
 public:
  UnitWalk(Sources& sources, AtomicSource& found) : sources_(sources), found_(found) {}

  void visit(Dwarf_Die& unit, Dwarf_Addr bias) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
    find_macros(unit);
    // Several places may stand for one address, of which the last one has the instruction.
    bool is_atomic = false;
    bool is_read = false;
    for (std::size_t at = 0; at < count; ++at) {
      Dwarf_Line* const row = dwarf_onesrcline(lines, at);
      Dwarf_Addr begin = 0;
      bool is_end = false;
      if (row == nullptr || dwarf_lineaddr(row, &begin) != 0) continue;
      dwarf_lineendsequence(row, &is_end);
      if (is_end) {
        is_atomic = is_read = false;
        continue;
      }
      look_at(row, is_atomic, is_read);
      Dwarf_Addr end = begin;
      Dwarf_Line* const next = at + 1 < count ? dwarf_onesrcline(lines, at + 1) : nullptr;
      if (next == nullptr || dwarf_lineaddr(next, &end) != 0 || end <= begin) continue;
      if (is_atomic) found_.atomic.push_back({begin + bias, end + bias});
      if (is_read) found_.read.push_back({begin + bias, end + bias});
      is_atomic = is_read = false;
    }
  }

 private:
  void look_at(Dwarf_Line* row, bool& is_atomic, bool& is_read) {
    int number = 0;
    int column = 0;
    const char* const path = dwarf_linesrc(row, nullptr, nullptr);
    if (path == nullptr || dwarf_lineno(row, &number) != 0 || number <= 0) return;
    dwarf_linecol(row, &column);
    if (path != last_path_) {
      last_path_ = path;
      last_source_ = sources_.find(path);
    }
    if (last_source_ == nullptr || static_cast<std::size_t>(number) > last_source_->lines.size()) return;
    is_read = true;
    const auto [verdict, is_new] = verdicts_.try_emplace({last_source_, number, column}, false);
    if (is_new) {
      verdict->second =
          has_atomic_operation(last_source_->lines[static_cast<std::size_t>(number - 1)], column, macros_);
    }
    is_atomic = is_atomic || verdict->second;
  }

  // Finds the macros of the unit's files, and of those that they include by name from beside them: headers with nothing
  // but macros are not in the debug information.
  void find_macros(Dwarf_Die& unit) {
    Dwarf_Files* table = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &table, &count) != 0) return;
    std::set<std::string> seen;
    std::vector<std::string> waiting;
    for (std::size_t at = 0; at < count; ++at) {
      if (const char* const path = dwarf_filesrc(table, at, nullptr, nullptr)) waiting.emplace_back(path);
    }
    std::set<std::string> folders;
    for (const std::string& path : waiting) folders.insert(files::path(path).parent_path().string());
    std::vector<const SourceText*> texts;
    while (!waiting.empty() && seen.size() < kMostHeaders) {
      const std::string path = std::move(waiting.back());
      waiting.pop_back();
      if (path.starts_with("/usr/include/") || path.starts_with("/usr/lib/") || !seen.insert(path).second) continue;
      const SourceText* const source = sources_.find(path);
      if (source == nullptr) continue;
      texts.push_back(source);
      for (const std::string_view line : source->lines) {
        const std::string_view included = directive(line, "include");
        if (!included.starts_with('"')) continue;
        const std::string name(included.substr(1, std::min(included.find('"', 1), included.size()) - 1));
        for (const std::string& folder : folders) {
          std::error_code error;
          const std::string candidate = (files::path(folder) / name).lexically_normal().string();
          if (files::is_regular_file(candidate, error)) waiting.push_back(candidate);
        }
      }
    }
    // A macro may be defined by others, whichever file is read first.
    for (std::size_t before = ~std::size_t{0}; before != macros_.size();) {
      before = macros_.size();
      for (const SourceText* const source : texts) {
        for (std::string& name : atomic_macros(source->text, macros_)) {
          if (std::find(macros_.begin(), macros_.end(), name) == macros_.end()) macros_.push_back(std::move(name));
        }
      }
    }
  }

  struct PlaceInSource {
    const SourceText* source;
    int line;
    int column;
    auto operator<=>(const PlaceInSource&) const = default;
  };

  Sources& sources_;
  AtomicSource& found_;
  std::vector<std::string> macros_;
  std::map<PlaceInSource, bool> verdicts_;
  std::string last_path_;
  const SourceText* last_source_ = nullptr;
};

}  // namespace

bool has_atomic_operation(std::string_view line, int column, const std::vector<std::string>& macros) {
  if (column <= 0) return has_atomic_name(line, macros);
  const auto at = static_cast<std::size_t>(column - 1);
  if (at >= line.size()) return false;
  // "std::" may come before the name.
  std::string_view rest = line.substr(at);
  if (rest.starts_with("std::")) rest.remove_prefix(5);
  return is_atomic_name(name_at(rest, 0), macros);
}

std::vector<std::string> atomic_macros(std::string_view text, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  while (!text.empty()) {
    // With the lines that it goes on in.
    std::size_t end = text.find('\n');
    while (end != std::string_view::npos && end > 0 && text[end - 1] == '\\') end = text.find('\n', end + 1);
    const std::string_view line = text.substr(0, std::min(end, text.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view definition = directive(line, "define");
    const std::string_view name = name_at(definition, 0);
    if (!name.empty() && has_atomic_name(definition.substr(name.size()), known)) names.emplace_back(name);
  }
  return names;
}

AtomicSource atomic_code_by_source(const std::string& path) {
  AtomicSource found;
  Sources sources(path);
  for_each_debug_unit(path, [&](Dwarf_Die& unit, Dwarf_Addr bias) { UnitWalk(sources, found).visit(unit, bias); });
  found.atomic = merge_ranges(std::move(found.atomic));
  found.read = merge_ranges(std::move(found.read));
  return found;
}

}  // namespace deadheat
