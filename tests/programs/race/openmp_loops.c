// Accesses that loops and regions of OpenMP do not order.
// flags: -fopenmp
// libraries: -fopenmp
#include <omp.h>

#include "order.h"

#define COUNT 64
int total, counter, after_nowait[COUNT], from_single, shifted[COUNT + 1];
int places[5];

static void no_reduction(void) {
#pragma omp parallel num_threads(2)
  {
    total += omp_get_thread_num();  // race: A
    order_meet(&places[0], 2);
  }
}

static void critical_on_one_side(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp critical
      counter++;  // race: B
    } else {
      counter++;  // race: B
    }
    order_meet(&places[1], 2);
  }
}

static void nowait(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < COUNT; i++) after_nowait[i] = i;  // race: C
    use(after_nowait[COUNT - 1 - omp_get_thread_num() * (COUNT - 1)]);  // race: C
    order_meet(&places[2], 2);
  }
}

static void single_without_barrier(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    from_single = 1;  // race: D
    order_meet(&places[3], 2);
    use(from_single);  // race: D
    order_meet(&places[3], 4);
  }
}

static void neighbours(void) {
#pragma omp parallel for schedule(static) num_threads(2)
  for (int i = 0; i < COUNT; i++) {
    shifted[i] = shifted[i + 1] + 1;  // race: E
    if (i == 0 || i == COUNT - 1) order_meet(&places[4], 2);
  }
}

int main(void) {
  omp_set_dynamic(0);
  no_reduction();
  critical_on_one_side();
  nowait();
  single_without_barrier();
  neighbours();
  return 0;
}
