// SPDX-License-Identifier: Apache-2.0
// system, popen, posix_spawn, vfork and exec, from several threads.
#include "turns.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int status_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) abort();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void body(int index) {
  char* const words[] = {"sh", "-c", "exit 3", NULL};
  char text[16];
  pid_t child;

  if (index == 0 && WEXITSTATUS(system("exit 3")) != 3) abort();

  if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) != 0) abort();
  if (status_of(child) != 3) abort();

  child = vfork();
  if (child == 0) {
    execv("/bin/sh", words);
    _exit(9);
  }
  if (status_of(child) != 3) abort();

  FILE* pipe = popen("echo hello", "r");
  if (fgets(text, sizeof text, pipe) == NULL || text[0] != 'h') abort();
  pclose(pipe);

  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
    _exit(9);
  }
  if (status_of(child) != 3) abort();
}

int main(void) {
  at_once(3, body);
  return 0;
}
