// SPDX-License-Identifier: Apache-2.0
// Files that other processes lock, children that posix_spawn starts, signals that one sends back.
#include "turns.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

char path[64];
int file;
int to_child[2];
int from_child[2];
int by_lock;
int by_spawn;
int by_signal;
int child;

static void lock_byte(int command, int type, long byte) {
  struct flock range;
  memset(&range, 0, sizeof range);
  range.l_type = (short)type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  if (fcntl(file, command, &range) != 0) _exit(9);
}

/* Waits for byte 0, gives up byte 1; then answers a signal. */
static void run_child(void) {
  char byte = 'x';
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  lock_byte(F_SETLKW, F_WRLCK, 1);
  if (write(from_child[1], &byte, 1) != 1) _exit(1);
  lock_byte(F_SETLKW, F_WRLCK, 0);
  lock_byte(F_SETLKW, F_UNLCK, 1);
  if (sigwait(&set, &number) != 0 || kill(getppid(), SIGUSR2) != 0) _exit(2);
  _exit(0);
}

static void give_lock(void) {
  by_lock = 1;
  lock_byte(F_SETLKW, F_UNLCK, 0);
}
static void take_lock(void) {
  lock_byte(F_SETLKW, F_WRLCK, 1);
  by_lock++;
}

static void give_signal(void) {
  by_signal = 1;
  kill(child, SIGUSR1);
}
static void take_signal(void) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  if (sigwait(&set, &number) != 0) abort();
  by_signal++;
}

static void write_to_spawned(void) {
  by_spawn = 1;
  if (write(to_child[1], "abc\n", 4) != 4) abort();
  close(to_child[1]);
}

static void read_from_spawned(void) {
  char bytes[8];
  if (read(from_child[0], bytes, 4) != 4 || memcmp(bytes, "ABC\n", 4) != 0) abort();
  by_spawn++;
}

static int spawn(void) {
  char* const arguments[] = {(char*)"tr", (char*)"a-z", (char*)"A-Z", NULL};
  posix_spawn_file_actions_t actions;
  pid_t process;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
  posix_spawn_file_actions_addclose(&actions, to_child[1]);
  posix_spawn_file_actions_addclose(&actions, from_child[0]);
  if (posix_spawnp(&process, "tr", &actions, NULL, arguments, environ) != 0) abort();
  posix_spawn_file_actions_destroy(&actions);
  return process;
}

int main(void) {
  sigset_t set;
  char byte;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  snprintf(path, sizeof path, "/tmp/deadheat-processes-%d", (int)getpid());
  file = open(path, O_CREAT | O_RDWR, 0600);
  if (file < 0 || pipe(to_child) != 0 || pipe(from_child) != 0) return 1;
  unlink(path);
  lock_byte(F_SETLKW, F_WRLCK, 0);
  child = fork();
  if (child == 0) run_child();
  if (read(from_child[0], &byte, 1) != 1) return 2;
  in_turn(give_lock, take_lock);
  order_store(&order_now, 0);
  in_turn(give_signal, take_signal);
  if (waitpid(child, NULL, 0) != child) return 3;
  child = spawn();
  close(to_child[0]);
  close(from_child[1]);
  order_store(&order_now, 0);
  in_turn(write_to_spawned, read_from_spawned);
  if (waitpid(child, NULL, 0) != child) return 4;
  return by_lock == 2 && by_signal == 2 && by_spawn == 2 ? 0 : 5;
}
