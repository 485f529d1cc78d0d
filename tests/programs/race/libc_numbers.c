// SPDX-License-Identifier: Apache-2.0
// Random numbers, sorting, searching, second results of arithmetic.
// record: fasttrack (several calls write the same bytes; it names the first one, too)
// flags: -lm
#include "../support/turns.h"

#include <fenv.h>
#include <math.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static int compare(const void* left, const void* right) { return *(const int*)left - *(const int*)right; }
static int compare_at(const void* left, const void* right, void* order) {
  return (*(const int*)left - *(const int*)right) * *(int*)order;
}
int sorted[64], sorted_at[64], upwards = 1, list[16], key = 9;
size_t listed = 4;
void* tree;
char bytes[16], entropy[16];
double whole, sine, cosine;
float float_whole, float_sine, float_cosine;
long double extended_whole;
int exponent, bits, sign_of_gamma, float_exponent;
unsigned short sequence[3], sequence_of_ints[3];
struct drand48_data state;
struct random_data random_state;
char random_memory[64];
double uniform;
int32_t number;
long whole_number;
unsigned seed;
fenv_t environment;
char digits[32], shortest[32];
int point, sign, other_point, other_sign;
char other_digits[16];
struct hsearch_data table;
ENTRY item = {"key", 0};
ENTRY* found;
double numbers[16];

static void library(void) {
  qsort(sorted, 64, sizeof(int), compare);                                   // race: qsort
  qsort_r(sorted_at, 64, sizeof(int), compare_at, &upwards);                 // race: qsort_r
  lsearch(&key, list, &listed, sizeof(int), compare);                        // race: lsearch
  lsearch(&numbers, list + 8, (size_t*)&numbers[8], sizeof(int), compare);   // race: lsearch_count
  tsearch(&key, &tree, compare);                                             // race: tsearch
  hcreate_r(10, &table);                                                     // race: hcreate_r
  hsearch_r(item, ENTER, &found, &table);                                    // race: hsearch_r
  hcreate(8);                                                                // race: hsearch
  use(getrandom(bytes, 16, 0));                                              // race: getrandom
  use(getentropy(entropy, 16));                                              // race: getentropy
  modf(opaque(7) + 0.5, &whole);                                             // race: modf
  modff(opaque(7) + 0.5F, &float_whole);                                     // race: modff
  modfl(opaque(7) + 0.5L, &extended_whole);                                  // race: modfl
  frexp((double)opaque(7), &exponent);                                       // race: frexp
  frexpf((float)opaque(7), &float_exponent);                                 // race: frexpf
  remquo((double)opaque(7), 3, &bits);                                       // race: remquo
  sincos((double)opaque(7), &sine, &cosine);                                 // race: sincos
  sincosf((float)opaque(7), &float_sine, &float_cosine);                     // race: sincosf
  lgamma_r((double)opaque(7), &sign_of_gamma);                               // race: lgamma_r
  erand48(sequence);                                                         // race: erand48
  nrand48(sequence_of_ints);                                                 // race: nrand48
  use((long)drand48());                                                      // race: drand48
  drand48_r(&state, &uniform);                                               // race: drand48_r
  lrand48_r(&state, &whole_number);                                          // race: lrand48_r
  initstate_r(1, random_memory, 64, &random_state);                          // race: initstate_r
  random_r(&random_state, &number);                                          // race: random_r
  use(rand_r(&seed));                                                        // race: rand_r
  fegetenv(&environment);                                                    // race: fegetenv
  ecvt_r((double)opaque(7), 4, &other_point, &sign, digits, sizeof digits);  // race: ecvt_r
  ecvt_r((double)opaque(7), 4, &point, &other_sign, other_digits, 16);       // race: ecvt_r_point
  gcvt((double)opaque(7), 4, shortest);                                      // race: gcvt
  if (getloadavg(numbers, 3) < 1) numbers[0] = 1;                            // race: getloadavg
}

static void program(void) {
  sorted[63] = 1;               // race: qsort
  use(sorted_at[0]);            // race: qsort_r
  use(list[4]);                 // race: lsearch
  ((size_t*)numbers)[8] = 0;    // race: lsearch_count
  tfind(&key, &tree, compare);  // race: tsearch
  use(table.size);              // race: hcreate_r
  use(found != 0);              // race: hsearch_r
  hcreate(9);                   // race: hsearch
  use(bytes[15]);               // race: getrandom
  entropy[0] = 1;               // race: getentropy
  use((long)whole);             // race: modf
  use((long)float_whole);       // race: modff
  use((long)extended_whole);    // race: modfl
  use(exponent);                // race: frexp
  float_exponent = 1;           // race: frexpf
  use(bits);                    // race: remquo
  use((long)cosine);            // race: sincos
  float_sine = 0;               // race: sincosf
  use(sign_of_gamma);           // race: lgamma_r
  use(sequence[1]);             // race: erand48
  sequence_of_ints[2] = 1;      // race: nrand48
  use((long)drand48());         // race: drand48
  use((long)uniform);           // race: drand48_r
  use(whole_number);            // race: lrand48_r
  use(random_memory[63]);       // race: initstate_r
  use(number);                  // race: random_r
  use(seed);                    // race: rand_r
  memset(&environment, 0, 1);   // race: fegetenv
  use(digits[0]);               // race: ecvt_r
  use(point);                   // race: ecvt_r_point
  use(shortest[0]);             // race: gcvt
  use((long)numbers[0]);        // race: getloadavg
}

int main(void) {
  in_turn(library, program);
  return 0;
}
