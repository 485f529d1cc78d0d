// The locks of OpenMP.
// flags: -fopenmp
// libraries: -fopenmp
#include <omp.h>

omp_lock_t lock, hinted;
omp_nest_lock_t nested;
int counter, tried, depth, with_hint;

int main(void) {
  omp_init_lock(&lock);
  omp_init_lock(&hinted);
  omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 20; i++) {
    omp_set_lock(&lock);
    counter++;
    omp_unset_lock(&lock);
    while (!omp_test_lock(&hinted)) {
    }
    with_hint++;
    omp_unset_lock(&hinted);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    depth++;
    omp_unset_nest_lock(&nested);
    depth++;
    omp_unset_nest_lock(&nested);
    if (omp_test_nest_lock(&nested)) {
      depth += 0;
      omp_unset_nest_lock(&nested);
    }
    if (omp_test_lock(&lock)) {
      tried = counter;
      omp_unset_lock(&lock);
    }
  }
  omp_destroy_lock(&lock);
  omp_destroy_lock(&hinted);
  omp_destroy_nest_lock(&nested);
  return counter == 80 && depth == 160 && with_hint == 80 ? 0 : 1;
}
