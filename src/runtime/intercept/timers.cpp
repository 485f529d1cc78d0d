// SPDX-License-Identifier: Apache-2.0
// Timers: setting one happens before what it starts: a signal, a thread of libc's own
// (SIGEV_THREAD), a descriptor that becomes readable.
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <ctime>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/notices.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

void before_interval(Address code) {
  give_to_kernel(KernelObject::kIntervalTimer, 0, 0, code);
  give_to_kernel(KernelObject::kAnySignal, 0, 0, code);
}

std::uint64_t number_of(timer_t timer) { return address_of(timer); }

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(unsigned, alarm, unsigned seconds) {
  DEADHEAT_ORIGINAL(alarm);
  before_interval(DEADHEAT_CALLER);
  return original(seconds);
}
DEADHEAT_REPLACE(unsigned, ualarm, unsigned first, unsigned every) {
  DEADHEAT_ORIGINAL(ualarm);
  before_interval(DEADHEAT_CALLER);
  return original(first, every);
}
DEADHEAT_REPLACE(int, setitimer, int which, const itimerval* value, itimerval* old) {
  DEADHEAT_ORIGINAL(setitimer);
  report_read(value, sizeof(*value), DEADHEAT_CALLER);
  before_interval(DEADHEAT_CALLER);
  const int result = original(which, value, old);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, timer_create, clockid_t clock, sigevent* event, timer_t* timer) {
  DEADHEAT_ORIGINAL(timer_create);
  if (event == nullptr || event->sigev_notify != SIGEV_THREAD || !is_observing()) {
    const int result = original(clock, event, timer);
    if (result == 0) report_written(timer, sizeof(*timer), DEADHEAT_CALLER);
    return result;
  }
  sigevent ours = *event;
  Notice* const notice = make_notice(ours, NoticeLife::kMany);
  const int result = original(clock, notice != nullptr ? &ours : event, timer);
  if (result != 0) {
    drop_notice(notice);
    return result;
  }
  report_written(timer, sizeof(*timer), DEADHEAT_CALLER);
  name_notice(notice, kernel_tag(KernelObject::kTimer, number_of(*timer)));
  return result;
}
DEADHEAT_REPLACE(int, timer_settime, timer_t timer, int flags, const itimerspec* value, itimerspec* old) {
  DEADHEAT_ORIGINAL(timer_settime);
  if (is_observing()) {
    report_read(value, sizeof(*value), DEADHEAT_CALLER);
    give_to_kernel(KernelObject::kTimer, number_of(timer), 0, DEADHEAT_CALLER);
    give_to_kernel(KernelObject::kAnyTimer, 0, 0, DEADHEAT_CALLER);
    give_to_kernel(KernelObject::kAnySignal, 0, 0, DEADHEAT_CALLER);
  }
  const int result = original(timer, flags, value, old);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, timer_gettime, timer_t timer, itimerspec* value) {
  DEADHEAT_ORIGINAL(timer_gettime);
  const int result = original(timer, value);
  if (result == 0) report_written(value, sizeof(*value), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, timerfd_settime, int descriptor, int flags, const itimerspec* value, itimerspec* old) {
  DEADHEAT_ORIGINAL(timerfd_settime);
  report_read(value, sizeof(*value), DEADHEAT_CALLER);
  before_sending(descriptor, DEADHEAT_CALLER);
  const int result = original(descriptor, flags, value, old);
  if (result == 0) report_written(old, sizeof(*old), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, timerfd_gettime, int descriptor, itimerspec* value) {
  DEADHEAT_ORIGINAL(timerfd_gettime);
  const int result = original(descriptor, value);
  if (result == 0) report_written(value, sizeof(*value), DEADHEAT_CALLER);
  return result;
}
