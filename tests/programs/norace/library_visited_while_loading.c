// SPDX-License-Identifier: Apache-2.0
// One thread loads a library while another is in a callback of dl_iterate_phdr and
// calls functions of the C library for the first time. The callback holds a lock that
// dlopen waits for, so nothing that it calls may wait for dlopen.
// plugin: library_reloaded_plugin.cpp
// record: no (which functions are called for the first time is the point)
#include "turns.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

static int loader_number;  // of the thread that loads
static int visits;

// Whether the loader waits for something in the kernel: by now, our lock.
static int loader_waits(void) {
  char text[512];
  snprintf(text, sizeof text, "/proc/self/task/%d/stat", loader_number);
  int file = open(text, O_RDONLY);
  long size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (size <= 0) abort();
  close(file);
  text[size] = 0;
  return strrchr(text, ')')[2] == 'S';
}

static int visit(struct dl_phdr_info* module, size_t size, void* argument) {
  (void)size;
  (void)argument;
  if (visits++ != 0) return 0;
  order_reach(1);
  order_await(2);
  while (!loader_waits()) sched_yield();
  return strcasecmp(opaque_text(module->dlpi_name), "?") == 0 || strpbrk(opaque_text("name"), "?") != NULL;
}

static void* look_at_modules(void* unused) {
  dl_iterate_phdr(visit, NULL);
  return unused;
}

int main(int count, char** arguments) {
  loader_number = (int)syscall(SYS_gettid);
  loader_waits();  // all that it needs has been called before
  pthread_t looker;
  if (pthread_create(&looker, NULL, look_at_modules, NULL) != 0) abort();
  order_await(1);
  order_reach(2);
  if (dlopen(arguments[count - 1], RTLD_NOW | RTLD_LOCAL) == NULL) abort();
  pthread_join(looker, NULL);
  return visits > 1 ? 0 : 1;
}
