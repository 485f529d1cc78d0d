/* SPDX-License-Identifier: Apache-2.0
 *
 * The macros that a random program is written with. Built with detection, RD and WR are the
 * plain access and nothing else, and the SYNC_ forms are the plain call. Built with
 * RANDOM_PROGRAM_ORACLE they tell the oracle (oracle.h), too, so the oracle goes by
 * the source: it knows each access that the source makes, and no other.
 *
 * A random program runs one step at a time, in an order that scheduler.c forces and
 * no detector sees.
 */
#ifndef DEADHEAT_TESTS_RANDOM_PROGRAM_H
#define DEADHEAT_TESTS_RANDOM_PROGRAM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <emmintrin.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifdef __cplusplus
#define _Bool bool
extern "C" {
#endif
void scheduler_await(int step);
void scheduler_done(int step);
#ifdef __cplusplus
}
#endif

/* The optimiser knows nothing of the value, and may compute it where it likes. */
static inline long opaque(long value) {
  __asm__("" : "+r"(value));
  return value;
}
/* All bytes of the object are needed. */
#define USE(object) __asm__ volatile("" : : "r"(&(object)) : "memory")
#define USE_VECTOR(value) __asm__ volatile("" : : "x"(value))
static inline void use(long value) { __asm__ volatile("" : : "r"(value)); }

#ifdef RANDOM_PROGRAM_ORACLE
#include "oracle.h"
/* An extended double is ten bytes in sixteen. */
#define BYTES_OF(lvalue) (_Generic((lvalue), long double: 10, default: sizeof(lvalue)))
#define RD(lvalue)                                                                                    \
  (*({                                                                                                \
    oracle_access(__LINE__, 0, (void*)&(lvalue), BYTES_OF(lvalue), (void*)&(lvalue), sizeof(lvalue)); \
    &(lvalue);                                                                                        \
  }))
#define WR(lvalue, value)                                                                             \
  ({                                                                                                  \
    __typeof__(lvalue) random_value = (value);                                                        \
    oracle_access(__LINE__, 1, (void*)&(lvalue), BYTES_OF(lvalue), (void*)&(lvalue), sizeof(lvalue)); \
    (lvalue) = random_value;                                                                          \
  })
/* A field of a run of bit-fields that is all of `object`: `first` and `count` are its bytes. */
#define RD_FIELD(object, field, first, count)                                                   \
  ({                                                                                            \
    oracle_access(__LINE__, 0, (char*)&(object) + (first), (count), &(object), sizeof(object)); \
    (object).field;                                                                             \
  })
#define WR_FIELD(object, field, first, count, value)                                            \
  ({                                                                                            \
    long random_value = (value);                                                                \
    oracle_access(__LINE__, 1, (char*)&(object) + (first), (count), &(object), sizeof(object)); \
    (object).field = random_value;                                                              \
  })
#define RD_BYTES(pointer, count) oracle_access(__LINE__, 0, (pointer), (count), (pointer), (count))
#define WR_BYTES(pointer, count) oracle_access(__LINE__, 1, (pointer), (count), (pointer), (count))
#define AT_ATOMIC(access, object) oracle_atomic(__LINE__, (access), &(object), sizeof(object))
#define ORACLE(call) call
static inline size_t equal_bytes(const char* one, const char* other, size_t count) {
  size_t at = 0;
  while (at < count && one[at] == other[at]) at++;
  return at;
}
/* A comparison may stop at the first byte that differs, and need not. */
#define RD_UNTIL(pointer, other, count)                                                                     \
  ({                                                                                                        \
    const size_t equal = equal_bytes((const char*)(pointer), (const char*)(other), (count));                \
    oracle_access(__LINE__, 0, (pointer), equal < (size_t)(count) ? equal + 1 : equal, (pointer), (count)); \
  })
#else
#define RD_UNTIL(pointer, other, count) ((void)0)
#define RD(lvalue) (lvalue)
#define WR(lvalue, value) ((lvalue) = (value))
#define RD_FIELD(object, field, first, count) ((object).field)
#define WR_FIELD(object, field, first, count, value) ((object).field = (value))
#define RD_BYTES(pointer, count) ((void)0)
#define WR_BYTES(pointer, count) ((void)0)
#define AT_ATOMIC(access, object) ((void)0)
#define ORACLE(call) ((void)0)
#endif

#define BEGIN(thread, step)                 \
  do {                                      \
    scheduler_await(step);                  \
    ORACLE(oracle_begin((thread), (step))); \
  } while (0)
#define END(step) scheduler_done(step)

#define LOCK(mutex)                   \
  do {                                \
    pthread_mutex_lock(&(mutex));     \
    ORACLE(oracle_acquire(&(mutex))); \
  } while (0)
#define UNLOCK(mutex)                 \
  do {                                \
    ORACLE(oracle_release(&(mutex))); \
    pthread_mutex_unlock(&(mutex));   \
  } while (0)
#define LOCK_READ(lock)                   \
  do {                                    \
    pthread_rwlock_rdlock(&(lock));       \
    ORACLE(oracle_acquire_read(&(lock))); \
  } while (0)
#define LOCK_WRITE(lock)                   \
  do {                                     \
    pthread_rwlock_wrlock(&(lock));        \
    ORACLE(oracle_acquire_write(&(lock))); \
  } while (0)
#define UNLOCK_READ(lock)                 \
  do {                                    \
    ORACLE(oracle_release_read(&(lock))); \
    pthread_rwlock_unlock(&(lock));       \
  } while (0)
#define UNLOCK_WRITE(lock)                 \
  do {                                     \
    ORACLE(oracle_release_write(&(lock))); \
    pthread_rwlock_unlock(&(lock));        \
  } while (0)
#define POST(semaphore)                        \
  do {                                         \
    ORACLE(oracle_release_also(&(semaphore))); \
    sem_post(&(semaphore));                    \
  } while (0)
#define WAIT(semaphore)                   \
  do {                                    \
    sem_wait(&(semaphore));               \
    ORACLE(oracle_acquire(&(semaphore))); \
  } while (0)
#define STORE_RELEASE(flag, value)                        \
  do {                                                    \
    AT_ATOMIC(1, flag);                                   \
    ORACLE(oracle_release(&(flag)));                      \
    __atomic_store_n(&(flag), (value), __ATOMIC_RELEASE); \
  } while (0)
#define LOAD_ACQUIRE(flag)                             \
  do {                                                 \
    acc += __atomic_load_n(&(flag), __ATOMIC_ACQUIRE); \
    AT_ATOMIC(0, flag);                                \
    ORACLE(oracle_acquire(&(flag)));                   \
  } while (0)
#define LOAD_RELAXED(flag)                             \
  do {                                                 \
    acc += __atomic_load_n(&(flag), __ATOMIC_RELAXED); \
    AT_ATOMIC(0, flag);                                \
  } while (0)
#define ADD_ACQ_REL(flag)                                            \
  do {                                                               \
    AT_ATOMIC(1, flag);                                              \
    ORACLE((oracle_acquire(&(flag)), oracle_release_also(&(flag)))); \
    acc += __atomic_fetch_add(&(flag), 1, __ATOMIC_ACQ_REL);         \
  } while (0)
#define ADD_RELAXED(flag)                                    \
  do {                                                       \
    AT_ATOMIC(1, flag);                                      \
    acc += __atomic_fetch_add(&(flag), 1, __ATOMIC_RELAXED); \
  } while (0)

/* As old code bases have it. What it hands on is added to what is there. */
#define STORE_ASSEMBLY(flag, value)                                              \
  do {                                                                           \
    AT_ATOMIC(1, flag);                                                          \
    ORACLE(oracle_release_also(&(flag)));                                        \
    __asm__ volatile("movl %1, %0" : "=m"(flag) : "r"((int)(value)) : "memory"); \
  } while (0)
#define ADD_ASSEMBLY(flag)                                             \
  do {                                                                 \
    AT_ATOMIC(1, flag);                                                \
    ORACLE((oracle_acquire(&(flag)), oracle_release_also(&(flag))));   \
    __asm__ volatile("lock; incl %0" : "+m"(flag) : : "memory", "cc"); \
  } while (0)
#define EXCHANGE_ASSEMBLY(flag)                                                  \
  do {                                                                           \
    int exchanged = 3;                                                           \
    AT_ATOMIC(1, flag);                                                          \
    ORACLE((oracle_acquire(&(flag)), oracle_release_also(&(flag))));             \
    __asm__ volatile("xchgl %0, %1" : "+r"(exchanged), "+m"(flag) : : "memory"); \
    acc += exchanged;                                                            \
  } while (0)
/* An access that orders nothing. */
#define ADD_PLAIN_ASSEMBLY(flag)                       \
  do {                                                 \
    RD_BYTES(&(flag), sizeof(flag));                   \
    WR_BYTES(&(flag), sizeof(flag));                   \
    __asm__ volatile("incl %0" : "+m"(flag) : : "cc"); \
  } while (0)

#define COMPARE(one, other, count)                      \
  do {                                                  \
    RD_UNTIL((one), (other), (count));                  \
    RD_UNTIL((other), (one), (count));                  \
    if (memcmp((one), (other), (count)) == 0) acc += 5; \
  } while (0)
#define COPY(to, from, count)      \
  do {                             \
    RD_BYTES((from), (count));     \
    WR_BYTES((to), (count));       \
    memcpy((to), (from), (count)); \
  } while (0)
#define FILL(to, value, count)      \
  do {                              \
    WR_BYTES((to), (count));        \
    memset((to), (value), (count)); \
  } while (0)
#define FREE(pointer, count)      \
  do {                            \
    WR_BYTES((pointer), (count)); \
    free(pointer);                \
  } while (0)

#define LOAD_128(pointer)                                        \
  do {                                                           \
    RD_BYTES((pointer), 16);                                     \
    __m128i loaded = _mm_loadu_si128((const __m128i*)(pointer)); \
    USE_VECTOR(loaded);                                          \
  } while (0)
#ifdef __AVX2__
#define LOAD_256(pointer)                                           \
  do {                                                              \
    RD_BYTES((pointer), 32);                                        \
    __m256i loaded = _mm256_loadu_si256((const __m256i*)(pointer)); \
    USE_VECTOR(loaded);                                             \
  } while (0)
#define STORE_256(pointer, value)                                              \
  do {                                                                         \
    WR_BYTES((pointer), 32);                                                   \
    _mm256_storeu_si256((__m256i*)(pointer), _mm256_set1_epi8((char)(value))); \
  } while (0)
/* The first `count` of eight elements. */
#define LOAD_MASKED(pointer, count)                                                                           \
  do {                                                                                                        \
    RD_BYTES((pointer), 4 * (count));                                                                         \
    __m256i mask =                                                                                            \
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)opaque(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); \
    __m256i loaded = _mm256_maskload_epi32((const int*)(pointer), mask);                                      \
    USE_VECTOR(loaded);                                                                                       \
  } while (0)
#define STORE_MASKED(pointer, count)                                                                          \
  do {                                                                                                        \
    WR_BYTES((pointer), 4 * (count));                                                                         \
    __m256i mask =                                                                                            \
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)opaque(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); \
    _mm256_maskstore_epi32((int*)(pointer), mask, _mm256_set1_epi32((int)acc));                               \
  } while (0)
/* Elements 0, step, 2 * step ... of the first four. */
#define GATHER(pointer, step)                                                                 \
  do {                                                                                        \
    ORACLE(({                                                                                 \
      for (int lane = 0; lane < 4; lane++) RD_BYTES((char*)(pointer) + 4 * lane * (step), 4); \
    }));                                                                                      \
    const int gather_step = (int)opaque(step);                                                \
    __m128i indexes = _mm_setr_epi32(0, gather_step, 2 * gather_step, 3 * gather_step);       \
    __m128i loaded = _mm_i32gather_epi32((const int*)(pointer), indexes, 4);                  \
    USE_VECTOR(loaded);                                                                       \
  } while (0)
#endif
#define STORE_128(pointer, value)                                        \
  do {                                                                   \
    WR_BYTES((pointer), 16);                                             \
    _mm_storeu_si128((__m128i*)(pointer), _mm_set1_epi8((char)(value))); \
  } while (0)

typedef int Vector4 __attribute__((vector_size(16)));
typedef int Vector8 __attribute__((vector_size(32)));

struct Small {
  int a;
  short b;
  char c, d;
};
struct Medium {
  long a;
  int b;
  char c[12];
};
struct Large {
  long a[7];
  double b;
  int c;
};
struct Point {
  int x;
  short y;
  char z, t;
  long w;
};
struct __attribute__((packed)) Packed {
  char a;
  int b;
  long c;
  short d;
};
union Overlaid {
  long l;
  int i[2];
  char c[8];
  short s[4];
  double d;
};
/* Bytes: a 0, b 0, c 1, d 2 to 3, e 8 to 12, f 13 to 14. All one memory location by the standard. */
struct Fields {
  unsigned a : 3, b : 5, c : 8, d : 16;
  unsigned long e : 40;
  unsigned f : 10;
};

#define NOT_INLINED __attribute__((noinline))

/* Statements on ways that C++ has. To the oracle, which is C, they are the statement. */
#ifdef __cplusplus
struct Runs {
  virtual ~Runs() = default;
  virtual void run() = 0;
};
template <class Function>
struct RunsFunction final : Runs {
  explicit RunsFunction(Function& wanted) : function(wanted) {}
  void run() override { function(); }
  Function& function;
};
static NOT_INLINED void run_virtually(Runs& wanted) { wanted.run(); }
#define IN_LAMBDA(...)                 \
  {                                    \
    auto lambda = [&] { __VA_ARGS__ }; \
    lambda();                          \
  }
#define IN_VIRTUAL(...)                          \
  {                                              \
    auto lambda = [&] { __VA_ARGS__ };           \
    RunsFunction<decltype(lambda)> runs(lambda); \
    run_virtually(runs);                         \
  }
#define IN_TRY(...)              \
  try {                          \
    if (opaque(1) != 0) throw 1; \
  } catch (int thrown) {         \
    acc += thrown;               \
    __VA_ARGS__                  \
  }
#else
#define IN_LAMBDA(...) {__VA_ARGS__}
#define IN_VIRTUAL(...) {__VA_ARGS__}
#define IN_TRY(...) \
  {                 \
    acc += 1;       \
    __VA_ARGS__     \
  }
#endif
static NOT_INLINED long take_small(struct Small value) {
  USE(value);
  return value.a + value.b;
}
static NOT_INLINED long take_medium(struct Medium value) {
  USE(value);
  return value.a + value.c[3];
}
static NOT_INLINED long take_large(struct Large value) {
  USE(value);
  return value.a[1] + value.c;
}
static NOT_INLINED long take_point(long before, struct Point value, long after) {
  USE(value);
  return before + value.x + value.w + after;
}
static NOT_INLINED struct Small make_small(long from) {
  struct Small made = {(int)from, 1, 2, 3};
  return made;
}
static NOT_INLINED struct Medium make_medium(long from) {
  struct Medium made = {from, 1, {(char)from}};
  return made;
}
static NOT_INLINED struct Large make_large(long from) {
  struct Large made = {{from, from}, 0.5, (int)from};
  return made;
}

#endif
