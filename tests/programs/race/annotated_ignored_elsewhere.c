// SPDX-License-Identifier: Apache-2.0
// What comes after the marks is checked again.
#include "turns.h"

void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);

int data;
int other;

static void first(void) {
  data = 1;
  other = 1;  // race
}

static void second(void) {
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  data = 2;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  other = 2;  // race
}

int main(void) {
  in_turn(first, second);
  return 0;
}
