// SPDX-License-Identifier: Apache-2.0
// Locks of files that keep no thread out: one open file description for both threads, locks of
// the process, another range, another file, only readers.
#include "turns.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

char path[2][64];
int common;
int one_description;
int of_process;
int by_lockf;
int other_range;
int other_file;
int readers;

static int open_file(int which) {
  const int file = open(path[which], O_RDWR);
  if (file < 0) abort();
  return file;
}

static void lock_range(int file, int command, int type, long begin, long size) {
  struct flock range = {0};
  range.l_type = (short)type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = size;
  if (fcntl(file, command, &range) != 0) abort();
}

static void first(void) {
  const int file = open_file(0);
  flock(common, LOCK_EX);
  one_description = 1;  // race: description
  flock(common, LOCK_UN);
  lock_range(common, F_SETLKW, F_WRLCK, 0, 1);
  of_process = 1;  // race: process
  lock_range(common, F_SETLKW, F_UNLCK, 0, 1);
  lockf(common, F_LOCK, 1);
  by_lockf = 1;  // race: lockf
  lockf(common, F_ULOCK, 1);
  lock_range(file, F_OFD_SETLKW, F_WRLCK, 10, 5);
  other_range = 1;  // race: range
  lock_range(file, F_OFD_SETLKW, F_UNLCK, 10, 5);
  lock_range(file, F_OFD_SETLKW, F_WRLCK, 30, 5);
  other_file = 1;  // race: file
  lock_range(file, F_OFD_SETLKW, F_UNLCK, 30, 5);
  lock_range(file, F_OFD_SETLKW, F_RDLCK, 40, 5);
  readers = 1;  // race: readers
  lock_range(file, F_OFD_SETLKW, F_UNLCK, 40, 5);
}

static void second(void) {
  const int file = open_file(0);
  const int another = open_file(1);
  flock(common, LOCK_EX);
  use(one_description);  // race: description
  flock(common, LOCK_UN);
  lock_range(common, F_SETLKW, F_WRLCK, 0, 1);
  use(of_process);  // race: process
  lock_range(common, F_SETLKW, F_UNLCK, 0, 1);
  lockf(common, F_LOCK, 1);
  use(by_lockf);  // race: lockf
  lockf(common, F_ULOCK, 1);
  lock_range(another, F_OFD_SETLKW, F_WRLCK, 30, 5);
  use(other_file);  // race: file
  lock_range(another, F_OFD_SETLKW, F_UNLCK, 30, 5);
  lock_range(file, F_OFD_SETLKW, F_RDLCK, 40, 5);
  use(readers);  // race: readers
  lock_range(file, F_OFD_SETLKW, F_UNLCK, 40, 5);
  lock_range(file, F_OFD_SETLKW, F_WRLCK, 15, 5);
  use(other_range);  // race: range
  lock_range(file, F_OFD_SETLKW, F_UNLCK, 15, 5);
}

int main(void) {
  int i;
  for (i = 0; i < 2; i++) {
    snprintf(path[i], sizeof path[i], "/tmp/deadheat-race-locks-%d-%d", (int)getpid(), i);
    close(open(path[i], O_CREAT | O_RDWR, 0600));
  }
  common = open_file(0);
  in_turn(first, second);
  for (i = 0; i < 2; i++) unlink(path[i]);
  return 0;
}
