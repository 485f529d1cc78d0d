// SPDX-License-Identifier: Apache-2.0
// The order that libuv makes: its locks, its pool of threads, handles that other threads wake up.
// levels: -O2 (what the library does is the same)
// package: libuv
#include <stdlib.h>
#include <uv.h>

uv_async_t handle;
uv_mutex_t mutex;
uv_rwlock_t shared_lock;
uv_barrier_t barrier;
uv_sem_t semaphore;
uv_once_t once = UV_ONCE_INIT;
int initialised, by_mutex, by_shared_lock, by_semaphore, sum, seen;
int posted;

static void initialise(void) { initialised = 1; }

static void lock_all(void* argument) {
  int round;
  uv_once(&once, initialise);
  if (!initialised) abort();
  for (round = 0; round < 100; round++) {
    uv_mutex_lock(&mutex);
    by_mutex++;
    uv_mutex_unlock(&mutex);
    uv_rwlock_wrlock(&shared_lock);
    by_shared_lock++;
    uv_rwlock_wrunlock(&shared_lock);
  }
  uv_barrier_wait(&barrier);
  (void)argument;
}

static void post(void* argument) {
  by_semaphore = 5;
  uv_sem_post(&semaphore);
  (void)argument;
}

static void work(uv_work_t* request) { *(int*)request->data += 1; }
static void on_done(uv_work_t* request, int status) { sum += *(int*)request->data + status; }

static void on_wake_up(uv_async_t* woken) {
  seen = posted;
  uv_close((uv_handle_t*)woken, NULL);
}

static void wake_up(void* argument) {
  posted = 3;
  uv_async_send(&handle);
  (void)argument;
}

int main(void) {
  uv_loop_t* loop = uv_default_loop();
  uv_thread_t threads[3];
  uv_work_t requests[20];
  int numbers[20], index;
  uv_mutex_init(&mutex);
  uv_rwlock_init(&shared_lock);
  uv_barrier_init(&barrier, 3);
  uv_sem_init(&semaphore, 0);
  for (index = 0; index < 3; index++) uv_thread_create(&threads[index], lock_all, NULL);
  for (index = 0; index < 3; index++) uv_thread_join(&threads[index]);
  uv_thread_create(&threads[0], post, NULL);
  uv_sem_wait(&semaphore);
  by_semaphore++;
  uv_thread_join(&threads[0]);
  for (index = 0; index < 20; index++) {
    numbers[index] = index;
    requests[index].data = &numbers[index];
    uv_queue_work(loop, &requests[index], work, on_done);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  uv_async_init(loop, &handle, on_wake_up);
  uv_thread_create(&threads[0], wake_up, NULL);
  uv_run(loop, UV_RUN_DEFAULT);
  uv_thread_join(&threads[0]);
  uv_loop_close(loop);
  return sum == 19 * 10 + 20 && by_mutex == 300 && by_shared_lock == 300 && by_semaphore == 6 && seen == 3 ? 0 : 1;
}
