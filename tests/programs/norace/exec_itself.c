// SPDX-License-Identifier: Apache-2.0
// A program that replaces itself, with threads behind it.
#include "turns.h"

#include <stdlib.h>
#include <unistd.h>

int counter;

static void body(int index) { __atomic_fetch_add(&counter, index, __ATOMIC_RELAXED); }

int main(int count, char** arguments) {
  at_once(4, body);
  if (counter != 6) return 1;
  if (getenv("DEADHEAT_TEST_SECOND") != NULL) return 0;
  setenv("DEADHEAT_TEST_SECOND", "1", 1);
  execv("/proc/self/exe", arguments);
  return count + 1;
}
