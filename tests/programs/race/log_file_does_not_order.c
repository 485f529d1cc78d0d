// SPDX-License-Identifier: Apache-2.0
// Two threads that write to the same file are not ordered by it.
#include "turns.h"

#include <fcntl.h>
#include <unistd.h>

int file;
int data;

static void first(void) {
  data = 1;  // race
  if (write(file, "x", 1) != 1) abort();
}

static void second(void) {
  if (write(file, "y", 1) != 1) abort();
  use(data);  // race
}

int main(void) {
  file = open("/dev/null", O_WRONLY);
  in_turn(first, second);
  return 0;
}
