// SPDX-License-Identifier: Apache-2.0
// The older names for announced locks.
#include "turns.h"

void AnnotateRWLockCreate(const char* file, int line, const volatile void* lock);
void AnnotateRWLockDestroy(const char* file, int line, const volatile void* lock);
void AnnotateRWLockAcquired(const char* file, int line, const volatile void* lock, long is_writer);
void AnnotateRWLockReleased(const char* file, int line, const volatile void* lock, long is_writer);

int lock;
int data;

static void step(void) {
  AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
  data++;
  AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
}

int main(void) {
  AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
  in_turn_3(step, step, step);
  AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
  return data == 3 ? 0 : 1;
}
