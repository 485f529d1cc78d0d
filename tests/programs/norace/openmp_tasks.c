// Tasks of OpenMP: taskwait, taskgroup, taskloop, dependences, copies of what a task takes with it.
// flags: -fopenmp
// libraries: -fopenmp
#include <omp.h>
#include <stdlib.h>

int numbers[200], from_task, written, read_once, read_again, chain, left, right, counted;

static int fibonacci(int n) {
  int one, other;
  if (n < 2) return n;
#pragma omp task shared(one)
  one = fibonacci(n - 1);
#pragma omp task shared(other)
  other = fibonacci(n - 2);
#pragma omp taskwait
  return one + other;
}

static void dependences(void) {
#pragma omp task depend(out : written)
  written = 1;
#pragma omp task depend(in : written)
  read_once = written;
#pragma omp task depend(in : written)
  read_again = written;
#pragma omp task depend(inout : written)
  written += 1;
#pragma omp task depend(mutexinoutset : chain)
  chain += 2;
#pragma omp task depend(mutexinoutset : chain)
  chain += 3;
#pragma omp task depend(in : chain, written)
  left = chain + written;
#pragma omp taskwait
  if (read_once != 1 || read_again != 1 || left != 7) abort();
}

static void groups(void) {
#pragma omp taskgroup
  {
#pragma omp task
    {
#pragma omp task
      right = 5;
    }
  }
  if (right != 5) abort();
#pragma omp taskloop grainsize(10)
  for (int i = 0; i < 200; i++) numbers[i] += i;
  for (int i = 0; i < 200; i++) {
    if (numbers[i] != i) abort();
  }
}

static void copies(void) {
  int values[4];
  for (int i = 0; i < 4; i++) values[i] = i;
  for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(values, i)
    {
      values[0] += i;
#pragma omp critical
      counted += values[0] + values[3];
    }
  }
  values[0] = 100;  // the tasks have their own
#pragma omp taskwait
  if (counted != 75) abort();
#pragma omp task if (0)
  from_task = 1;
  from_task += 1;
#pragma omp task final(1)
  {
#pragma omp task
    from_task += 1;
#pragma omp taskwait
  }
}

int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    {
      if (fibonacci(9) != 34) abort();
      dependences();
      groups();
      copies();
#pragma omp taskwait
#pragma omp task
      from_task += 1;
    }
    // The barrier of the single waits for its tasks.
    if (from_task != 4) abort();
#pragma omp for
    for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
      numbers[i] = -1;
    }
    for (int i = 0; i < 8; i++) {
      if (numbers[i] != -1) abort();
    }
#pragma omp barrier
#pragma omp task
    {
#pragma omp atomic
      counted++;
    }
  }
  return counted == 79 ? 0 : 1;
}
