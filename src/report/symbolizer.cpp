// SPDX-License-Identifier: Apache-2.0
#include "report/symbolizer.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "report/member_names.h"

namespace deadheat {

namespace {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
};

// Deeper nesting than any compiler's is damage.
constexpr int kDeepestNesting = 200;

// Without what compilers append to the names of clones and of static locals.
std::string demangled(std::string_view name) {
  const std::string plain(name.substr(0, name.find('.', 1)));
  if (!plain.starts_with("_Z")) return plain;
  int status = 0;
  const std::unique_ptr<char, FreeMemory> words(abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status));
  return status == 0 ? std::string(words.get()) : plain;
}

// With its namespaces, classes and parameters; empty if the DWARF has not that much.
std::string linkage_name(Dwarf_Die& function) {
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute value;
    const char* linkage = dwarf_formstring(dwarf_attr_integrate(&function, attribute, &value));
    if (linkage != nullptr) return demangled(linkage);
  }
  return {};
}

// "ns::Class::name": from the DWARF's own nesting, without parameters.
std::string plain_name(Dwarf_Die& function) {
  const char* own = dwarf_diename(&function);
  if (own == nullptr) return {};
  std::string name(own);
  Dwarf_Die definition = function;
  for (const unsigned link : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute value;
    Dwarf_Die target;
    if (dwarf_formref_die(dwarf_attr(&definition, link, &value), &target) != nullptr) definition = target;
  }
  Dwarf_Die* raw_scopes = nullptr;
  const int count = dwarf_getscopes_die(&definition, &raw_scopes);
  const std::unique_ptr<Dwarf_Die[], FreeMemory> scopes(raw_scopes);
  for (int index = 1; index < count; ++index) {
    const int tag = dwarf_tag(&scopes[index]);
    const bool is_space = tag == DW_TAG_namespace;
    if (!is_space && tag != DW_TAG_class_type && tag != DW_TAG_structure_type) continue;
    const char* scope = dwarf_diename(&scopes[index]);
    if (scope == nullptr && !is_space) continue;
    name.insert(0, std::string(scope == nullptr ? "(anonymous namespace)" : scope) + "::");
  }
  return name;
}

std::uint32_t number_at(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(&die, attribute, &value), &number) != 0) return 0;
  return static_cast<std::uint32_t>(number);
}

// Made by the compiler, or to be shown as one operation. Lambdas are called so, too, whose text is the program's.
bool is_artificial(Dwarf_Die& function) {
  const char* const name = dwarf_diename(&function);
  if (name != nullptr && std::string_view(name) == "operator()") return false;
  Dwarf_Attribute value;
  bool answer = false;
  return dwarf_formflag(dwarf_attr_integrate(&function, DW_AT_artificial, &value), &answer) == 0 && answer;
}

std::string tidy_path(const char* path) {
  return path == nullptr ? std::string{} : std::filesystem::path(path).lexically_normal().string();
}

bool is_variable(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size != 0 && symbol.st_shndx != SHN_UNDEF;
}

// The code of one compilation unit, or of one function in it.
struct CodeRange {
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  std::size_t index = 0;
};

struct Unit {
  Dwarf_Die lines{};   // has the line table
  Dwarf_Die scopes{};  // has the functions; another one when the DWARF is split
  // The functions that have code, once somebody asked.
  bool is_indexed = false;
  std::vector<Dwarf_Die> functions;
  std::vector<CodeRange> ranges;  // by first address
};

void add_ranges(std::vector<CodeRange>& ranges, Dwarf_Die& die, std::size_t index) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (std::ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0;) {
    if (begin < end) ranges.push_back({begin, end, index});
  }
}

void sort_ranges(std::vector<CodeRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& one, const CodeRange& other) { return one.begin < other.begin; });
}

std::optional<std::size_t> index_at(const std::vector<CodeRange>& ranges, Dwarf_Addr address) {
  auto next = std::upper_bound(ranges.begin(), ranges.end(), address,
                               [](Dwarf_Addr wanted, const CodeRange& range) { return wanted < range.begin; });
  // Ranges can overlap in odd files; a few steps back are enough.
  for (int step = 0; step < 8 && next != ranges.begin(); ++step) {
    --next;
    if (address < next->end) return next->index;
  }
  return std::nullopt;
}

// Calls visit(child) for each child.
template <class Visit>
void for_each_child(Dwarf_Die& parent, Visit&& visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    visit(child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

// elfutils' own search does not look into namespaces, where clang keeps the
// functions; so the unit's functions are collected here.
void collect_functions(Unit& unit, Dwarf_Die& parent, int depth) {
  if (depth > kDeepestNesting) return;
  for_each_child(parent, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      unit.functions.push_back(child);
      add_ranges(unit.ranges, child, unit.functions.size() - 1);
    }
    if (dwarf_haschildren(&child) == 1) collect_functions(unit, child, depth + 1);
  });
}

// The inlined calls around an address inside of a function, outermost first.
void collect_inlined(Dwarf_Die& scope, Dwarf_Addr address, std::vector<Dwarf_Die>& calls, int depth) {
  if (depth > kDeepestNesting) return;
  for_each_child(scope, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) return;
    if (dwarf_haspc(&child, address) != 1) return;
    if (tag == DW_TAG_inlined_subroutine) calls.push_back(child);
    collect_inlined(child, address, calls, depth + 1);
  });
}

// The definition of a variable of a unit or namespace, or of a class.
bool find_variable(Dwarf_Die& parent, const std::string& name, Dwarf_Die& result, int& left) {
  bool is_found = false;
  for_each_child(parent, [&](Dwarf_Die& child) {
    if (is_found || --left <= 0) return;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_namespace) {
      is_found = find_variable(child, name, result, left);
    } else if (tag == DW_TAG_variable && dwarf_hasattr(&child, DW_AT_location) != 0) {
      const std::string linkage = linkage_name(child);
      if (name != (linkage.empty() ? plain_name(child) : linkage)) return;
      result = child;
      is_found = true;
    }
  });
  return is_found;
}

// Entries of debug information, for one variable.
constexpr int kMostLookedAt = 2'000'000;

}  // namespace

// One file, opened once.
class Symbolizer::Module {
 public:
  explicit Module(std::string path) : path_(std::move(path)) {
    open();
    read_units();
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }

  const std::vector<Site>& frames(std::uint64_t address) {
    const auto known = frames_.find(address);
    if (known != frames_.end()) return known->second;
    std::vector<Site> found = dwarf_frames(address);
    if (found.empty()) found.push_back(symbol_frame(address));
    for (Site& site : found) {
      site.module = path_;
      site.offset = address;
    }
    return frames_.emplace(address, std::move(found)).first->second;
  }

  [[nodiscard]] std::optional<GlobalSymbol> global(std::uint64_t address) const {
    if (module_ == nullptr) return std::nullopt;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module_, address + elf_bias_, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr || !is_variable(symbol) || offset >= symbol.st_size) return std::nullopt;
    return GlobalSymbol{demangled(name), address - offset, symbol.st_size};
  }

  std::string member(const GlobalSymbol& variable, std::uint64_t offset) {
    const auto [found, is_new] = variables_.try_emplace(variable.name);
    if (is_new) {
      int left = kMostLookedAt;
      for (Unit& unit : units_) {
        if (find_variable(unit.scopes, variable.name, found->second, left) || left <= 0) break;
      }
    }
    return found->second.addr == nullptr ? std::string() : member_at(found->second, offset);
  }

  [[nodiscard]] std::vector<GlobalSymbol> globals() const {
    std::vector<GlobalSymbol> all;
    const int count = module_ == nullptr ? 0 : dwfl_module_getsymtab(module_);
    for (int index = 1; index < count; ++index) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      const char* name = dwfl_module_getsym_info(module_, index, &symbol, &address, nullptr, nullptr, nullptr);
      if (name == nullptr || *name == '\0' || !is_variable(symbol)) continue;
      all.push_back({demangled(name), address - elf_bias_, symbol.st_size});
    }
    std::sort(all.begin(), all.end(), [](const GlobalSymbol& one, const GlobalSymbol& other) {
      return std::tie(one.address, one.name) < std::tie(other.address, other.name);
    });
    std::vector<GlobalSymbol> apart;
    for (GlobalSymbol& symbol : all) {
      if (!apart.empty() && symbol.address < apart.back().address + apart.back().size) continue;
      apart.push_back(std::move(symbol));
    }
    return apart;
  }

 private:
  void open() {
    static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .section_address = dwfl_offline_section_address,
                                              .debuginfo_path = nullptr};
    // A module that is no regular file (the kernel's vdso, a device) is not read.
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path_, ignored)) return;
    dwfl_ = dwfl_begin(&kCallbacks);
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    module_ = dwfl_report_elf(dwfl_, path_.c_str(), path_.c_str(), -1, 0, true);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module_ != nullptr && dwfl_module_getelf(module_, &elf_bias_) == nullptr) module_ = nullptr;
    if (module_ != nullptr) dwarf_ = dwfl_module_getdwarf(module_, &dwarf_bias_);
  }

  void read_units() {
    if (dwarf_ == nullptr) return;
    Dwarf_CU* unit = nullptr;
    std::uint8_t type = 0;
    Dwarf_Die die;
    Dwarf_Die split;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, &split) == 0) {
      if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
      const bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
      units_.push_back({die, is_split ? split : die, false, {}, {}});
      add_ranges(ranges_, die, units_.size() - 1);
    }
    sort_ranges(ranges_);
  }

  // From the innermost inlined function outwards to the one that has the code.
  static std::vector<Dwarf_Die> functions_around(Unit& unit, Dwarf_Addr address) {
    if (!std::exchange(unit.is_indexed, true)) {
      collect_functions(unit, unit.scopes, 0);
      sort_ranges(unit.ranges);
    }
    const auto index = index_at(unit.ranges, address);
    if (!index) return {};
    std::vector<Dwarf_Die> functions{unit.functions[*index]};
    collect_inlined(unit.functions[*index], address, functions, 0);
    std::reverse(functions.begin(), functions.end());
    return functions;
  }

  static std::string call_file(Unit& unit, Dwarf_Die& inlined) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const std::uint32_t index = number_at(inlined, DW_AT_call_file);
    if (dwarf_getsrcfiles(&unit.lines, &files, &count) != 0 || index >= count) return {};
    return tidy_path(dwarf_filesrc(files, index, nullptr, nullptr));
  }

  // The line is that of the code, where line tables are all that there is (clang -g1).
  static std::uint32_t first_line(Unit& unit, Dwarf_Die& function) {
    Dwarf_Addr entry = 0;
    int number = 0;
    if (dwarf_entrypc(&function, &entry) != 0) return 0;
    Dwarf_Line* const line = dwarf_getsrc_die(&unit.lines, entry);
    return line != nullptr && dwarf_lineno(line, &number) == 0 && number > 0 ? static_cast<std::uint32_t>(number) : 0;
  }

  std::vector<Site> dwarf_frames(std::uint64_t address) {
    const Dwarf_Addr at = address + elf_bias_ - dwarf_bias_;
    const auto index = index_at(ranges_, at);
    if (!index) return {};
    Unit* unit = &units_[*index];
    Site place;
    if (Dwarf_Line* line = dwarf_getsrc_die(&unit->lines, at)) {
      int number = 0;
      if (dwarf_lineno(line, &number) == 0 && number > 0) place.line = static_cast<std::uint32_t>(number);
      if (dwarf_linecol(line, &number) == 0 && number > 0) place.column = static_cast<std::uint32_t>(number);
      place.file = tidy_path(dwarf_linesrc(line, nullptr, nullptr));
    }
    std::vector<Site> frames;
    for (Dwarf_Die& function : functions_around(*unit, at)) {
      Site site = place;
      site.is_inlined = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
      site.function = linkage_name(function);
      // g++ leaves it out for lambdas and the like; the symbol table has it.
      if (site.function.empty() && !site.is_inlined) site.function = symbol_name(address);
      if (site.function.empty()) site.function = plain_name(function);
      int start = 0;
      if (dwarf_decl_line(&function, &start) == 0 && start > 0) {
        site.function_line = static_cast<std::uint32_t>(start);
      } else if (!site.is_inlined) {
        site.function_line = first_line(*unit, function);
      }
      if (site.is_inlined) {
        place.file = call_file(*unit, function);
        place.line = number_at(function, DW_AT_call_line);
        place.column = number_at(function, DW_AT_call_column);
        // An intrinsic of a header: to the reader the line of the caller does it. Regions of OpenMP are called
        // artificial, too, and lie in the caller's file.
        if (site.file != place.file && is_artificial(function)) continue;
      }
      frames.push_back(std::move(site));
    }
    if (frames.empty() && place.line != 0) frames.push_back(place);
    if (!frames.empty() && frames.back().function.empty()) frames.back().function = symbol_name(address);
    return frames;
  }

  [[nodiscard]] std::string symbol_name(std::uint64_t address) const {
    if (module_ == nullptr) return {};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module_, address + elf_bias_, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr || (symbol.st_size != 0 && offset >= symbol.st_size)) return {};
    return demangled(name);
  }

  [[nodiscard]] Site symbol_frame(std::uint64_t address) const {
    Site site;
    site.function = symbol_name(address);
    return site;
  }

  std::string path_;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;  // null: nothing can be read
  Dwarf* dwarf_ = nullptr;         // null: no debug information
  // What elfutils adds to addresses of the file, and of the debug file.
  GElf_Addr elf_bias_ = 0;
  Dwarf_Addr dwarf_bias_ = 0;
  std::vector<Unit> units_;
  std::vector<CodeRange> ranges_;  // by first address
  std::unordered_map<std::uint64_t, std::vector<Site>> frames_;
  std::unordered_map<std::string, Dwarf_Die> variables_;  // by name; without an address: not found
};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

Symbolizer::Module& Symbolizer::module(const std::string& path) {
  std::unique_ptr<Module>& slot = modules_[path];
  if (slot == nullptr) slot = std::make_unique<Module>(path);
  return *slot;
}

const std::vector<Site>& Symbolizer::frames(const FileAddress& instruction) {
  return module(instruction.path).frames(instruction.address);
}

std::optional<GlobalSymbol> Symbolizer::global(const FileAddress& data) {
  return module(data.path).global(data.address);
}

std::string Symbolizer::member(const std::string& path, const GlobalSymbol& variable, std::uint64_t offset) {
  return module(path).member(variable, offset);
}

std::vector<GlobalSymbol> Symbolizer::globals(const std::string& path) { return module(path).globals(); }

}  // namespace deadheat
