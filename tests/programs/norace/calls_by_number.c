// SPDX-License-Identifier: Apache-2.0
// System calls by number: what the kernel hands on from who makes one to who makes the other.
#include "turns.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int word, guarded, handed[3], handed_signal, pipe_ends[2], lock_word;
static int waiter_number;

static void lock_pi(void) {
  const int own = (int)syscall(SYS_gettid);
  if (!__sync_bool_compare_and_swap(&lock_word, 0, own)) {
    if (syscall(SYS_futex, &lock_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) != 0) abort();
  }
}
static void unlock_pi(void) {
  const int own = (int)syscall(SYS_gettid);
  if (!__sync_bool_compare_and_swap(&lock_word, own, 0))
    syscall(SYS_futex, &lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}
static void* count(void* unused) {
  for (int i = 0; i < 200; i++) {
    lock_pi();
    guarded++;
    unlock_pi();
  }
  return unused;
}

// A thread that waits for the word is told by nothing but the call.
static void* wait_for_word(void* unused) {
  order_reach(1);
  while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) != 0) continue;
  if (handed[0] != 1) abort();
  return unused;
}

static void* read_pipe(void* unused) {
  char byte;
  if (syscall(SYS_read, pipe_ends[0], &byte, 1) != 1 || byte != 'a') abort();
  if (handed[1] != 2) abort();
  return unused;
}

static void on_signal(int number) {
  if (handed[2] != 3) abort();
  order_store(&handed_signal, number);
}
static void* wait_for_signal(void* unused) {
  order_store(&waiter_number, (int)syscall(SYS_gettid));
  order_reach(2);
  order_await_at(&handed_signal, SIGUSR1);
  return unused;
}

int main(void) {
  pthread_t one, other;
  pthread_create(&one, NULL, count, NULL);
  count(NULL);
  pthread_join(one, NULL);

  pthread_create(&one, NULL, wait_for_word, NULL);
  order_await(1);
  handed[0] = 1;
  while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0) continue;
  pthread_join(one, NULL);

  if (syscall(SYS_pipe2, pipe_ends, 0) != 0) abort();
  pthread_create(&one, NULL, read_pipe, NULL);
  handed[1] = 2;
  if (syscall(SYS_write, pipe_ends[1], "a", 1) != 1) abort();
  pthread_join(one, NULL);

  signal(SIGUSR1, on_signal);
  pthread_create(&other, NULL, wait_for_signal, NULL);
  order_await(2);
  handed[2] = 3;
  if (syscall(SYS_tgkill, getpid(), order_load(&waiter_number), SIGUSR1) != 0) abort();
  pthread_join(other, NULL);
  return guarded == 400 ? 0 : 1;
}
