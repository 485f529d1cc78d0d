// SPDX-License-Identifier: Apache-2.0
// The caller reads what it hands over, and writes what it gets, whoever copies it.
#include "accesses.h"
#include "source_accesses.h"

namespace deadheat::gcc_pass {

namespace {

void check(Insertion& insertion, Kind kind, tree operand) {
  insertion.check(kind, address_of(operand), build_int_cst(size_type_node, size_of(operand)));
}

bool is_to_be_checked(tree operand) { return is_in_memory(operand) && !is_private_or_constant(operand); }

}  // namespace

void check_values(gcall& call, gimple_stmt_iterator at) {
  Insertion arguments(at);
  for (unsigned index = 0; index < gimple_call_num_args(&call); ++index) {
    const tree argument = gimple_call_arg(&call, index);
    if (is_to_be_checked(argument)) check(arguments, Kind::kRead, argument);
  }
  arguments.before();
  const tree result = gimple_call_lhs(&call);
  if (!is_to_be_checked(result)) return;
  Insertion written(at);
  check(written, Kind::kWrite, result);
  written.after();
}

}  // namespace deadheat::gcc_pass
