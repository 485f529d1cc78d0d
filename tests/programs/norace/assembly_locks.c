// SPDX-License-Identifier: Apache-2.0
// Locks and counters of old code bases: inline assembly orders.
// levels: -O0 -O1 -O2 -O3
#include <pthread.h>
#include <stdlib.h>

enum { kThreads = 4, kTurns = 2000 };

static volatile int exchanged;
static volatile unsigned char byte_lock;
static int compared;
static int through_register;
static struct {
  unsigned next;
  unsigned served;
} ticket;
static long sums[5];
static int count;
static long message;
static int is_ready;

static void take_exchanged(void) {
  int value;
  do {
    value = 1;
    __asm__ __volatile__("xchgl %0, %1" : "+r"(value), "+m"(exchanged) : : "memory");
  } while (value != 0);
}
static void give_exchanged(void) { __asm__ __volatile__("movl $0, %0" : "=m"(exchanged) : : "memory"); }

static void take_byte(void) {
  unsigned char value;
  do {
    value = 1;
    __asm__ __volatile__("lock\n\txchgb %b0, %1" : "=q"(value), "+m"(byte_lock) : "0"(value) : "memory");
  } while (value != 0);
}
static void give_byte(void) { __asm__ __volatile__("movb $0, %0" : "=m"(byte_lock) : : "memory"); }

static void take_compared(void) {
  int before;
  do {
    before = 0;
    __asm__ __volatile__("lock; cmpxchgl %2, %1" : "+a"(before), "+m"(compared) : "r"(1) : "memory", "cc");
  } while (before != 0);
}
static void give_compared(void) {
  __asm__ __volatile__("lock; decl %0" : "+m"(compared) : : "memory", "cc");
}

static void take_through_register(void) {
  int value;
  do {
    value = 1;
    __asm__ __volatile__("lock xchgl %0, (%1)" : "+r"(value) : "r"(&through_register) : "memory");
  } while (value != 0);
}
static void give_through_register(void) {
  int zero = 0;
  __asm__ __volatile__("movl %0, (%1)" : : "r"(zero), "r"(&through_register) : "memory");
}

static void take_ticket(void) {
  unsigned mine = 1;
  unsigned now;
  __asm__ __volatile__("lock; xaddl %0, %1" : "+r"(mine), "+m"(ticket.next) : : "memory", "cc");
  do {
    __asm__ __volatile__("pause\n\tmovl %1, %0" : "=r"(now) : "m"(ticket.served) : "memory");
  } while (now != mine);
}
static void give_ticket(void) { __asm__ __volatile__("incl %0" : "+m"(ticket.served) : : "memory", "cc"); }

static void* work(void* unused) {
  int turn;
  for (turn = 0; turn < kTurns; turn++) {
    take_exchanged();
    sums[0]++;
    give_exchanged();
    take_byte();
    sums[1]++;
    give_byte();
    take_compared();
    sums[2]++;
    give_compared();
    take_through_register();
    sums[3]++;
    give_through_register();
    __asm__ __volatile__("lock; incl %0" : "+m"(count));
  }
  for (turn = 0; turn < 50; turn++) {
    take_ticket();
    sums[4]++;
    give_ticket();
  }
  return unused;
}

static void* send(void* unused) {
  message = 42;
  __asm__ __volatile__("movl $1, %0" : "=m"(is_ready) : : "memory");
  return unused;
}

static void* receive(void* result) {
  int seen = 0;
  while (seen == 0) __asm__ __volatile__("movl %1, %0" : "=r"(seen) : "m"(is_ready) : "memory");
  *(long*)result = message;
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  long received = 0;
  int at;
  for (at = 0; at < kThreads; at++) pthread_create(&threads[at], NULL, work, NULL);
  for (at = 0; at < kThreads; at++) pthread_join(threads[at], NULL);
  pthread_create(&threads[0], NULL, receive, &received);
  pthread_create(&threads[1], NULL, send, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  for (at = 0; at < 4; at++) {
    if (sums[at] != (long)kThreads * kTurns) return 1;
  }
  return received != 42 || sums[4] != kThreads * 50 || count != kThreads * kTurns;
}
