#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# instruction_budget.sh DEADHEAT: compiles one access each with `deadheat cc -O2` and
# counts the instructions of its fast path: from the computation of the cell's
# address to the branch. It is the price of every access of every program.
set -euo pipefail

deadheat="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failures=0

# budget NAME LIMIT CODE: the function `access` of the code may take so many.
budget() {
  local name="$1" limit="$2" count
  printf '%s\n' "$3" >"$work/access.c"
  "$deadheat" cc --cc=clang-19 --pass=compact -O2 -c "$work/access.c" -o "$work/access.o"
  # A function that calls nobody begins with the check, after the stack is aligned; the
  # check ends at the first branch.
  count="$(objdump -d --no-show-raw-insn --disassemble=access "$work/access.o" |
    awk -F'\t' '/\tpush/ { next } NF >= 2 && /^ / { ++count } /\tj[a-z]+ / { print count; exit }')"
  if ((count > limit)); then
    echo "$name takes $count instructions, more than $limit:"
    objdump -d --no-show-raw-insn --disassemble=access "$work/access.o"
    failures=$((failures + 1))
  else
    echo "$name: $count instructions (at most $limit)"
  fi
}

budget "a read of 8 bytes" 10 'long access(long* p) { return *p; }'
budget "a write of 8 bytes" 10 'void access(long* p) { *p = 1; }'
budget "a read of 4 bytes" 16 'int access(int* p) { return *p; }'
budget "a write of 1 byte" 16 'void access(char* p) { *p = 1; }'
budget "two fields of 8 bytes" 14 'long access(long* p) { return p[0] + p[1]; }'
((failures == 0))
