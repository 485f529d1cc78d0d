// SPDX-License-Identifier: Apache-2.0
// Lanes that a mask leaves out, and elements that no index names, are not accessed.
// flags: -mavx2
// levels: -O0 -O1 -O2 -O3
#include <immintrin.h>

#include "turns.h"

int masked[8];
double gathered[64];
int scattered_over[16];
char bytes[16];

static void first(void) {
  const __m256i mask = _mm256_setr_epi32(0, (int)opaque((size_t)-1), 0, 0, 0, 0, 0, 0);
  const __m256i loaded = _mm256_maskload_epi32(masked, mask);
  _mm256_maskstore_epi32(scattered_over, mask, loaded);
  const __m256i indexes = _mm256_setr_epi64x(0, (long long)opaque(63), 20, 21);
  const __m256d some = _mm256_castsi256_pd(_mm256_setr_epi64x(-1, 0, -1, (long long)opaque((size_t)-1)));
  const __m256d all = _mm256_mask_i64gather_pd(some, gathered, indexes, some, 8);
  _mm_maskmoveu_si128(_mm256_castsi256_si128(loaded), _mm_set1_epi8((char)opaque(0x7f)), bytes);
  __asm__ volatile("" : : "x"(all), "x"(loaded));
}

static void second(void) {
  masked[0] = 1;
  masked[2] = 1;
  masked[7] = 1;
  gathered[1] = 1;
  gathered[63] = 1;
  scattered_over[0] = 1;
  scattered_over[3] = 1;
  bytes[5] = 1;
}

int main(void) {
  in_turn(first, second);
  return 0;
}
