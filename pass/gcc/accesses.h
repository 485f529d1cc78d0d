// SPDX-License-Identifier: Apache-2.0
// Calls of the runtime around statements of a function, in gcc's own form of code.
#pragma once

#include "gcc.h"

namespace deadheat::gcc_pass {

enum class Kind : unsigned char { kRead, kWrite };

// An operand that lies in memory and is not empty: not in a register, not a constant.
[[nodiscard]] bool is_in_memory(tree operand);

// Nobody but the running function can know where it is, or nobody ever writes it.
[[nodiscard]] bool is_private_or_constant(tree operand);

[[nodiscard]] tree address_of(tree operand);
// In bytes; 0 if it is not known when compiling.
[[nodiscard]] HOST_WIDE_INT size_of(tree operand);

// A function of the runtime, by its name in the object file.
[[nodiscard]] tree hook(const char* name, tree result, std::initializer_list<tree> parameters);

// Statements that are to run before or after another one.
class Insertion {
 public:
  explicit Insertion(gimple_stmt_iterator at) : at_(at) {}

  // Calls the function with these arguments, which may be expressions.
  void call(tree function, std::initializer_list<tree> arguments, tree result = NULL_TREE);
  void check(Kind kind, tree address, tree size);
  // An expression as an operand.
  [[nodiscard]] tree value_of(tree expression);
  // The expression in a variable of its own; returns the variable's address.
  [[nodiscard]] tree in_memory(tree expression);

  void before();
  // Where the statement has come to its end without an exception. False: there is no such place.
  bool after();

 private:
  void place_them();

  gimple_stmt_iterator at_;
  gimple_seq statements_ = nullptr;
};

}  // namespace deadheat::gcc_pass
