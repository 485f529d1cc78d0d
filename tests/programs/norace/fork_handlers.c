// SPDX-License-Identifier: Apache-2.0
// pthread_atfork handlers hold the program's lock over the fork.
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void before(void) { pthread_mutex_lock(&lock); }
static void after(void) { pthread_mutex_unlock(&lock); }

static void body(int index) {
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
    if (index == 0) {
      pid_t child = fork();
      if (child == 0) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
  }
}

int main(void) {
  pthread_atfork(before, after, after);
  at_once(3, body);
  return shared == 30 ? 0 : 1;
}
