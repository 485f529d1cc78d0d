// SPDX-License-Identifier: Apache-2.0
// Message queues of POSIX: descriptors of a kind, whose messages come from who sent
// one to the queue of that name. A notice (mq_notify) comes from who asked for it and
// from who sent the message that it is about.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <cstddef>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/notices.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

using Count = long;  // ssize_t

KernelTag queue_tag(int queue) {
  struct stat about{};
  if (raw_call(SYS_fstat, queue, reinterpret_cast<long>(&about)) != 0) return kNoTag;
  return kernel_tag(KernelObject::kMessageQueue, about.st_dev, about.st_ino);
}

int opened(int queue, Address code) {
  if (queue < 0 || !is_observing()) return queue;
  const KeepErrno keep;
  forget_descriptor(queue);
  note_made(queue, Made::kByName);
  name_channel(queue, queue_tag(queue));
  after_opening(queue, code);
  return queue;
}

void before_message(int queue, const char* message, std::size_t size, Address code) {
  if (!is_observing()) return;
  report_read(message, size, code);
  before_sending(queue, code);
  give_to_kernel(KernelObject::kQueueNotice, 0, 0, code);
}

Count received(int queue, const char* message, const unsigned* priority, Count count, Address code) {
  if (count < 0 || !is_observing()) return count;
  after_receiving(queue, code);
  report_written(message, static_cast<std::size_t>(count), code);
  report_written(priority, sizeof(*priority), code);
  return count;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(mqd_t, mq_open, const char* name, int flags, ...) {
  DEADHEAT_ORIGINAL(mq_open);
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, unsigned);  // rubbish if there is none, and then not looked at
  const auto attributes = va_arg(rest, const mq_attr*);
  va_end(rest);
  if ((flags & O_CREAT) == 0) return opened(original(name, flags), DEADHEAT_CALLER);
  report_read(attributes, sizeof(*attributes), DEADHEAT_CALLER);
  return opened(original(name, flags, mode, attributes), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, mq_close, mqd_t queue) {
  DEADHEAT_ORIGINAL(mq_close);
  before_closing(queue, DEADHEAT_CALLER);
  forget_descriptor(queue);
  return original(queue);
}
DEADHEAT_REPLACE(int, mq_send, mqd_t queue, const char* message, std::size_t size, unsigned priority) {
  DEADHEAT_ORIGINAL(mq_send);
  before_message(queue, message, size, DEADHEAT_CALLER);
  return original(queue, message, size, priority);
}
DEADHEAT_REPLACE(int, mq_timedsend, mqd_t queue, const char* message, std::size_t size, unsigned priority,
                 const timespec* limit) {
  DEADHEAT_ORIGINAL(mq_timedsend);
  before_message(queue, message, size, DEADHEAT_CALLER);
  return original(queue, message, size, priority, limit);
}
DEADHEAT_REPLACE(Count, mq_receive, mqd_t queue, char* message, std::size_t size, unsigned* priority) {
  DEADHEAT_ORIGINAL(mq_receive);
  return received(queue, message, priority, original(queue, message, size, priority), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, mq_timedreceive, mqd_t queue, char* message, std::size_t size, unsigned* priority,
                 const timespec* limit) {
  DEADHEAT_ORIGINAL(mq_timedreceive);
  return received(queue, message, priority, original(queue, message, size, priority, limit), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, mq_notify, mqd_t queue, const sigevent* event) {
  DEADHEAT_ORIGINAL(mq_notify);
  if (event == nullptr || !is_observing()) return original(queue, event);
  give_to_kernel(KernelObject::kQueueNotice, 0, 0, DEADHEAT_CALLER);
  give_to_kernel(KernelObject::kAnySignal, 0, 0, DEADHEAT_CALLER);
  if (event->sigev_notify != SIGEV_THREAD) return original(queue, event);
  sigevent ours = *event;
  Notice* const notice = make_notice(ours, NoticeLife::kOnce);
  name_notice(notice, kernel_tag(KernelObject::kQueueNotice));
  const int result = original(queue, notice != nullptr ? &ours : event);
  if (result != 0) drop_notice(notice);
  return result;
}
DEADHEAT_REPLACE(int, mq_getattr, mqd_t queue, mq_attr* attributes) {
  DEADHEAT_ORIGINAL(mq_getattr);
  const int result = original(queue, attributes);
  if (result == 0) report_written(attributes, sizeof(*attributes), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, mq_setattr, mqd_t queue, const mq_attr* attributes, mq_attr* old) {
  DEADHEAT_ORIGINAL(mq_setattr);
  report_read(attributes, sizeof(*attributes), DEADHEAT_CALLER);
  const int result = original(queue, attributes, old);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  return result;
}
