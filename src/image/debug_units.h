// SPDX-License-Identifier: Apache-2.0
// The compilation units of a file's debug information, wherever the system keeps it.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace deadheat {

// Deeper nesting than any compiler's is damage.
inline constexpr int kDeepestNesting = 200;

// Calls visit(unit, bias) for each: `bias` is from the debug file's addresses to the file's. Nothing if there is none.
template <class Visit>
void for_each_debug_unit(const std::string& path, Visit visit) {
  static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = dwfl_standard_find_debuginfo,
                                            .section_address = dwfl_offline_section_address,
                                            .debuginfo_path = nullptr};
  struct EndSession {
    void operator()(Dwfl* session) const { dwfl_end(session); }
  };
  const std::unique_ptr<Dwfl, EndSession> session(dwfl_begin(&kCallbacks));
  if (session == nullptr) return;
  dwfl_report_begin(session.get());
  Dwfl_Module* module = dwfl_report_elf(session.get(), path.c_str(), path.c_str(), -1, 0, true);
  dwfl_report_end(session.get(), nullptr, nullptr);
  GElf_Addr elf_bias = 0;
  Dwarf_Addr dwarf_bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &elf_bias) == nullptr) return;
  Dwarf* dwarf = dwfl_module_getdwarf(module, &dwarf_bias);
  if (dwarf == nullptr) return;
  Dwarf_CU* unit = nullptr;
  std::uint8_t type = 0;
  Dwarf_Die die;
  Dwarf_Die split;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, &split) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
    visit(is_split ? split : die, dwarf_bias - elf_bias);
  }
}

}  // namespace deadheat
