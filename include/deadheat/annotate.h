/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling Deadheat what it cannot see. For C and C++.
 *
 * Deadheat understands threads, the locks of pthread and of the C++ library,
 * atomics, and the memory that comes from malloc and mmap. Some programs
 * synchronise by other means: a lock made of futexes and inline assembly, a
 * queue in a library that was not recompiled, a message through the kernel. Then
 * two accesses look unordered although they are not. The functions below say
 * what orders them.
 *
 * They cost a test of a pointer when the program runs without Deadheat: the
 * header needs no library. Define DEADHEAT_DISABLE before including it, or for
 * the whole build, to have them compiled to nothing.
 *
 * Order. What a thread did before happens_before(tag) is ordered before what
 * another does after a happens_after(tag) that comes later. The tag is any
 * address that both know; nothing is read from it.
 *
 *     // producer                              // consumer
 *     message->text = "hello";                 message = foreign_queue_take();
 *     deadheat_happens_before(message);        deadheat_happens_after(message);
 *     foreign_queue_put(message);              puts(message->text);
 *
 * A lock of your own. Say "acquired" after you have it and "releasing" before
 * you give it up; from then on reports also name the locks that were held.
 *
 *     void my_lock(my_lock_t* lock) {
 *       take_it_somehow(lock);
 *       deadheat_lock_acquired(lock);
 *     }
 *     void my_unlock(my_lock_t* lock) {
 *       deadheat_lock_releasing(lock);
 *       give_it_up(lock);
 *     }
 *
 * If the lock is itself made of plain accesses, hide them:
 *
 *       deadheat_ignore_begin();
 *       take_it_somehow(lock);
 *       deadheat_ignore_end();
 *
 * Races that you want. A counter for statistics that may lose an increment:
 *
 *     static long hits;
 *     deadheat_benign(&hits, sizeof hits);     // once, at the start
 *
 * (An atomic with memory_order_relaxed costs the same and is no race at all.)
 *
 * Memory of your own. An allocator that carves blocks out of a large one says
 * so, or the accesses of a block's former owner race with those of the next:
 *
 *     void* block = pool_take(pool);
 *     deadheat_new_memory(block, size);
 */
#ifndef DEADHEAT_ANNOTATE_H
#define DEADHEAT_ANNOTATE_H

#include <stddef.h>

/* Nothing is read through the pointers: an object may be named before it is initialised. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define DEADHEAT_NAME_ONLY_ __attribute__((access(none, 1)))
#else
#define DEADHEAT_NAME_ONLY_
#endif

#ifdef DEADHEAT_DISABLE
#define DEADHEAT_CALL_(function, arguments) ((void)0)
#else
#define DEADHEAT_CALL_(function, arguments) \
  do {                                      \
    if (function) function arguments;       \
  } while (0)

#ifdef __cplusplus
extern "C" {
#endif
/* The runtime's side; absent, and then null, in a program that runs without it. */
#define DEADHEAT_WEAK_ __attribute__((weak))
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_happens_before(const volatile void* tag);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_happens_after(const volatile void* tag);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_lock_created(const volatile void* lock);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_lock_destroyed(const volatile void* lock);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_lock_acquired(const volatile void* lock, int is_shared);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_lock_releasing(const volatile void* lock);
DEADHEAT_WEAK_ void deadheat_runtime_ignore_begin(void);
DEADHEAT_WEAK_ void deadheat_runtime_ignore_end(void);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_benign(const volatile void* begin, size_t size);
DEADHEAT_NAME_ONLY_ DEADHEAT_WEAK_ void deadheat_runtime_new_memory(const volatile void* begin, size_t size);
DEADHEAT_WEAK_ void deadheat_runtime_thread_name(const char* name);
#undef DEADHEAT_WEAK_
#ifdef __cplusplus
}
#endif
#endif

/* Always inlined, so that a report names the line that called them. */
#define DEADHEAT_INLINE_ static inline __attribute__((always_inline, unused))

/* Order between threads. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_happens_before(const volatile void* tag) {
  (void)tag;
  DEADHEAT_CALL_(deadheat_runtime_happens_before, (tag));
}
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_happens_after(const volatile void* tag) {
  (void)tag;
  DEADHEAT_CALL_(deadheat_runtime_happens_after, (tag));
}

/* Locks. "created" is optional and gives reports a place to name; "destroyed"
 * matters when the memory is used again without having been freed. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_lock_created(const volatile void* lock) {
  (void)lock;
  DEADHEAT_CALL_(deadheat_runtime_lock_created, (lock));
}
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_lock_destroyed(const volatile void* lock) {
  (void)lock;
  DEADHEAT_CALL_(deadheat_runtime_lock_destroyed, (lock));
}
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_lock_acquired(const volatile void* lock) {
  (void)lock;
  DEADHEAT_CALL_(deadheat_runtime_lock_acquired, (lock, 0));
}
/* By a reader: readers are not ordered with each other. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_lock_acquired_shared(const volatile void* lock) {
  (void)lock;
  DEADHEAT_CALL_(deadheat_runtime_lock_acquired, (lock, 1));
}
/* In the mode in which this thread holds it. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_lock_releasing(const volatile void* lock) {
  (void)lock;
  DEADHEAT_CALL_(deadheat_runtime_lock_releasing, (lock));
}

/* Reads and writes of this thread are not checked in between. Nests. */
DEADHEAT_INLINE_ void deadheat_ignore_begin(void) { DEADHEAT_CALL_(deadheat_runtime_ignore_begin, ()); }
DEADHEAT_INLINE_ void deadheat_ignore_end(void) { DEADHEAT_CALL_(deadheat_runtime_ignore_end, ()); }

/* Races on these bytes are not reported, whoever takes part. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_benign(const volatile void* begin, size_t size) {
  (void)begin;
  (void)size;
  DEADHEAT_CALL_(deadheat_runtime_benign, (begin, size));
}

/* The bytes are as fresh as if malloc had just returned them. */
DEADHEAT_NAME_ONLY_ DEADHEAT_INLINE_ void deadheat_new_memory(const volatile void* begin, size_t size) {
  (void)begin;
  (void)size;
  DEADHEAT_CALL_(deadheat_runtime_new_memory, (begin, size));
}

/* The name of the calling thread in reports, up to 15 characters. Threads named by
 * pthread_setname_np need no second name. */
DEADHEAT_INLINE_ void deadheat_thread_name(const char* name) {
  (void)name;
  DEADHEAT_CALL_(deadheat_runtime_thread_name, (name));
}

#undef DEADHEAT_NAME_ONLY_
#undef DEADHEAT_INLINE_
#undef DEADHEAT_CALL_

#endif
