// SPDX-License-Identifier: Apache-2.0
#include "image/atomic_data.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "image/debug_units.h"

namespace deadheat {
namespace {

// Structures within structures, and elements of arrays, beyond which nobody looks.
constexpr int kDeepestType = 8;
constexpr std::uint64_t kMostElements = 4096;

bool is_atomic_class(Dwarf_Die& type) {
  const char* const name = dwarf_diename(&type);
  if (name == nullptr) return false;
  const std::string_view text = name;
  return text.starts_with("atomic<") || text.starts_with("__atomic_base<") || text.starts_with("atomic_ref<") ||
         text == "atomic_flag" || text == "__atomic_flag_base";
}

class AtomicDataWalk {
 public:
  explicit AtomicDataWalk(std::vector<AddressRange>& ranges, Dwarf_Addr bias) : ranges_(ranges), bias_(bias) {}

  void visit(Dwarf_Die& parent, int depth) {
    Dwarf_Die child;
    if (depth > kDeepestNesting || dwarf_child(&parent, &child) != 0) return;
    do {
      switch (dwarf_tag(&child)) {
        case DW_TAG_variable:
          add_variable(child);
          break;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:  // has static variables of its own
        case DW_TAG_lexical_block:
          visit(child, depth + 1);
          break;
        default:
          break;
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

 private:
  void add_variable(Dwarf_Die& variable) {
    Dwarf_Attribute location;
    Dwarf_Op* expression = nullptr;
    std::size_t length = 0;
    if (dwarf_attr(&variable, DW_AT_location, &location) == nullptr ||
        dwarf_getlocation(&location, &expression, &length) != 0 || length != 1 || expression[0].atom != DW_OP_addr) {
      return;
    }
    Dwarf_Attribute value;
    Dwarf_Die type;
    if (dwarf_formref_die(dwarf_attr_integrate(&variable, DW_AT_type, &value), &type) == nullptr) return;
    add_type(type, expression[0].number + bias_, 0);
  }

  void add_type(Dwarf_Die type, std::uint64_t address, int depth) {
    if (depth > kDeepestType) return;
    Dwarf_Word size = 0;
    switch (dwarf_tag(&type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
        return add_type_of(type, address, depth);
      case DW_TAG_atomic_type:
        if (dwarf_aggregate_size(&type, &size) == 0 && size != 0) ranges_.push_back({address, address + size});
        return;
      case DW_TAG_array_type:
        return add_elements(type, address, depth);
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
        if (!is_atomic_class(type)) return add_members(type, address, depth);
        if (dwarf_aggregate_size(&type, &size) == 0 && size != 0) ranges_.push_back({address, address + size});
        return;
      default:
        return;
    }
  }

  void add_type_of(Dwarf_Die& die, std::uint64_t address, int depth) {
    Dwarf_Attribute value;
    Dwarf_Die type;
    if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &value), &type) != nullptr) {
      add_type(type, address, depth + 1);
    }
  }

  void add_elements(Dwarf_Die& array, std::uint64_t address, int depth) {
    Dwarf_Attribute value;
    Dwarf_Die element;
    Dwarf_Word whole = 0;
    Dwarf_Word one = 0;
    if (dwarf_formref_die(dwarf_attr_integrate(&array, DW_AT_type, &value), &element) == nullptr ||
        dwarf_aggregate_size(&array, &whole) != 0 || dwarf_aggregate_size(&element, &one) != 0 || one == 0) {
      return;
    }
    for (std::uint64_t number = 0; number < std::min(whole / one, kMostElements); ++number) {
      const std::size_t before = ranges_.size();
      add_type(element, address + number * one, depth + 1);
      if (ranges_.size() == before) return;  // neither have the others
    }
  }

  void add_members(Dwarf_Die& structure, std::uint64_t address, int depth) {
    Dwarf_Die member;
    if (dwarf_child(&structure, &member) != 0) return;
    do {
      const int tag = dwarf_tag(&member);
      if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
      Dwarf_Attribute value;
      Dwarf_Word offset = 0;
      if (dwarf_attr(&member, DW_AT_data_member_location, &value) != nullptr && dwarf_formudata(&value, &offset) != 0) {
        continue;  // a virtual base
      }
      add_type_of(member, address + offset, depth);
    } while (dwarf_siblingof(&member, &member) == 0);
  }

  std::vector<AddressRange>& ranges_;
  Dwarf_Addr bias_;
};

}  // namespace

std::vector<AddressRange> merge_ranges(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& one, const AddressRange& other) { return one.begin < other.begin; });
  std::vector<AddressRange> apart;
  for (const AddressRange& range : ranges) {
    if (!apart.empty() && range.begin <= apart.back().end) {
      apart.back().end = std::max(apart.back().end, range.end);
    } else {
      apart.push_back(range);
    }
  }
  return apart;
}

bool is_in_ranges(const std::vector<AddressRange>& ranges, std::uint64_t address) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](std::uint64_t wanted, const AddressRange& range) { return wanted < range.end; });
  return after != ranges.end() && after->begin <= address;
}

std::vector<AddressRange> atomic_data_by_debug_information(const std::string& path) {
  std::vector<AddressRange> ranges;
  for_each_debug_unit(path, [&](Dwarf_Die& unit, Dwarf_Addr bias) { AtomicDataWalk(ranges, bias).visit(unit, 0); });
  return merge_ranges(std::move(ranges));
}

}  // namespace deadheat
