// SPDX-License-Identifier: Apache-2.0
// A structure is assigned as a whole; another thread reads its last field. A second one is
// cleared, and its first field written.
#include "turns.h"

#include <string.h>

struct Account {
  long number;
  long balance;
  int flags;
  char kind;
};
struct Account account;
struct Account other;
struct Account source = {1, 2, 3, 4};

static void assign(void) {
  account = source;                 // race: assigned
  memset(&other, 0, sizeof other);  // race: cleared
}

static void look(void) {
  use(account.kind);  // race: assigned
  other.number = 7;   // race: cleared
}

int main(void) {
  in_turn(assign, look);
  return 0;
}
