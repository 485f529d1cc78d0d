// SPDX-License-Identifier: Apache-2.0
// Symbolizer: addresses in files become functions, files, lines and variables.
//
// elfutils reads the symbol tables and the DWARF, and finds separate debug files
// (build id, .gnu_debuglink). We do not use its table of address ranges: clang
// writes none; nor its search for scopes, which does not enter namespaces.
// Instead the ranges of all compilation units are sorted once per module, and
// those of a unit's functions when the unit is first met. Then:
//   - the unit's line table gives file and line of the instruction;
//   - the function that has the instruction gives its name and, inside of it, the
//     functions that the compiler inlined there, each with its call's place;
//   - without DWARF the symbol table gives the function's name;
//   - of a stripped or missing file only the module and the offset remain.
// Names are demangled; a clone's suffix (".cold", ".constprop.0") is dropped, so
// that a function is called the same however it was compiled.
//
// Cost: opening a module reads its units' headers; the first address in a unit
// reads the unit once; results are kept.
//
// Limit: the file is read when it is first asked for. If it was rebuilt while the
// program ran, names may be wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/site.h"
#include "report/module_map.h"

namespace deadheat {

struct GlobalSymbol {
  std::string name;           // demangled
  std::uint64_t address = 0;  // in the file, like the one asked for
  std::uint64_t size = 0;
};

class Symbolizer {
 public:
  Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;
  ~Symbolizer();

  // The frames at an instruction, innermost first; all but the last are inlined
  // into their successors. Never empty; module and offset are always set. Valid
  // as long as the symbolizer.
  [[nodiscard]] const std::vector<Site>& frames(const FileAddress& instruction);

  // The variable that covers the address, if the symbol table has one.
  [[nodiscard]] std::optional<GlobalSymbol> global(const FileAddress& data);

  // Which member of that variable (as global() calls it) begins or lies at the offset: "Counter::n", "[3]"; empty
  // where no debug information says so.
  [[nodiscard]] std::string member(const std::string& path, const GlobalSymbol& variable, std::uint64_t offset);

  // All variables of a file, by address, without overlaps.
  [[nodiscard]] std::vector<GlobalSymbol> globals(const std::string& path);

 private:
  class Module;
  Module& module(const std::string& path);

  std::map<std::string, std::unique_ptr<Module>> modules_;
};

}  // namespace deadheat
