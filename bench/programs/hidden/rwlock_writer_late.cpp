// SPDX-License-Identifier: Apache-2.0
// The first thread has a lock for reading, the second has it for writing afterwards. The
// second reads what the first has written outside of it.
#include "hidden.h"

pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
int table;
int hint;

void look_up() {
  hint = 1;  // race rwlock_writer_late
  late_if_reversed();
  pthread_rwlock_rdlock(&table_lock);
  use(table);
  pthread_rwlock_unlock(&table_lock);
}

void update() {
  usually_late();
  pthread_rwlock_wrlock(&table_lock);
  table = 7;
  pthread_rwlock_unlock(&table_lock);
  use(hint);  // race rwlock_writer_late
}

int main() { run_together(look_up, update); }
