// SPDX-License-Identifier: Apache-2.0
// Mappings instead of the heap: swept, unmapped, mapped again by another thread.
// record: fasttrack (millions of bytes, one by one)
#include "turns.h"

#include <sys/mman.h>

enum { kBytes = 1 << 20, kThreads = 3 };

static void body(int thread) {
  int round;
  for (round = 0; round < 10; round++) {
    int index;
    long* numbers = (long*)mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (numbers == MAP_FAILED) abort();
    for (index = 0; index < kBytes / 8; index++) numbers[index] = thread;
    if (numbers[17] != thread) abort();
    if (round % 2 == 0 && munmap((char*)numbers + kBytes / 2, kBytes / 2) != 0) abort();
    munmap(numbers, round % 2 == 0 ? kBytes / 2 : kBytes);
  }
}

int main(void) {
  at_once(kThreads, body);
  return 0;
}
