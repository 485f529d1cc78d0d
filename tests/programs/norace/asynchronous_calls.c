// SPDX-License-Identifier: Apache-2.0
// Asynchronous input and output, and looking up names: from submitting to being told.
#define _GNU_SOURCE
#include "turns.h"

#include <aio.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int file;
char written[8] = "written";
char first_read[8];
char second_read[8];
struct aiocb requests[3];
struct aiocb* list[3] = {&requests[0], &requests[1], &requests[2]};
int before;
int before_list;
int told;
struct gaicb name;
struct gaicb* names[1] = {&name};

static void prepare(struct aiocb* request, int opcode, char* buffer, int offset) {
  memset(request, 0, sizeof *request);
  request->aio_fildes = file;
  request->aio_lio_opcode = opcode;
  request->aio_buf = buffer;
  request->aio_nbytes = 8;
  request->aio_offset = offset;
}

static void on_end(union sigval value) {
  told = before + value.sival_int;
  order_reach(10);
}

static void submit(void) {
  before = 1;
  prepare(&requests[0], LIO_WRITE, written, 0);
  if (aio_write(&requests[0]) != 0) abort();
}

static void await(void) {
  while (aio_suspend((const struct aiocb* const*)list, 1, NULL) != 0) {
  }
  if (aio_error(&requests[0]) != 0 || aio_return(&requests[0]) != 8 || before != 1) abort();
  memcpy(written, "another", 8);
}

static void submit_list(void) {
  before_list = 2;
  prepare(&requests[1], LIO_READ, first_read, 0);
  prepare(&requests[2], LIO_READ, second_read, 0);
  if (lio_listio(LIO_NOWAIT, list + 1, 2, NULL) != 0) abort();
}

static void await_list(void) {
  int index;
  for (index = 1; index < 3; index++) {
    while (aio_error(&requests[index]) == EINPROGRESS) {
    }
    if (aio_return(&requests[index]) != 8) abort();
  }
  if (before_list != 2 || strcmp(first_read, "written") != 0 || strcmp(second_read, "written") != 0) abort();
  first_read[0] = 'W';
}

int main(void) {
  void (*const steps[])(void) = {submit, await, submit_list, await_list};
  struct sigevent event;
  FILE* stream = tmpfile();
  if (stream == NULL) return 2;
  file = fileno(stream);
  take_turns(4, steps);

  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = on_end;
  event.sigev_value.sival_int = 5;
  before = 3;
  prepare(&requests[0], LIO_READ, first_read, 0);
  requests[0].aio_sigevent = event;
  if (aio_read(&requests[0]) != 0) return 3;
  order_await(10);
  if (aio_return(&requests[0]) != 8) return 4;

  name.ar_name = "127.0.0.1";
  if (getaddrinfo_a(GAI_NOWAIT, names, 1, NULL) != 0) return 5;
  while (gai_suspend((const struct gaicb* const*)names, 1, NULL) == EAI_INTR) {
  }
  if (gai_error(&name) != 0) return 6;
  freeaddrinfo(name.ar_result);
  fclose(stream);
  return first_read[0] == 'w' ? 0 : 1;
}
