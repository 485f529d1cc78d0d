// SPDX-License-Identifier: Apache-2.0
// Accesses that depend on conditions, which hold once: whatever the optimiser makes of
// them, they are there. The counterpart of norace/invented_reads.c.
// flags: -mavx2
#include "turns.h"

enum { kCount = 64 };
int promoted;
int counted;
int read_in_loop;
int chosen;
int other;
struct {
  int left;
  int right;
} pair_chosen, pair_other;
int chosen_or_local;
int masked[kCount];
int wide[32];
int wanted[kCount];
int from_callee[2];
int loaded_once;
int data[kCount];

static void promote(int turns, int met) {
  int at;
  for (at = 0; at < turns; at++) {
    if (at == met) promoted += 3;  // race: promoted
  }
}

static void count(int turns, int id) {
  int at;
  for (at = 0; at < turns; at++) {
    if (at + id == 9) counted++;  // race: counted
    data[at] += at;
  }
}

static int read_under_condition(int turns, int id) {
  int at;
  int sum = 0;
  for (at = 0; at < turns; at++) {
    sum += at;
    if (at == id) sum ^= read_in_loop;  // race: read
  }
  return sum;
}

// Nothing is written on this way, though the loop may write.
static int read_or_write(int turns, int write) {
  int at;
  int sum = 0;
  for (at = 0; at < turns; at++) {
    if (at == 5) sum += loaded_once;  // race: once
    if (at == write) loaded_once = 2;
  }
  return sum;
}

static int choose(int second) { return second ? chosen : other; }  // race: chosen

static int choose_field(int second) { return second ? pair_chosen.right : pair_other.right; }  // race: field

static int choose_local(int second, int value) {
  int local = value;
  const int* place = second ? &chosen_or_local : &local;  // race: local
  return *place;                                          // race: local
}

static void add_masked(int* to, int turns) {
  int at;
  for (at = 0; at < turns; at++) {
    if (wanted[at]) to[at] += masked[at];  // race: masked
  }
}

static int sum_masked(void) {
  int at;
  int sum = 0;
  for (at = 0; at < 32; at++) {
    if (wanted[at]) sum += wide[at];  // race: wide
  }
  return sum;
}

static __attribute__((noinline)) int callee(const int* at, int id) { return id == 7 ? *at : id; }  // race: callee

static void first(void) {
  int turns = (int)opaque(kCount);
  int never = (int)opaque(1000);
  int id = (int)opaque(7);
  int yes = (int)opaque(1);
  int local[kCount] = {0};
  promote(turns, turns - 1);
  count(turns, id);
  use(read_under_condition(turns, id));
  use(read_or_write(turns, never));
  use(choose(yes));
  use(choose_field(yes));
  use(choose_local(yes, id));
  add_masked((int*)opaque((size_t)local), turns);
  use(sum_masked());
  use(callee(&from_callee[0], id) + callee(&from_callee[1], id));
}

static void second(void) {
  promoted = 1;           // race: promoted
  counted = 1;            // race: counted
  read_in_loop = 1;       // race: read
  loaded_once = 1;        // race: once
  chosen = 1;             // race: chosen
  pair_chosen.right = 1;  // race: field
  chosen_or_local = 1;    // race: local
  masked[5] = 1;          // race: masked
  wide[5] = 1;            // race: wide
  from_callee[1] = 1;     // race: callee
}

int main(void) {
  wanted[5] = 1;
  in_turn(first, second);
  return 0;
}
