// SPDX-License-Identifier: Apache-2.0
// Message queues: of System V by type, of POSIX by name, and the notices of the latter.
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

struct Message {
  long type;
  char text[8];
};

int queue;
mqd_t named;
char name[32];
int by_type[3];
int by_name;
int by_poll;
int asked;
int noticed;
int done;

static void first(void) {
  struct Message message = {0};
  long type;
  for (type = 1; type <= 2; type++) {
    by_type[type] = 1;
    message.type = type;
    if (msgsnd(queue, &message, sizeof message.text, 0) != 0) abort();
  }
  by_name = 1;
  if (mq_send(named, "one", 4, 3) != 0) abort();
  by_poll = 1;
  if (mq_send(named, "two", 4, 0) != 0) abort();
}

static void second(void) {
  struct Message message;
  char bytes[16];
  unsigned priority = 0;
  struct timespec limit = {4000000000, 0};
  struct pollfd wanted = {0};
  mqd_t own = mq_open(name, O_RDONLY);
  if (msgrcv(queue, &message, sizeof message.text, 2, 0) < 0) abort();
  by_type[2]++;
  if (msgrcv(queue, &message, sizeof message.text, 0, 0) < 0 || message.type != 1) abort();
  by_type[1]++;
  if (own < 0 || mq_timedreceive(own, bytes, sizeof bytes, &priority, &limit) != 4 || priority != 3) abort();
  by_name++;
  wanted.fd = own;
  wanted.events = POLLIN;
  if (poll(&wanted, 1, -1) != 1) abort();
  by_poll++;
  if (mq_receive(own, bytes, sizeof bytes, NULL) != 4) abort();
  mq_close(own);
}

static void on_notice(union sigval value) {
  asked++;
  noticed++;
  if (value.sival_int != 7 || asked != 2 || noticed != 2) abort();
  order_reach_at(&done, 1);
}

static void first_asks(void) {
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = on_notice;
  event.sigev_value.sival_int = 7;
  asked = 1;
  if (mq_notify(named, &event) != 0) abort();
}

static void second_sends(void) {
  noticed = 1;
  if (mq_send(named, "six", 4, 0) != 0) abort();
  order_await_at(&done, 1);
}

int main(void) {
  struct mq_attr attributes = {0, 4, 16, 0};
  snprintf(name, sizeof name, "/deadheat-%d", (int)getpid());
  named = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  if (named < 0 && errno == ENOSYS) return 0;
  queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0 || named < 0) return 1;
  in_turn(first, second);
  order_store(&order_now, 0);
  in_turn(first_asks, second_sends);
  msgctl(queue, IPC_RMID, NULL);
  mq_unlink(name);
  return by_type[1] == 2 && by_type[2] == 2 && by_name == 2 && by_poll == 2 ? 0 : 1;
}
