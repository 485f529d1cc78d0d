// SPDX-License-Identifier: Apache-2.0
// An array of structures: each thread has a field of its own, and they share one
// byte of flags by mistake.
#include "turns.h"

enum { kElements = 20000 };

struct Particle {
  double place;
  float speed;
  char left;
  char right;
  char padding[2];
};

struct Particle* particles;

static void move_left(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    particles[index].place = index;
    particles[index].left = 1;  // race
  }
}

static void move_right(void) {
  int index;
  for (index = 0; index < kElements; index++) {
    particles[index].speed = 2;
    particles[index].right = 1;
  }
  particles[kElements - 3].left = 2;  // race
}

int main(void) {
  particles = (struct Particle*)calloc(kElements, sizeof(struct Particle));
  in_turn(move_left, move_right);
  free(particles);
  return 0;
}
