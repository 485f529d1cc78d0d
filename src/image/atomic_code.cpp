// SPDX-License-Identifier: Apache-2.0
#include "image/atomic_code.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "image/atomic_data.h"
#include "image/debug_units.h"

namespace deadheat {
namespace {

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The identifier that a mangled name goes on with: "6atomic..." gives "atomic".
std::string_view take_identifier(std::string_view& text) {
  std::size_t length = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && length < 10000) {
    length = length * 10 + static_cast<std::size_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  const std::string_view identifier = text.substr(0, length);
  text.remove_prefix(identifier.size());
  return identifier;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

// One walk over all functions and what was inlined into them. Asking for the scopes of each
// site instead would walk a unit per site.
class AtomicWalk {
 public:
  AtomicWalk(std::vector<AddressRange>& ranges, Dwarf_Addr bias) : ranges_(ranges), bias_(bias) {}

  void visit(Dwarf_Die& parent, int depth) {
    Dwarf_Die child;
    if (depth > kDeepestNesting || dwarf_child(&parent, &child) != 0) return;
    do {
      if (leads_to_code(child) && !add_if_atomic(child)) visit(child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

 private:
  static bool leads_to_code(Dwarf_Die& die) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        return dwarf_hasattr(&die, DW_AT_low_pc) != 0 || dwarf_hasattr(&die, DW_AT_ranges) != 0;
      case DW_TAG_namespace:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return true;
      default:
        return false;
    }
  }

  bool add_if_atomic(Dwarf_Die& die) {
    const int tag = dwarf_tag(&die);
    const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    if (is_function ? !is_atomic(die) : tag != DW_TAG_lexical_block || !is_expanded_macro(die)) return false;
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    for (std::ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0;) {
      if (begin < end) ranges_.push_back({begin + bias_, end + bias_});
    }
    return true;
  }

  // gcc's <stdatomic.h> expands atomic_load() and the like to a block with variables of such names.
  static bool is_expanded_macro(Dwarf_Die& block) {
    Dwarf_Die child;
    if (dwarf_child(&block, &child) != 0) return false;
    do {
      if (dwarf_tag(&child) != DW_TAG_variable) continue;
      Dwarf_Attribute value;
      const char* const name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &value));
      if (name != nullptr && std::string_view(name).starts_with("__atomic_")) return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
  }

  // Few functions are inlined in very many places, so the verdict is remembered.
  bool is_atomic(Dwarf_Die& die) {
    Dwarf_Attribute value;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &value), &origin) == nullptr) origin = die;
    const auto [verdict, is_new] = verdicts_.try_emplace(origin.addr, false);
    if (is_new) verdict->second = has_atomic_name(origin);
    return verdict->second;
  }

  static bool has_atomic_name(Dwarf_Die& function) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      Dwarf_Attribute value;
      const char* name = dwarf_formstring(dwarf_attr_integrate(&function, attribute, &value));
      if (name != nullptr) return names_atomic_operation(name);
    }
    return false;
  }

  std::vector<AddressRange>& ranges_;
  Dwarf_Addr bias_;  // from the debug file's addresses to the file's
  std::unordered_map<void*, bool> verdicts_;
};

}  // namespace

bool names_atomic_operation(std::string_view linkage_name) {
  std::string_view rest = linkage_name;
  if (!skip(rest, "_Z")) {
    return starts_with_any(rest, {"atomic_load", "atomic_store", "atomic_exchange", "atomic_compare_exchange",
                                  "atomic_fetch_", "atomic_flag_"});
  }
  skip(rest, "N");
  skip(rest, "V");
  skip(rest, "K");
  if (!skip(rest, "St")) return false;
  std::string_view identifier = take_identifier(rest);
  if (identifier.starts_with("__") && identifier.size() <= 4) identifier = take_identifier(rest);  // libc++: std::__1
  return starts_with_any(identifier, {"atomic", "__atomic", "__cxx_atomic"});
}

std::vector<AddressRange> atomic_code_by_debug_information(const std::string& path) {
  std::vector<AddressRange> ranges;
  for_each_debug_unit(path, [&](Dwarf_Die& unit, Dwarf_Addr bias) { AtomicWalk(ranges, bias).visit(unit, 0); });
  return merge_ranges(std::move(ranges));
}

// Each entry is the distance from itself to an instruction.
std::vector<std::uint64_t> atomic_instructions_by_metadata(const ElfImage& image) {
  std::vector<std::uint64_t> addresses;
  const auto list = image.section("sanmd_atomics2");
  if (!list) return addresses;
  for (std::size_t at = 0; at + sizeof(std::int32_t) <= list->bytes.size(); at += sizeof(std::int32_t)) {
    std::int32_t distance = 0;
    std::memcpy(&distance, list->bytes.data() + at, sizeof distance);
    addresses.push_back(list->address + at + static_cast<std::uint64_t>(std::int64_t{distance}));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

}  // namespace deadheat
