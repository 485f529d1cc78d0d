// SPDX-License-Identifier: Apache-2.0
// Large blocks of changing sizes, at other borders each time, by threads that pass
// nothing on: what was swept in one block says nothing about the next.
// record: fasttrack (millions of bytes, one by one)
#include "turns.h"

enum { kThreads = 3, kRounds = 60 };

static void sweep(char* bytes, int size, int step) {
  int at;
  for (at = 0; at < size; at += step) bytes[at] = (char)at;
}

static void body(int thread) {
  char* blocks[4] = {0, 0, 0, 0};
  int round;
  for (round = 0; round < kRounds; round++) {
    const int which = (round * 7 + thread) % 4;
    const int size = 20000 + (round * 52711 + thread * 9973) % 400000;
    free(blocks[which]);
    blocks[which] = (char*)malloc(size);
    sweep(blocks[which], size, 1 + round % 5);
  }
  for (round = 0; round < 4; round++) free(blocks[round]);
}

int main(void) {
  at_once(kThreads, body);
  return 0;
}
