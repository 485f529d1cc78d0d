// SPDX-License-Identifier: Apache-2.0
// The order that GLib makes: locks, initialisation, queues, pools of threads, main loops, references.
// levels: -O2 (what the library does is the same)
// package: glib-2.0
#include <glib.h>
#include <stdlib.h>

#define THREADS 3
#define ROUNDS 200

GMutex mutex;
GCond condition;
GRWLock shared_lock;
GRecMutex nested;
GOnce once = G_ONCE_INIT;
gint bits;
int by_mutex, by_shared_lock, by_nested, by_bits, is_ready, initialised, entered;
GAsyncQueue* queue;
GMainLoop* loop;
int from_idle;

static gpointer initialise(gpointer data) {
  initialised = 5;
  return data;
}

static gpointer lock_all(gpointer data) {
  static gsize is_entered;
  int round;
  for (round = 0; round < ROUNDS; round++) {
    g_mutex_lock(&mutex);
    by_mutex++;
    g_mutex_unlock(&mutex);
    if (g_mutex_trylock(&mutex)) {
      by_mutex++;
      g_mutex_unlock(&mutex);
    }
    g_rw_lock_writer_lock(&shared_lock);
    by_shared_lock++;
    g_rw_lock_writer_unlock(&shared_lock);
    g_rw_lock_reader_lock(&shared_lock);
    if (by_shared_lock < 1) abort();
    g_rw_lock_reader_unlock(&shared_lock);
    g_rec_mutex_lock(&nested);
    by_nested++;
    g_rec_mutex_unlock(&nested);
    g_bit_lock(&bits, 3);
    by_bits++;
    g_bit_unlock(&bits, 3);
  }
  g_once(&once, initialise, NULL);
  if (initialised != 5) abort();
  if (g_once_init_enter(&is_entered)) {
    entered = 7;
    g_once_init_leave(&is_entered, 1);
  }
  if (entered != 7) abort();
  return data;
}

static gpointer await_condition(gpointer data) {
  g_mutex_lock(&mutex);
  while (!is_ready) g_cond_wait(&condition, &mutex);
  is_ready++;
  g_mutex_unlock(&mutex);
  return data;
}

static gpointer produce(gpointer data) {
  int index;
  for (index = 1; index <= ROUNDS; index++) {
    int* number = g_new(int, 1);
    *number = index;
    g_async_queue_push(queue, number);
  }
  return data;
}

static void add_one(gpointer number, gpointer by) { *(int*)number += *(int*)by; }

static gboolean on_idle(gpointer data) {
  from_idle += *(int*)data;
  g_main_loop_quit(loop);
  return FALSE;
}

static gpointer post(gpointer data) {
  *(int*)data = 4;
  g_idle_add(on_idle, data);
  return data;
}

struct Counted {
  gatomicrefcount references;
  int number;
};

static gpointer drop(gpointer data) {
  struct Counted* counted = (struct Counted*)data;
  counted->number++;
  if (g_atomic_ref_count_dec(&counted->references)) g_free(counted);
  return data;
}

static gpointer use_everything(gpointer data) {
  int round;
  for (round = 0; round < 20; round++) {
    GString* text = g_string_new("text");
    GHashTable* table = g_hash_table_new(g_str_hash, g_str_equal);
    GDateTime* now = g_date_time_new_now_local();
    GBytes* bytes = g_bytes_new("bytes", 5);
    g_string_append_printf(text, "%d", round);
    g_hash_table_insert(table, (gpointer) "key", text);
    g_quark_from_string("quark");
    g_intern_string("interned");
    g_hash_table_unref(table);
    g_bytes_unref(bytes);
    g_date_time_unref(now);
    g_string_free(text, TRUE);
  }
  return data;
}

static void run_threads(GThreadFunc function) {
  GThread* threads[THREADS];
  int index;
  for (index = 0; index < THREADS; index++) threads[index] = g_thread_new("thread", function, NULL);
  for (index = 0; index < THREADS; index++) g_thread_join(threads[index]);
}

int main(void) {
  int numbers[50], one = 1, posted = 0, index, sum = 0;
  GThread* thread;
  GThreadPool* pool;
  struct Counted* counted = g_new0(struct Counted, 1);

  run_threads(lock_all);
  thread = g_thread_new("waiter", await_condition, NULL);
  g_mutex_lock(&mutex);
  is_ready = 1;
  g_cond_signal(&condition);
  g_mutex_unlock(&mutex);
  g_thread_join(thread);

  queue = g_async_queue_new();
  thread = g_thread_new("producer", produce, NULL);
  for (index = 0; index < ROUNDS; index++) {
    int* number = (int*)g_async_queue_pop(queue);
    sum += *number;
    *number = 0;
    g_free(number);
  }
  g_thread_join(thread);
  g_async_queue_unref(queue);

  pool = g_thread_pool_new(add_one, &one, THREADS, TRUE, NULL);
  for (index = 0; index < 50; index++) {
    numbers[index] = index;
    g_thread_pool_push(pool, &numbers[index], NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  for (index = 0; index < 50; index++) {
    if (numbers[index] != index + 1) abort();
  }

  loop = g_main_loop_new(NULL, FALSE);
  thread = g_thread_new("poster", post, &posted);
  g_main_loop_run(loop);
  posted = 0;
  g_thread_join(thread);

  g_atomic_ref_count_init(&counted->references);
  g_atomic_ref_count_inc(&counted->references);
  thread = g_thread_new("owner", drop, counted);
  if (g_atomic_ref_count_dec(&counted->references)) g_free(counted);
  g_thread_join(thread);

  run_threads(use_everything);
  return by_nested == THREADS * ROUNDS && by_bits == THREADS * ROUNDS && from_idle == 4 && is_ready == 2 &&
                 sum == ROUNDS * (ROUNDS + 1) / 2
             ? 0
             : 1;
}
