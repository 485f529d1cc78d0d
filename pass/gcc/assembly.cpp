// SPDX-License-Identifier: Apache-2.0
#include "../assembly_text.h"
#include "accesses.h"
#include "source_accesses.h"

namespace deadheat::gcc_pass {

namespace {

using pass::AssemblyText;
using pass::IndirectOperand;

// One place in memory that the statement accesses.
struct Place {
  tree address = NULL_TREE;
  HOST_WIDE_INT size = 0;
  bool reads = false;
  bool writes = false;
};

struct Statement {
  const gasm& code;
  AssemblyText text;
  auto_vec<Place> places;

  // Outputs are numbered first.
  [[nodiscard]] tree operand(unsigned number) const {
    if (number < gimple_asm_noutputs(&code)) return TREE_VALUE(gimple_asm_output_op(&code, number));
    number -= gimple_asm_noutputs(&code);
    return number < gimple_asm_ninputs(&code) ? TREE_VALUE(gimple_asm_input_op(&code, number)) : NULL_TREE;
  }

  void add(tree address, HOST_WIDE_INT size, bool reads, bool writes) {
    for (Place& place : places) {
      if (!operand_equal_p(place.address, address) || place.size != size) continue;
      place.reads |= reads;
      place.writes |= writes;
      return;
    }
    Place place;
    place.address = address;
    place.size = size;
    place.reads = reads;
    place.writes = writes;
    places.safe_push(place);
  }
};

void add_memory(Statement& statement, tree operand, bool reads, bool writes) {
  if (!is_in_memory(operand) || is_private_or_constant(operand)) return;
  statement.add(address_of(operand), size_of(operand), reads, writes);
}

void add_indirect(Statement& statement, const IndirectOperand& indirect) {
  const tree pointer = statement.operand(indirect.pointer);
  if (pointer == NULL_TREE || !POINTER_TYPE_P(TREE_TYPE(pointer))) return;
  HOST_WIDE_INT size = indirect.size;
  if (size == 0 && indirect.partner >= 0) {
    const tree partner = statement.operand(static_cast<unsigned>(indirect.partner));
    if (partner != NULL_TREE) size = size_of(partner);
  }
  if (size > 0) statement.add(pointer, size, indirect.reads, indirect.writes);
}

bool clobbers_memory(const gasm& code) {
  for (unsigned at = 0; at < gimple_asm_nclobbers(&code); ++at) {
    if (strcmp(TREE_STRING_POINTER(TREE_VALUE(gimple_asm_clobber_op(&code, at))), "memory") == 0) return true;
  }
  return false;
}

bool has_atomic_size(const Place& place) {
  return place.size == 1 || place.size == 2 || place.size == 4 || place.size == 8;
}

tree atomic_hook(const Place& place, const char* operation, bool takes_value) {
  const tree number = build_nonstandard_integer_type(static_cast<unsigned>(place.size) * 8, 1);
  char name[64];
  snprintf(name, sizeof name, "__tsan_atomic%d_%s", static_cast<int>(place.size) * 8, operation);
  if (!takes_value) return hook(name, number, {ptr_type_node, integer_type_node});
  return hook(name, number, {ptr_type_node, number, integer_type_node});
}

// The hook that hands on comes before the statement, the one that takes over comes when the statement is
// done. The hooks leave the value as it is.
void hand_on(gimple_stmt_iterator at, const Statement& statement) {
  Insertion before(at);
  Insertion after(at);
  for (const Place& place : statement.places) {
    if (!has_atomic_size(place)) continue;
    const tree number = build_nonstandard_integer_type(static_cast<unsigned>(place.size) * 8, 1);
    const tree order = build_int_cst(integer_type_node, place.reads ? MEMMODEL_ACQ_REL : MEMMODEL_RELEASE);
    if (place.writes)
      before.call(atomic_hook(place, "fetch_or", true), {place.address, build_int_cst(number, 0), order});
    if (place.reads)
      after.call(atomic_hook(place, "load", false),
                 {place.address, build_int_cst(integer_type_node, MEMMODEL_ACQUIRE)});
  }
  before.before();
  after.after();
}

void fence(gimple_stmt_iterator at) {
  Insertion before(at);
  before.call(hook("__tsan_atomic_thread_fence", void_type_node, {integer_type_node}),
              {build_int_cst(integer_type_node, MEMMODEL_SEQ_CST)});
  before.before();
}

void check_plainly(gimple_stmt_iterator at, const Statement& statement, bool all) {
  Insertion before(at);
  for (const Place& place : statement.places) {
    if (!all && has_atomic_size(place)) continue;
    before.check(place.writes ? Kind::kWrite : Kind::kRead, place.address, build_int_cst(size_type_node, place.size));
  }
  before.before();
}

}  // namespace

void check_assembly(gasm& code, gimple_stmt_iterator at) {
  Statement statement{code, pass::read_assembly(gimple_asm_string(&code), '%'), {}};
  if (!statement.text.has_instructions) return;
  for (unsigned index = 0; index < gimple_asm_noutputs(&code); ++index) {
    const tree output = gimple_asm_output_op(&code, index);
    const char* const constraint = TREE_STRING_POINTER(TREE_VALUE(TREE_PURPOSE(output)));
    add_memory(statement, TREE_VALUE(output), strchr(constraint, '+') != nullptr, true);
  }
  for (unsigned index = 0; index < gimple_asm_ninputs(&code); ++index) {
    add_memory(statement, TREE_VALUE(gimple_asm_input_op(&code, index)), true, false);
  }
  for (const IndirectOperand& indirect : statement.text.indirect) add_indirect(statement, indirect);
  const bool orders = statement.text.is_atomic || clobbers_memory(code);
  check_plainly(at, statement, !orders);
  if (statement.text.is_fence) fence(at);
  if (orders) hand_on(at, statement);
}

}  // namespace deadheat::gcc_pass
