// The order that OpenMP makes in loops and regions: schedules, reductions, sections, single, master, critical,
// atomic, ordered, barriers, copies, nested regions.
// flags: -fopenmp
// libraries: -fopenmp
#include <omp.h>
#include <stdlib.h>

#define COUNT 400
int first[COUNT], second[COUNT], rows[8][50];
long sum, product_of_signs = 1;
int largest, in_critical, in_named, in_atomic, from_single, from_master, sections_done[3], ordered_at;
int list[COUNT];
int lastly;
int private_to_thread;
#pragma omp threadprivate(private_to_thread)

static void loops(void) {
#pragma omp parallel for
  for (int i = 0; i < COUNT; i++) first[i] = i;
#pragma omp parallel for schedule(dynamic, 7)
  for (int i = 0; i < COUNT; i++) second[i] = first[COUNT - 1 - i];
#pragma omp parallel for schedule(guided) reduction(+ : sum) reduction(max : largest) reduction(* : product_of_signs)
  for (int i = 0; i < COUNT; i++) {
    sum += second[i];
    if (second[i] > largest) largest = second[i];
    product_of_signs *= -1;
  }
#pragma omp parallel for schedule(runtime) lastprivate(lastly)
  for (int i = 0; i < COUNT; i++) lastly = first[i] + (int)sum;
#pragma omp parallel for collapse(2) schedule(static, 3)
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 50; j++) rows[i][j] = i * j;
}

static void two_loops_in_a_region(void) {
#pragma omp parallel
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < COUNT; i++) first[i] += 1;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < COUNT; i++) second[i] = first[COUNT - 1 - i];
#pragma omp for schedule(static)
    for (int i = 0; i < COUNT; i++) second[i] += 1;
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
      list[ordered_at++] = i;
    }
  }
}

static void sections_and_single(void) {
  int copied = 0;
#pragma omp parallel firstprivate(copied)
  {
    private_to_thread = omp_get_thread_num();
#pragma omp critical
    in_critical++;
#pragma omp critical(name)
    in_named++;
#pragma omp atomic
    in_atomic++;
#pragma omp single
    from_single = 3;
    if (from_single != 3) abort();
#pragma omp single copyprivate(copied)
    copied = from_single + 1;
    if (copied != 4) abort();
#pragma omp master
    from_master = copied;
#pragma omp barrier
    if (from_master != 4) abort();
#pragma omp sections
    {
#pragma omp section
      sections_done[0] = from_master;
#pragma omp section
      sections_done[1] = from_master;
#pragma omp section
      sections_done[2] = from_master;
    }
    if (sections_done[0] + sections_done[1] + sections_done[2] != 12) abort();
    if (private_to_thread != omp_get_thread_num()) abort();
  }
#pragma omp parallel sections
  {
#pragma omp section
    sections_done[0] = 0;
#pragma omp section
    sections_done[1] = 0;
  }
}

static void nested(void) {
  int totals[2] = {0, 0};
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    int outer = omp_get_thread_num();
    totals[outer] = 1;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      totals[outer] += 1;
#pragma omp barrier
#pragma omp master
      totals[outer] *= 2;
    }
    totals[outer] += 1;
  }
  if (totals[0] != 7 || totals[1] != 7) abort();
}

// Each iteration waits for that before it.
static void waiting_iterations(void) {
  static int chain[COUNT];
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (int i = 1; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1)
    chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
  }
  if (chain[49] != 49) abort();
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_num_threads(4);
  loops();
  two_loops_in_a_region();
  sections_and_single();
  nested();
  waiting_iterations();
  return sum == COUNT * (COUNT - 1) / 2 && in_critical == 4 && in_named == 4 && in_atomic == 4 && ordered_at == COUNT ? 0 : 1;
}
