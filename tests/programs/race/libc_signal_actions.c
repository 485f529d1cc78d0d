// SPDX-License-Identifier: Apache-2.0
// The action of a signal, asked for and set by structures of the program.
#include <signal.h>

#include "../support/turns.h"

struct sigaction asked_for;
struct sigaction set;

static void library(void) {
  use(sigaction(SIGUSR1, NULL, &asked_for));  // race: asked
  use(sigaction(SIGUSR2, &set, NULL));        // race: set
}

static void program(void) {
  use(asked_for.sa_flags);    // race: asked
  set.sa_flags = SA_RESTART;  // race: set
}

int main(void) {
  in_turn(library, program);
  return 0;
}
