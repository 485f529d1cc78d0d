// SPDX-License-Identifier: Apache-2.0
// Operands of inline assembly that lie in memory are accesses. Without a lock prefix, and if the
// compiler is told of no memory that changes, they order nothing.
// levels: -O0 -O1 -O2 -O3
#include "turns.h"

int stored;
int loaded;
long changed;
int counted;
long long exchanged_or_plain;
int behind_pointer;
struct {
  char bytes[100];
} block;

static void first(void) {
  long value;
  __asm__ volatile("movl $7, %0" : "=m"(stored));               // race: stored
  __asm__ volatile("movslq %1, %0" : "=r"(value) : "m"(loaded));  // race: loaded
  use(value);
  __asm__ volatile("addq $1, %0" : "+m"(changed) : : "cc");       // race: changed
  __asm__ volatile("lock; incl %0" : "+m"(counted) : : "cc");     // race: counted
  value = 1;
  __asm__ volatile("xchgq %0, %1" : "+r"(value), "+m"(exchanged_or_plain));  // race: exchanged
  __asm__ volatile("lock addl %k1, (%0)" : : "r"(&behind_pointer), "r"(5L) : "memory", "cc");  // race: pointer
  __asm__ volatile("rep stosb" : "=m"(block), "=c"(value) : "1"(0L), "D"(&block), "a"(0));     // race: block
}

static void second(void) {
  stored = 1;              // race: stored
  loaded = 1;              // race: loaded
  changed = 2;             // race: changed
  use(counted);            // race: counted
  exchanged_or_plain = 5;  // race: exchanged
  use(behind_pointer);     // race: pointer
  block.bytes[99] = 1;     // race: block
}

int main(void) {
  in_turn(first, second);
  return 0;
}
