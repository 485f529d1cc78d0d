// SPDX-License-Identifier: Apache-2.0
// A child between two threads: a filter on pipes, a forked one on sockets, one behind popen, and
// semaphores and locks in memory that it shares.
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct Shared {
  sem_t there;
  sem_t back;
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  pthread_barrier_t barriers[2];
  int turn;
};

struct Shared* shared;
int to_filter[2];
int from_filter[2];
int sockets[2];
int set;
int by_filter;
int by_sockets;
int by_semaphores;
int by_condition;
int by_barriers;
int by_set;
int by_end;
int children[2];

static void change(int number, int by) {
  struct sembuf operation = {(unsigned short)number, (short)by, 0};
  if (semop(set, &operation, 1) != 0) abort();
}

static void await_turn(int turn) {
  pthread_mutex_lock(&shared->mutex);
  while (shared->turn != turn) pthread_cond_wait(&shared->condition, &shared->mutex);
  pthread_mutex_unlock(&shared->mutex);
}

static void give_turn(int turn) {
  pthread_mutex_lock(&shared->mutex);
  shared->turn = turn;
  pthread_mutex_unlock(&shared->mutex);
  pthread_cond_broadcast(&shared->condition);
}

static void run_filter(void) {
  dup2(to_filter[0], 0);
  dup2(from_filter[1], 1);
  close(to_filter[1]);
  close(from_filter[0]);
  execlp("cat", "cat", (char*)NULL);
  _exit(9);
}

static void run_child(void) {
  char byte;
  if (recv(sockets[1], &byte, 1, 0) != 1 || send(sockets[1], &byte, 1, 0) != 1) _exit(1);
  if (sem_wait(&shared->there) != 0 || sem_post(&shared->back) != 0) _exit(2);
  await_turn(1);
  give_turn(2);
  pthread_barrier_wait(&shared->barriers[0]);
  pthread_barrier_wait(&shared->barriers[1]);
  change(0, -1);
  change(1, 1);
  if (read(sockets[1], &byte, 1) != 1) _exit(3);
  _exit(0);
}

static void give_filter(void) {
  by_filter = 1;
  if (write(to_filter[1], "x", 1) != 1) abort();
}
static void take_filter(void) {
  char byte;
  if (read(from_filter[0], &byte, 1) != 1) abort();
  by_filter++;
}

static void give_sockets(void) {
  by_sockets = 1;
  if (send(sockets[0], "y", 1, 0) != 1) abort();
}
static void take_sockets(void) {
  char byte;
  if (read(sockets[0], &byte, 1) != 1) abort();
  by_sockets++;
}

static void give_semaphore(void) {
  by_semaphores = 1;
  sem_post(&shared->there);
}
static void take_semaphore(void) {
  if (sem_wait(&shared->back) != 0) abort();
  by_semaphores++;
}

static void give_condition(void) {
  by_condition = 1;
  give_turn(1);
}
static void take_condition(void) {
  await_turn(2);
  by_condition++;
}

static void give_barrier(void) {
  by_barriers = 1;
  pthread_barrier_wait(&shared->barriers[0]);
}
static void take_barrier(void) {
  pthread_barrier_wait(&shared->barriers[1]);
  by_barriers++;
}

static void give_set(void) {
  by_set = 1;
  change(0, 1);
}
static void take_set(void) {
  change(1, -1);
  by_set++;
}

static void give_end(void) {
  by_end = 1;
  if (write(sockets[0], "z", 1) != 1) abort();
}
static void take_end(void) {
  int status = 1;
  if (waitpid(children[1], &status, 0) != children[1] || status != 0) abort();
  by_end++;
}

static void make_shared(void) {
  pthread_mutexattr_t mutex;
  pthread_condattr_t condition;
  pthread_barrierattr_t barrier;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_init(&barrier);
  pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
  sem_init(&shared->there, 1, 0);
  sem_init(&shared->back, 1, 0);
  pthread_mutex_init(&shared->mutex, &mutex);
  pthread_cond_init(&shared->condition, &condition);
  pthread_barrier_init(&shared->barriers[0], &barrier, 2);
  pthread_barrier_init(&shared->barriers[1], &barrier, 2);
}

int main(void) {
  make_shared();
  set = semget(IPC_PRIVATE, 2, 0600);
  if (set < 0 || pipe(to_filter) != 0 || pipe(from_filter) != 0) return 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  children[0] = fork();
  if (children[0] == 0) run_filter();
  children[1] = fork();
  if (children[1] == 0) run_child();
  close(to_filter[0]);
  close(from_filter[1]);
  in_turn(give_filter, take_filter);
  order_store(&order_now, 0);
  in_turn(give_sockets, take_sockets);
  order_store(&order_now, 0);
  in_turn(give_semaphore, take_semaphore);
  order_store(&order_now, 0);
  in_turn(give_condition, take_condition);
  order_store(&order_now, 0);
  in_turn(give_barrier, take_barrier);
  order_store(&order_now, 0);
  in_turn(give_set, take_set);
  order_store(&order_now, 0);
  in_turn(give_end, take_end);
  close(to_filter[1]);
  waitpid(children[0], NULL, 0);
  semctl(set, 0, IPC_RMID);
  if (by_filter != 2 || by_sockets != 2 || by_semaphores != 2 || by_condition != 2) return 2;
  return by_barriers == 2 && by_set == 2 && by_end == 2 ? 0 : 3;
}
