// SPDX-License-Identifier: Apache-2.0
// Accesses that depend on conditions, which do not hold: an optimiser may read the
// variable all the same, but the program does not.
// levels: -O0 -O1 -O2 -O3
// tsan: reports reads before loops, and of both sides of a choice
#include "turns.h"

enum { kCount = 64 };
int promoted;
int counted;
int of_empty_loop;
int read_in_loop;
int chosen;
int other;
struct {
  int left;
  int right;
} pair_chosen, pair_other;
int masked[kCount];
int wide[32];
int from_callee[2];
int reloaded;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int adjacent[2];
int data[kCount];
int wanted[kCount];

static void promote(int turns, int met) {
  int at;
  for (at = 0; at < turns; at++) {
    if (at == met) promoted += 3;
  }
}

static void count(int turns, int id) {
  int at;
  for (at = 0; at < turns; at++) {
    if (id == 0) counted++;
    data[at] += at;
  }
}

static void loop_of_no_turns(int turns) {
  int at;
  for (at = 0; at < turns; at++) of_empty_loop += data[at];
}

static int read_under_condition(int turns, int id) {
  int at;
  int sum = 0;
  for (at = 0; at < turns; at++) {
    sum += at;
    if (id == 0) sum ^= read_in_loop;
  }
  return sum;
}

static int choose(int second) { return second ? chosen : other; }

static int choose_field(int second) { return second ? pair_chosen.right : pair_other.right; }

static int choose_local(int second, int value) {
  int local = value;
  const int* place = second ? &chosen : &local;
  return *place;
}

static void add_masked(int* to, int turns) {
  int at;
  for (at = 0; at < turns; at++) {
    if (wanted[at]) to[at] += masked[at];
  }
}

static int sum_masked(void) {
  int at;
  int sum = 0;
  for (at = 0; at < 32; at++) {
    if (wanted[at]) sum += wide[at];
  }
  return sum;
}

static __attribute__((noinline)) int callee(const int* at, int id) { return id == 0 ? *at : id; }

// The variable is given away on the way that does not come back to it.
static int read_again(int turns, int last) {
  int at = 0;
  pthread_mutex_lock(&mutex);
  for (;;) {
    if (reloaded == 1) return at;
    if (at == last) pthread_mutex_unlock(&mutex);
    if (++at >= turns) break;
  }
  return 0;
}

static int adjacent_fields(int second) {
  int value;
  if (second) {
    value = adjacent[0];
  } else {
    value = adjacent[1];
  }
  return value;
}

static void first(void) {
  int turns = (int)opaque(kCount);
  int never = (int)opaque(1000);
  int id = (int)opaque(7);
  int no = (int)opaque(0);
  int local[kCount] = {0};
  promote(turns, never);
  count(turns, id);
  loop_of_no_turns(no);
  use(read_under_condition(turns, id));
  use(choose(no));
  use(choose_field(no));
  use(choose_local(no, id));
  add_masked((int*)opaque((size_t)local), turns);
  use(sum_masked());
  use(callee(&from_callee[0], id) + callee(&from_callee[1], id));
  use(adjacent_fields(no));
  use(read_again(turns, turns - 1));
}

static void second(void) {
  promoted = 1;
  counted = 1;
  of_empty_loop = 1;
  read_in_loop = 1;
  chosen = 1;
  pair_chosen.right = 1;
  masked[5] = 1;
  wide[5] = 1;
  from_callee[0] = 1;
  from_callee[1] = 1;
  adjacent[0] = 1;
  pthread_mutex_lock(&mutex);
  reloaded = 2;
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  in_turn(first, second);
  return promoted != 1 || counted != 1;
}
