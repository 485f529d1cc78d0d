// SPDX-License-Identifier: Apache-2.0
// Intrinsics that access some lanes only, or each where an index says.
// flags: -mavx2
// levels: -O0 -O1 -O2 -O3
#include <immintrin.h>

#include "turns.h"

enum { kCount = 64 };
int masked_load[8];
double masked_store[4];
int gathered[kCount];
double gathered_by_mask[kCount];
char unaligned_load[32];
long long streamed[4];
int streamed_number;
float broadcast;
char bytes[16];
float halves[2];
double wide[4];

static void first(void) {
  const __m256i mask = _mm256_setr_epi32(0, 0, (int)opaque((size_t)-1), 0, 0, 0, 0, 0);
  const __m256i wide_mask = _mm256_setr_epi64x(0, 0, 0, (long long)opaque((size_t)-1));
  const __m256i indexes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, (int)opaque(40));
  const __m256i wide_indexes = _mm256_setr_epi64x(8, 9, 10, (long long)opaque(50));
  __m256i sum = _mm256_maskload_epi32(masked_load, mask);                                    // race: load
  _mm256_maskstore_pd(masked_store, wide_mask, _mm256_set1_pd(1));                           // race: store
  sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32(gathered, indexes, 4));                 // race: gather
  const __m256d all = _mm256_castsi256_pd(wide_mask);
  __m256d more = _mm256_mask_i64gather_pd(all, gathered_by_mask, wide_indexes, all, 8);  // race: by_mask
  sum = _mm256_add_epi32(sum, _mm256_lddqu_si256((const __m256i*)unaligned_load));           // race: unaligned
  _mm256_storeu_pd(wide, more);                                                              // race: wide
  _mm_stream_si128((__m128i*)streamed, _mm256_castsi256_si128(sum));                         // race: streamed
  _mm_stream_si32(&streamed_number, 4);                                                      // race: number
  more = _mm256_castps_pd(_mm256_broadcast_ss(&broadcast));                                  // race: broadcast
  const __m128i byte_mask = _mm_setr_epi8(0, 0, 0, (char)opaque(0x80), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm_maskmoveu_si128(_mm256_castsi256_si128(sum), byte_mask, bytes);  // race: bytes
  const __m128 both = _mm_loadh_pi(_mm_setzero_ps(), (const __m64*)halves);                  // race: halves
  __asm__ volatile("" : : "x"(more), "x"(both), "x"(sum));
}

static void second(void) {
  masked_load[2] = 1;         // race: load
  masked_store[3] = 1;        // race: store
  gathered[40] = 1;           // race: gather
  gathered_by_mask[50] = 1;   // race: by_mask
  unaligned_load[31] = 1;     // race: unaligned
  use((long)wide[3]);         // race: wide
  use(streamed[1]);           // race: streamed
  use(streamed_number);       // race: number
  use(bytes[3]);  // race: bytes
  broadcast = 1;              // race: broadcast
  halves[1] = 3;              // race: halves
}

int main(void) {
  in_turn(first, second);
  return 0;
}
