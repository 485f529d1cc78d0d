// SPDX-License-Identifier: Apache-2.0
// The first thread has a lock for writing, the second has it for reading afterwards. Both
// write `version` outside of it.
#include "hidden.h"

pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
int table;
int version;

void update() {
  version = 1;  // race rwlock_reader_late
  late_if_reversed();
  pthread_rwlock_wrlock(&table_lock);
  table = 7;
  pthread_rwlock_unlock(&table_lock);
}

void look_up() {
  usually_late();
  pthread_rwlock_rdlock(&table_lock);
  use(table);
  pthread_rwlock_unlock(&table_lock);
  version = 2;  // race rwlock_reader_late
}

int main() { run_together(update, look_up); }
