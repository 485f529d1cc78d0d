// SPDX-License-Identifier: Apache-2.0
// Data handed over through a pair of sockets.
// options: io_sync=1
#include "turns.h"

#include <sys/socket.h>
#include <unistd.h>

int ends[2];
int data;

static void body(int index) {
  char byte = 'x';
  for (int i = 0; i < 50; i++) {
    if (index == 1 && recv(ends[1], &byte, 1, 0) != 1) abort();
    data++;
    if (send(ends[index], &byte, 1, 0) != 1) abort();
    if (index == 0 && recv(ends[0], &byte, 1, 0) != 1) abort();
  }
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  at_once(2, body);
  return data == 100 ? 0 : 1;
}
