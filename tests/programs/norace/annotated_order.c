// SPDX-License-Identifier: Apache-2.0
// Hand-made synchronisation, announced with the functions of TSan's interface.
#include "turns.h"

#include <sanitizer/tsan_interface.h>

void AnnotateHappensBefore(const char* file, int line, const volatile void* tag);
void AnnotateHappensAfter(const char* file, int line, const volatile void* tag);

int data[2];
int tags[2];

static void first(void) {
  data[0] = 1;
  __tsan_release(&tags[0]);
  data[1] = 1;
  AnnotateHappensBefore(__FILE__, __LINE__, &tags[1]);
}

static void second(void) {
  __tsan_acquire(&tags[0]);
  data[0]++;
  AnnotateHappensAfter(__FILE__, __LINE__, &tags[1]);
  data[1]++;
}

int main(void) {
  in_turn(first, second);
  return 0;
}
