/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle of random programs: what each access of the source races with, by
 * vector clocks and a full history of each byte. It shares no code with Deadheat.
 * One step runs at a time, so nothing here is protected.
 *
 * An access has bytes that it touches certainly, and a range that the compiler may
 * touch with them: a bit-field is accessed with its neighbours, as the standard allows.
 *
 * At exit the file named by RANDOM_PROGRAM_RACES holds one line for each pair of
 * source lines that race ("pair 12 40"), and one for each demand ("demand 12 40 12 41"):
 * one of its pairs, at least, must be reported. There is a demand for each byte with a
 * certain race: the pairs of the step whose access was the first to race there. Within
 * a step the compiler may leave out an access that another one repeats. For memory
 * that oracle_checked_late() names any pair of the byte will do.
 */
#ifndef DEADHEAT_TESTS_RANDOM_PROGRAM_ORACLE_H
#define DEADHEAT_TESTS_RANDOM_PROGRAM_ORACLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The step belongs to this thread. All threads begin after what the program did before the first step. */
void oracle_begin(int thread, int step);
void oracle_access(int line, int writes, void* certain, size_t certain_size, void* possible, size_t possible_size);
void oracle_atomic(int line, int writes, void* object, size_t size);
void oracle_checked_late(void* begin, size_t size);

void oracle_acquire(void* object);
void oracle_release(void* object);      /* replaces what was released there */
void oracle_release_also(void* object); /* adds to it */

/* A lock for readers and writers: readers do not order each other. */
void oracle_acquire_read(void* lock);
void oracle_acquire_write(void* lock);
void oracle_release_read(void* lock);
void oracle_release_write(void* lock);

#ifdef __cplusplus
}
#endif

#endif
