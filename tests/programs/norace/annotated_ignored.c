// SPDX-License-Identifier: Apache-2.0
// Accesses between the marks are not checked.
#include "turns.h"

void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);

int data;
int other;

static void first(void) {
  data = 1;
  use(other);
}

static void second(void) {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  use(data);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  other = 1;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

int main(void) {
  in_turn(first, second);
  return 0;
}
