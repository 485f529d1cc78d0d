// SPDX-License-Identifier: Apache-2.0
// The child of a parent with threads creates threads behind a lock.
// tsan: dies in the child
#include "turns.h"

#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void body(int index) {
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  use(index);
}

static void* idle(void* argument) {
  order_await(100);
  return argument;
}

int main(void) {
  pthread_t thread;
  int status = 0;
  pthread_create(&thread, NULL, idle, NULL);
  pid_t child = fork();
  if (child == 0) {
    at_once(4, body);
    _exit(counter == 400 ? 0 : 1);
  }
  waitpid(child, &status, 0);
  order_reach(100);
  pthread_join(thread, NULL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
