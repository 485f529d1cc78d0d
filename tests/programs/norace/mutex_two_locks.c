// SPDX-License-Identifier: Apache-2.0
// Data that need both locks to be written and either to be read.
#include "turns.h"

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void body(int index) {
  for (int i = 0; i < 300; i++) {
    if (index == 0) {
      pthread_mutex_lock(&left);
      pthread_mutex_lock(&right);
      shared++;
      pthread_mutex_unlock(&right);
      pthread_mutex_unlock(&left);
    } else {
      pthread_mutex_t* mine = index % 2 == 0 ? &left : &right;
      pthread_mutex_lock(mine);
      use(shared);
      pthread_mutex_unlock(mine);
    }
  }
}

int main(void) {
  at_once(4, body);
  return shared == 300 ? 0 : 1;
}
