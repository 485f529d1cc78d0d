// SPDX-License-Identifier: Apache-2.0
// The same for sockets.
#include "turns.h"

#include <sys/socket.h>

char outgoing[64];
char incoming[64];
int ends[2];

static void first(void) {
  outgoing[10] = 1;   // race: out
  use(incoming[10]);  // race: in
}

static void second(void) {
  use(send(ends[0], outgoing, sizeof outgoing, 0));  // race: out
  use(recv(ends[1], incoming, sizeof incoming, 0));  // race: in
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  in_turn(first, second);
  return 0;
}
