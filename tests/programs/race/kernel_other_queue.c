// SPDX-License-Identifier: Apache-2.0
// A message comes from who sent one of its type to its queue, and from nobody else.
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

struct Message {
  long type;
  char text[8];
};

int queue;
mqd_t named[2];
int by_type;
int by_name;

static void first(void) {
  struct Message message = {1, "first"};
  by_type = 1;  // race: type
  if (msgsnd(queue, &message, sizeof message.text, 0) != 0) abort();
  by_name = 1;  // race: name
  if (mq_send(named[0], "one", 4, 3) != 0) abort();
}

static void second(void) {
  struct Message message;
  char bytes[16];
  if (msgrcv(queue, &message, sizeof message.text, 2, 0) < 0) abort();
  use(by_type);  // race: type
  if (mq_receive(named[1], bytes, sizeof bytes, NULL) != 4) abort();
  use(by_name);  // race: name
}

int main(void) {
  struct mq_attr attributes = {0, 4, 16, 0};
  struct Message message = {2, "second"};
  int i;
  for (i = 0; i < 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "/deadheat-%d-%d", (int)getpid(), i);
    named[i] = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (named[i] < 0) return 1;
    mq_unlink(name);
  }
  queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0 || msgsnd(queue, &message, sizeof message.text, 0) != 0) return 1;
  if (mq_send(named[1], "two", 4, 3) != 0) return 1;
  in_turn(first, second);
  msgctl(queue, IPC_RMID, NULL);
  return 0;
}
