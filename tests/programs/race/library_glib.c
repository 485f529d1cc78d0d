// SPDX-License-Identifier: Apache-2.0
// With GLib: another lock, and a queue that says nothing of what comes after.
// package: glib-2.0
#include "order.h"

#include <glib.h>

GMutex one;
GMutex other;
GAsyncQueue* queue;
int guarded;
int late;

static gpointer first(gpointer data) {
  g_mutex_lock(&one);
  guarded = 1;  // race: guarded
  g_mutex_unlock(&one);
  g_async_queue_push(queue, &queue);
  late = 1;  // race: late
  order_reach(1);
  order_await(2);
  return data;
}

static gpointer second(gpointer data) {
  order_await(1);
  g_mutex_lock(&other);
  guarded = 2;  // race: guarded
  g_mutex_unlock(&other);
  use((long)g_async_queue_pop(queue));
  late = 2;  // race: late
  order_reach(2);
  return data;
}

int main(void) {
  GThread* threads[2];
  queue = g_async_queue_new();
  threads[0] = g_thread_new("first", first, NULL);
  threads[1] = g_thread_new("second", second, NULL);
  g_thread_join(threads[0]);
  g_thread_join(threads[1]);
  return 0;
}
