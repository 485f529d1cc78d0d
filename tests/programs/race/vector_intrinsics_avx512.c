// SPDX-License-Identifier: Apache-2.0
// The same with masks of bits. A machine that has no such instructions makes the same accesses by others.
// levels: -O0 -O1 -O2 -O3
#include <immintrin.h>

#include "turns.h"

#define WIDE __attribute__((target("avx512f,avx512vl,avx512bw"), noinline))

int masked_load[16];
int masked_store[16];
int gathered[64];
long long scattered[64];
int expanded[16];
double compressed[8];
char narrowed[8];
float single;

static WIDE void first_wide(void) {
  const __mmask16 third = (__mmask16)opaque(4);
  const __mmask8 few = (__mmask8)opaque(0x50);
  const __m512i indexes = _mm512_set1_epi32((int)opaque(40));
  __m512i sum = _mm512_maskz_loadu_epi32(third, masked_load);                                // race: load
  _mm512_mask_storeu_epi32(masked_store, third, sum);                                        // race: store
  sum = _mm512_add_epi32(sum, _mm512_mask_i32gather_epi32(sum, third, indexes, gathered, 4));  // race: gather
  _mm512_mask_i64scatter_epi64(scattered, few, _mm512_set1_epi64((long long)opaque(30)), sum, 8);  // race: scatter
  sum = _mm512_add_epi32(sum, _mm512_maskz_expandloadu_epi32((__mmask16)(third | 0x100), expanded));  // race: expand
  _mm512_mask_compressstoreu_pd(compressed, few, _mm512_castsi512_pd(sum));                  // race: compress
  _mm512_mask_cvtepi64_storeu_epi8(narrowed, few, sum);                                      // race: narrow
  const __m128 one = _mm_maskz_load_ss((__mmask8)opaque(1), &single);                        // race: single
  __asm__ volatile("" : : "x"(one));
}

static void first_plain(void) {
  use(masked_load[2]);   // race: load
  masked_store[2] = 1;   // race: store
  use(gathered[40]);     // race: gather
  scattered[30] = 1;     // race: scatter
  use(expanded[1]);      // race: expand
  compressed[1] = 1;     // race: compress
  narrowed[6] = 1;       // race: narrow
  use((long long)single);  // race: single
}

static void first(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    first_wide();
  } else {
    first_plain();
  }
}

// The elements that the masks leave out are touched, too, and that is no race.
static void second(void) {
  masked_load[2] = 1;      // race: load
  masked_load[1] = 1;
  use(masked_store[2]);    // race: store
  use(masked_store[3]);
  gathered[40] = 1;        // race: gather
  gathered[41] = 1;
  use(scattered[30]);      // race: scatter
  use(scattered[31]);
  expanded[1] = 1;         // race: expand
  expanded[2] = 1;
  use((long long)compressed[1]);  // race: compress
  use((long long)compressed[4]);
  use(narrowed[6]);        // race: narrow
  use(narrowed[3]);
  single = 1;              // race: single
}

int main(void) {
  in_turn(first, second);
  return 0;
}
