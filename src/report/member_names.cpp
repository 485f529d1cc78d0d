// SPDX-License-Identifier: Apache-2.0
#include "report/member_names.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <optional>

namespace deadheat {

namespace {

constexpr int kDeepestType = 16;

std::optional<std::uint64_t> unsigned_at(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&die, attribute, &value), &number) != 0) return std::nullopt;
  return number;
}

// The type itself, behind its other names and qualifiers.
bool type_of(Dwarf_Die& die, Dwarf_Die& type) {
  Dwarf_Attribute value;
  if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &value), &type) == nullptr) return false;
  Dwarf_Die peeled;
  if (dwarf_peel_type(&type, &peeled) != 0) return false;
  type = peeled;
  return true;
}

std::uint64_t size_of(Dwarf_Die& type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

// The way into the type from outside: ".stats.hits", "[3].n".
std::string way_into(Dwarf_Die& type, std::uint64_t offset, int depth);

std::string way_into_array(Dwarf_Die& type, std::uint64_t offset, int depth) {
  Dwarf_Die element;
  if (!type_of(type, element)) return {};
  const std::uint64_t size = size_of(element);
  if (size == 0) return {};
  return fmt::format("[{}]", offset / size) + way_into(element, offset % size, depth + 1);
}

std::string way_into_structure(Dwarf_Die& type, std::uint64_t offset, int depth) {
  Dwarf_Die child;
  if (dwarf_child(&type, &child) != 0) return {};
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    const auto bits = unsigned_at(child, DW_AT_data_bit_offset);
    const std::uint64_t begin = unsigned_at(child, DW_AT_data_member_location).value_or(bits ? *bits / 8 : 0);
    Dwarf_Die member_type;
    if (dwarf_hasattr(&child, DW_AT_external) != 0 || !type_of(child, member_type)) continue;
    const std::uint64_t size = size_of(member_type);
    if (offset < begin || offset - begin >= size) continue;
    const char* const name = dwarf_diename(&child);
    const std::string own = tag == DW_TAG_inheritance || name == nullptr ? std::string() : fmt::format(".{}", name);
    return own + way_into(member_type, offset - begin, depth + 1);
  } while (dwarf_siblingof(&child, &child) == 0);
  return {};
}

std::string way_into(Dwarf_Die& type, std::uint64_t offset, int depth) {
  if (depth > kDeepestType) return {};
  switch (dwarf_tag(&type)) {
    case DW_TAG_array_type:
      return way_into_array(type, offset, depth);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      return way_into_structure(type, offset, depth);
    default:
      return {};
  }
}

}  // namespace

std::string member_at(Dwarf_Die& variable, std::uint64_t offset) {
  Dwarf_Die type;
  if (!type_of(variable, type)) return {};
  const std::string way = way_into(type, offset, 0);
  const char* const name = dwarf_diename(&type);
  if (!way.starts_with('.')) return way;
  return name == nullptr ? way.substr(1) : fmt::format("{}::{}", name, way.substr(1));
}

}  // namespace deadheat
