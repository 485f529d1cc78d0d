// SPDX-License-Identifier: Apache-2.0
// Rings of io_uring that the program drives by itself: who submits precedes who hears of the end, by a call or
// by the tail that the kernel stores.
#include "turns.h"

#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ring, handed, handed_too, pipe_ends[2];
static unsigned *tail, *completed_head, *completed_tail, *order;
static struct io_uring_sqe* entries;
static struct io_uring_cqe* completed;
static unsigned mask, completed_mask;
static char byte;

static int make_ring(void) {
  struct io_uring_params made;
  memset(&made, 0, sizeof made);
  ring = (int)syscall(SYS_io_uring_setup, 8, &made);
  if (ring < 0) return 0;  // not here
  const size_t room = made.cq_off.cqes + made.cq_entries * sizeof(struct io_uring_cqe) + made.sq_entries * 8;
  char* const words = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  entries = mmap(NULL, made.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  if (words == MAP_FAILED || (void*)entries == MAP_FAILED) abort();
  tail = (unsigned*)(words + made.sq_off.tail);
  mask = *(unsigned*)(words + made.sq_off.ring_mask);
  order = (unsigned*)(words + made.sq_off.array);
  completed_head = (unsigned*)(words + made.cq_off.head);
  completed_tail = (unsigned*)(words + made.cq_off.tail);
  completed_mask = *(unsigned*)(words + made.cq_off.ring_mask);
  completed = (struct io_uring_cqe*)(words + made.cq_off.cqes);
  return 1;
}

static void submit(int operation, int descriptor) {
  const unsigned at = *tail & mask;
  memset(&entries[at], 0, sizeof entries[at]);
  entries[at].opcode = (unsigned char)operation;
  entries[at].fd = descriptor;
  entries[at].addr = (unsigned long)&byte;
  entries[at].len = operation == IORING_OP_NOP ? 0 : 1;
  order[at] = at;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1) abort();
}

static void* hear_by_tail(void* unused) {
  while (__atomic_load_n(completed_tail, __ATOMIC_ACQUIRE) == 0) sched_yield();
  if (handed != 1) abort();
  __atomic_store_n(completed_head, 1, __ATOMIC_RELEASE);
  return unused;
}

static void* write_to_pipe(void* unused) {
  handed_too = 2;
  if (write(pipe_ends[1], "x", 1) != 1) abort();
  return unused;
}

int main(void) {
  pthread_t thread;
  if (!make_ring()) return 0;
  pthread_create(&thread, NULL, hear_by_tail, NULL);
  handed = 1;
  submit(IORING_OP_NOP, -1);
  pthread_join(thread, NULL);

  if (pipe(pipe_ends) != 0) abort();
  pthread_create(&thread, NULL, write_to_pipe, NULL);
  submit(IORING_OP_READ, pipe_ends[0]);
  if (syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) abort();
  if (handed_too != 2) abort();
  pthread_join(thread, NULL);
  return 0;
}
