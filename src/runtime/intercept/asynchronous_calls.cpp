// SPDX-License-Identifier: Apache-2.0
// The work that libc does in threads of its own: asynchronous input and output of POSIX, and looking up names.
//
// A request is known by its control block. The submitter gives to the block; whoever is told that it is over
// takes from there, and the buffer of a read counts as written by them. Where a thread of libc's is to
// call the program, that thread is new and nobody announces it: it takes what was given to all such threads
// (notices.h).
#include <aio.h>
#include <netdb.h>

#include <cerrno>
#include <cstddef>

#include "runtime/intercept/described.h"
#include "runtime/intercept/notices.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"

namespace deadheat::runtime {
namespace {

void submit(const aiocb* request, Address code) {
  if (request == nullptr || !is_observing()) return;
  report_read(request, sizeof(*request), code);
  if (request->aio_lio_opcode == LIO_WRITE)
    report_read(const_cast<const void*>(request->aio_buf), request->aio_nbytes, code);
  give_to_unannounced(code);
  on_happens_before(self(), address_of(request), code);
}

void submit_as(aiocb* request, int opcode, Address code) {
  if (request == nullptr || !is_observing()) return;
  if (opcode == LIO_WRITE) report_read(const_cast<const void*>(request->aio_buf), request->aio_nbytes, code);
  give_to_unannounced(code);
  on_happens_before(self(), address_of(request), code);
}

void see_end(const aiocb* request, Address code) {
  if (request != nullptr && is_observing()) on_happens_after(self(), address_of(request), code);
}

int state_of(const aiocb* request) {
  static constinit RealFunction<int(const aiocb*)> original;
  return original.get("aio_error")(request);
}

void see_ends(const aiocb* const requests[], int count, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  for (int index = 0; index < count; ++index) {
    if (requests[index] != nullptr && state_of(requests[index]) != EINPROGRESS) see_end(requests[index], code);
  }
}

int seen_state(const aiocb* request, int state, Address code) {
  if (state != EINPROGRESS && state >= 0) see_end(request, code);
  return state;
}

long returned(const aiocb* request, long result, Address code) {
  see_end(request, code);
  if (result > 0 && request->aio_lio_opcode == LIO_READ)
    report_written(const_cast<const void*>(request->aio_buf), static_cast<std::size_t>(result), code);
  return result;
}

void see_names(const gaicb* const requests[], int count, Address code) {
  static constinit RealFunction<int(gaicb*)> original;
  if (!is_observing()) return;
  for (int index = 0; index < count; ++index) {
    if (requests[index] != nullptr && original.get("gai_error")(const_cast<gaicb*>(requests[index])) != EAI_INPROGRESS)
      on_happens_after(self(), address_of(requests[index]), code);
  }
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, aio_read, aiocb* request) {
  DEADHEAT_ORIGINAL(aio_read);
  submit_as(request, LIO_READ, DEADHEAT_CALLER);
  return original(request);
}
DEADHEAT_REPLACE(int, aio_write, aiocb* request) {
  DEADHEAT_ORIGINAL(aio_write);
  submit_as(request, LIO_WRITE, DEADHEAT_CALLER);
  return original(request);
}
DEADHEAT_REPLACE(int, aio_fsync, int how, aiocb* request) {
  DEADHEAT_ORIGINAL(aio_fsync);
  submit_as(request, LIO_NOP, DEADHEAT_CALLER);
  return original(how, request);
}
DEADHEAT_REPLACE(int, aio_error, const aiocb* request) {
  DEADHEAT_ORIGINAL(aio_error);
  return seen_state(request, original(request), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(long, aio_return, aiocb* request) {
  DEADHEAT_ORIGINAL(aio_return);
  return returned(request, original(request), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, aio_suspend, const aiocb* const requests[], int count, const timespec* limit) {
  DEADHEAT_ORIGINAL(aio_suspend);
  const int result = original(requests, count, limit);
  if (result == 0) see_ends(requests, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, aio_cancel, int descriptor, aiocb* request) {
  DEADHEAT_ORIGINAL(aio_cancel);
  const int result = original(descriptor, request);
  if (result == AIO_CANCELED || result == AIO_ALLDONE) see_end(request, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, lio_listio, int mode, aiocb* const requests[], int count, sigevent* event) {
  DEADHEAT_ORIGINAL(lio_listio);
  for (int index = 0; index < count; ++index) submit(requests[index], DEADHEAT_CALLER);
  const int result = original(mode, requests, count, event);
  if (mode == LIO_WAIT) see_ends(requests, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_ALSO(aio_read64, aio_read);
DEADHEAT_ALSO(aio_write64, aio_write);
DEADHEAT_ALSO(aio_fsync64, aio_fsync);
DEADHEAT_ALSO(aio_error64, aio_error);
DEADHEAT_ALSO(aio_return64, aio_return);
DEADHEAT_ALSO(aio_suspend64, aio_suspend);
DEADHEAT_ALSO(aio_cancel64, aio_cancel);
DEADHEAT_ALSO(lio_listio64, lio_listio);

DEADHEAT_REPLACE(int, getaddrinfo_a, int mode, gaicb* requests[], int count, sigevent* event) {
  DEADHEAT_ORIGINAL(getaddrinfo_a);
  for (int index = 0; index < count && is_observing(); ++index) {
    if (requests[index] == nullptr) continue;
    report_read(requests[index], sizeof(*requests[index]), DEADHEAT_CALLER);
    report_text_read(requests[index]->ar_name, DEADHEAT_CALLER);
    report_text_read(requests[index]->ar_service, DEADHEAT_CALLER);
    give_to_unannounced(DEADHEAT_CALLER);
    on_happens_before(self(), address_of(requests[index]), DEADHEAT_CALLER);
  }
  const int result = original(mode, requests, count, event);
  if (mode == GAI_WAIT) see_names(requests, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, gai_suspend, const gaicb* const requests[], int count, const timespec* limit) {
  DEADHEAT_ORIGINAL(gai_suspend);
  const int result = original(requests, count, limit);
  see_names(requests, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, gai_error, gaicb* request) {
  DEADHEAT_ORIGINAL(gai_error);
  const int result = original(request);
  if (result != EAI_INPROGRESS && is_observing()) on_happens_after(self(), address_of(request), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, gai_cancel, gaicb* request) {
  DEADHEAT_ORIGINAL(gai_cancel);
  const int result = original(request);
  if (result != EAI_NOTCANCELED && is_observing()) on_happens_after(self(), address_of(request), DEADHEAT_CALLER);
  return result;
}
