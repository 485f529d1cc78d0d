// SPDX-License-Identifier: Apache-2.0
// A table by descriptor number, as servers keep their connections: the number is
// given out again only after it was closed.
#include "turns.h"

#include <fcntl.h>
#include <unistd.h>

int connections[1024];

static int open_and_fill(int value) {
  const int number = open("/dev/null", O_RDONLY);
  if (number < 0 || number >= 1024) abort();
  connections[number] = value;
  return number;
}

static int used;

static void first(void) {
  const int number = open_and_fill(1);
  order_store(&used, number);
  connections[number] = 2;
  close(number);
}

static void second(void) {
  const int number = open_and_fill(3);
  if (number != order_load(&used)) abort();
  close(number);
}

int main(void) {
  in_turn(first, second);
  return connections[order_load(&used)] == 3 ? 0 : 1;
}
