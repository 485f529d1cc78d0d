// SPDX-License-Identifier: Apache-2.0
// The lock of a stream: taken by the program, and held while a stream of its own calls it.
#define _GNU_SOURCE
#include "turns.h"

#include <stdio.h>
#include <string.h>

FILE* shared;
int guarded;

struct Sink {
  int calls;
  int bytes;
  int is_closed;
};
struct Sink sink;

static ssize_t take(void* cookie, const char* text, size_t size) {
  struct Sink* to = (struct Sink*)cookie;
  use(text[0]);
  to->calls++;
  to->bytes += (int)size;
  return (ssize_t)size;
}

static int end(void* cookie) {
  ((struct Sink*)cookie)->is_closed = 1;
  return 0;
}

static void lock_it(void) {
  flockfile(shared);
  flockfile(shared);
  guarded++;
  funlockfile(shared);
  guarded++;
  funlockfile(shared);
}

static void try_it(void) {
  while (ftrylockfile(shared) != 0) {
  }
  guarded++;
  fputs("more", shared);
  funlockfile(shared);
}

static void write_it(int index) {
  int round;
  for (round = 0; round < 20; round++) {
    if (fprintf(shared, "%d %d\n", index, round) < 0) abort();
    if (fflush(shared) != 0) abort();
  }
}

int main(void) {
  cookie_io_functions_t functions;
  memset(&functions, 0, sizeof functions);
  functions.write = take;
  functions.close = end;
  shared = fopencookie(&sink, "w", functions);
  if (shared == NULL) return 2;
  in_turn(lock_it, try_it);
  at_once(3, write_it);
  if (fclose(shared) != 0) return 3;
  return guarded == 3 && sink.is_closed == 1 && sink.bytes > 60 && sink.calls >= 3 ? 0 : 1;
}
