// SPDX-License-Identifier: Apache-2.0
// A race that the user has declared harmless.
#include "turns.h"

void AnnotateBenignRaceSized(const char* file, int line, const volatile void* begin, size_t size, const char* why);

int counters[4];

static void step(void) {
  for (int i = 0; i < 4; i++) counters[i]++;
}

int main(void) {
  AnnotateBenignRaceSized(__FILE__, __LINE__, counters, sizeof counters, "statistics");
  in_turn(step, step);
  return 0;
}
