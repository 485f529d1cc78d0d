// Tasks of OpenMP that nothing orders.
// flags: -fopenmp
// libraries: -fopenmp
#include <omp.h>

#include "order.h"

int not_waited_for, siblings, one_way, grandchild, place[4];

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      not_waited_for = 1;  // race: A
      order_reach_at(&place[0], 1);
    }
    order_await_at(&place[0], 1);  // so the other thread runs it
    use(not_waited_for);           // race: A
#pragma omp taskwait

#pragma omp task
    {
      siblings++;  // race: B
      order_meet(&place[1], 2);
    }
#pragma omp task if (0)
    {
      order_meet(&place[1], 2);
      siblings++;  // race: B
    }
#pragma omp taskwait

#pragma omp task depend(out : one_way)
    {
      one_way = 1;  // race: C
      order_reach_at(&place[2], 1);
    }
    order_await_at(&place[2], 1);
    one_way++;  // race: C
#pragma omp taskwait

    // taskwait waits for children only; but it may run others meanwhile, in the thread that waits.
#pragma omp task
    {
#pragma omp task
      {
        order_await_at(&place[3], 1);
        grandchild = 1;  // race: D?
        order_reach_at(&place[3], 2);
      }
      order_reach_at(&place[3], 1);
    }
#pragma omp taskwait
    order_await_at(&place[3], 2);
    grandchild++;  // race: D?
  }
  return 0;
}
