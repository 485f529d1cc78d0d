// SPDX-License-Identifier: Apache-2.0
#include "accesses.h"

namespace deadheat::gcc_pass {

namespace {

// Has no member that takes place: handed over by value, nothing of it is read.
bool is_empty(tree type) {
  if (TREE_CODE(type) != RECORD_TYPE) return false;
  for (tree field = TYPE_FIELDS(type); field != NULL_TREE; field = DECL_CHAIN(field)) {
    if (TREE_CODE(field) == FIELD_DECL && !is_empty(TREE_TYPE(field))) return false;
  }
  return true;
}

}  // namespace

bool is_in_memory(tree operand) {
  if (operand == NULL_TREE || TREE_CODE(operand) == WITH_SIZE_EXPR) return false;
  const bool is_variable =
      DECL_P(operand) && (VAR_P(operand) || TREE_CODE(operand) == PARM_DECL || TREE_CODE(operand) == RESULT_DECL);
  if (!is_variable && !REFERENCE_CLASS_P(operand)) return false;
  if (is_gimple_reg(operand) || is_empty(TREE_TYPE(operand))) return false;
  const tree base = get_base_address(operand);
  if (base == NULL_TREE || TREE_CODE(base) == SSA_NAME || is_gimple_reg(base) || CONSTANT_CLASS_P(base)) return false;
  if (VAR_P(base) && DECL_HARD_REGISTER(base)) return false;
  return size_of(operand) > 0;
}

bool is_private_or_constant(tree operand) {
  const tree base = get_base_address(operand);
  if (DECL_P(base) && !is_global_var(base)) {
    pt_solution escaped;
    memset(&escaped, 0, sizeof escaped);
    escaped.escaped = 1;
    escaped.ipa_escaped = flag_ipa_pta != 0 ? 1 : 0;
    return !pt_solution_includes(&escaped, base) || !may_be_aliased(base);
  }
  return TREE_READONLY(base) || may_be_nonaddressable_p(operand);
}

tree address_of(tree operand) { return build_fold_addr_expr(unshare_expr(operand)); }

HOST_WIDE_INT size_of(tree operand) { return int_size_in_bytes(TREE_TYPE(operand)); }

tree hook(const char* name, tree result, std::initializer_list<tree> parameters) {
  tree list = void_list_node;
  for (const tree* parameter = parameters.end(); parameter != parameters.begin();) {
    list = tree_cons(NULL_TREE, *--parameter, list);
  }
  const tree declaration = build_fn_decl(name, build_function_type(result, list));
  TREE_NOTHROW(declaration) = 1;
  DECL_ATTRIBUTES(declaration) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(declaration));
  return declaration;
}

void Insertion::call(tree function, std::initializer_list<tree> arguments, tree result) {
  auto_vec<tree, 6> values;
  for (const tree argument : arguments) values.safe_push(value_of(argument));
  gcall* const statement = gimple_build_call_vec(function, values);
  if (result != NULL_TREE) gimple_call_set_lhs(statement, result);
  gimple_seq_add_stmt(&statements_, statement);
}

void Insertion::check(Kind kind, tree address, tree size) {
  static const char* const kNames[] = {"__tsan_read_range", "__tsan_write_range"};
  call(hook(kNames[static_cast<int>(kind)], void_type_node, {ptr_type_node, size_type_node}),
       {address, fold_convert(size_type_node, size)});
}

tree Insertion::value_of(tree expression) {
  gimple_seq more = nullptr;
  const tree value = force_gimple_operand(expression, &more, true, NULL_TREE);
  gimple_seq_add_seq(&statements_, more);
  return value;
}

tree Insertion::in_memory(tree expression) {
  const tree variable = create_tmp_var(TYPE_MAIN_VARIANT(TREE_TYPE(expression)));
  TREE_ADDRESSABLE(variable) = 1;
  gimple_seq_add_stmt(&statements_, gimple_build_assign(variable, value_of(expression)));
  return build_fold_addr_expr(variable);
}

void Insertion::place_them() {
  const location_t location = gimple_location(gsi_stmt(at_));
  for (gimple_stmt_iterator each = gsi_start(statements_); !gsi_end_p(each); gsi_next(&each)) {
    gimple_set_location(gsi_stmt(each), location);
  }
}

void Insertion::before() {
  if (statements_ == nullptr) return;
  place_them();
  gsi_insert_seq_before(&at_, statements_, GSI_SAME_STMT);
  statements_ = nullptr;
}

bool Insertion::after() {
  if (statements_ == nullptr) return true;
  place_them();
  gimple* const statement = gsi_stmt(at_);
  if (!stmt_ends_bb_p(statement)) {
    gsi_insert_seq_after(&at_, statements_, GSI_CONTINUE_LINKING);
  } else {
    const edge next = find_fallthru_edge(gimple_bb(statement)->succs);
    if (next == nullptr) return false;
    gsi_insert_seq_on_edge(next, statements_);
  }
  statements_ = nullptr;
  return true;
}

}  // namespace deadheat::gcc_pass
