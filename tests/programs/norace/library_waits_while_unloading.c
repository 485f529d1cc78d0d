// SPDX-License-Identifier: Apache-2.0
// A library's destructor waits for a thread that calls functions of the C library for the
// first time. dlclose holds a lock of the dynamic linker meanwhile, so nothing that the thread
// calls may ask the linker for anything.
// plugin: library_waits_plugin.cpp
// record: no (which functions are called for the first time is the point)
#include "turns.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

static char buffer[256];
static int calls;

static void count_call(void) { calls++; }
static void ignore(int number) { (void)number; }
static int return_nothing(void* unused) { return unused != NULL; }

static void call_text(void) {
  strcpy(buffer, opaque_text("one,two"));
  strncat(buffer, opaque_text(",three"), opaque(6));
  use(strcasecmp(buffer, opaque_text("x")) + strncmp(buffer, opaque_text("y"), opaque(3)));
  use((long)(strpbrk(buffer, "?") == NULL) + (strstr(buffer, opaque_text("two")) != NULL) + (long)strcspn(buffer, "?"));
  free(strdup(opaque_text("copy")));
  use((long)strtol(opaque_text("12"), NULL, 10) + atoi(opaque_text("13")) + tolower((int)opaque('A')));
  wchar_t wide[8];
  wcscpy(wide, L"wide");
  use((long)wcslen(wide) + (wmemchr(wide, L'd', 4) != NULL));
  memmove(buffer + 1, buffer, opaque(5));
  use(memcmp(buffer, buffer + 1, opaque(4)));
}

static void call_streams(void) {
  int number = 0;
  snprintf(buffer, opaque(sizeof buffer), "%d %s", 5, "text");
  sscanf(buffer, "%d", &number);
  FILE* stream = fopen("/dev/null", "r+");
  fprintf(stream, "%d\n", number);
  fputs("line\n", stream);
  fwrite(buffer, 1, 4, stream);
  rewind(stream);
  use(fgets(buffer, sizeof buffer, stream) == NULL);
  fclose(stream);
}

static void call_locks(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_spinlock_t spinning;
  pthread_barrier_t barrier;
  pthread_once_t once = PTHREAD_ONCE_INIT;
  sem_t semaphore;
  mtx_t plain;
  struct timespec past = {0, 0};
  pthread_mutex_trylock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &past);
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_timedlock(&mutex, &past);
  pthread_rwlock_tryrdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  pthread_spin_init(&spinning, 0);
  pthread_spin_lock(&spinning);
  pthread_spin_unlock(&spinning);
  pthread_barrier_init(&barrier, NULL, 1);
  pthread_barrier_wait(&barrier);
  pthread_barrier_destroy(&barrier);
  pthread_once(&once, count_call);
  sem_init(&semaphore, 0, 1);
  sem_trywait(&semaphore);
  sem_post(&semaphore);
  sem_destroy(&semaphore);
  mtx_init(&plain, mtx_plain);
  mtx_lock(&plain);
  mtx_unlock(&plain);
  mtx_destroy(&plain);
}

static void call_system(void) {
  int ends[2];
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  if (pipe(ends) != 0) abort();
  if (write(ends[1], "x", 1) != 1 || read(ends[0], buffer, 1) != 1) abort();
  close(dup(ends[0]));
  close(ends[0]);
  close(ends[1]);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  if (send(ends[0], "y", 1, 0) != 1 || recv(ends[1], buffer, 1, 0) != 1) abort();
  close(ends[0]);
  close(ends[1]);
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page = mremap(page, 4096, 8192, MREMAP_MAYMOVE);
  munmap(page, 8192);
  ucontext_t context;
  getcontext(&context);
  thrd_t thread;
  if (thrd_create(&thread, return_nothing, NULL) != thrd_success) abort();
  thrd_join(thread, NULL);
}

static void* call_all(void* unused) {
  call_text();
  call_streams();
  call_locks();
  call_system();
  return unused;
}

static void wait_for_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_all, NULL) != 0) abort();
  pthread_join(thread, NULL);
}

int main(int count, char** arguments) {
  void* library = dlopen(arguments[count - 1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
  void (**at_end)(void);
  *(void**)&at_end = dlsym(library, "at_end");
  *at_end = wait_for_thread;
  dlclose(library);
  return calls == 1 ? 0 : 1;
}
