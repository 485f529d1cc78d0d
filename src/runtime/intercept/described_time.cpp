// SPDX-License-Identifier: Apache-2.0
// Described functions: time and date. (described.h)
//
// asctime and ctime return one text of libc's; getdate one structure. Two threads that call them race on it.
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/timex.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kTime = sizeof(std::time_t);
constexpr std::size_t kParts = sizeof(tm);

// Asked for a time that has come, and slept through: what is left is written only after a signal.
void leaves_rest(const DescribedCall& call) {
  constexpr std::uint64_t kAbsolute = 1;
  if (call.integer(0) == EINTR && (call.value(2) & kAbsolute) == 0 && call.value(4) != 0) {
    on_write(call.pointer<const void>(4), sizeof(timespec), call.code);
  }
}
// thrd_sleep returns -1 after a signal.
void leaves_rest_of_sleep(const DescribedCall& call) {
  if (call.integer(0) == -1 && call.value(2) != 0) on_write(call.pointer<const void>(2), sizeof(timespec), call.code);
}
void formats(const DescribedCall& call) {
  if (call.result != 0) on_write(call.pointer<const void>(1), call.result + 1, call.code);
}
void formats_wide(const DescribedCall& call) {
  if (call.result != 0) on_write(call.pointer<const void>(1), (call.result + 1) * sizeof(wchar_t), call.code);
}
// strptime(text, format, parts) stops at the end of what it took.
void takes_time(const DescribedCall& call) {
  const auto* const text = call.pointer<const char>(1);
  const auto* const end = call.pointer<const char>(0);
  on_read(text, end != nullptr ? static_cast<std::size_t>(end - text) : 1, call.code);
  if (end != nullptr) on_write(call.pointer<const void>(3), kParts, call.code);
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_DESCRIBE(asctime, kNotNull, reads(1, kParts), writes_text(0))
DEADHEAT_DESCRIBE(ctime, kNotNull, reads(1, kTime), writes_text(0))
DEADHEAT_DESCRIBE(__gmtime_r, kNotNull, reads(1, kTime), writes(0, kParts))
DEADHEAT_DESCRIBE(timegm, kAlways, updates(1, kParts))
DEADHEAT_DESCRIBE(timelocal, kAlways, updates(1, kParts))
DEADHEAT_DESCRIBE(strftime_l, kAlways, reads_text(3), reads(4, kParts), after(formats))
DEADHEAT_DESCRIBE(__strftime_l, kAlways, reads_text(3), reads(4, kParts), after(formats))
DEADHEAT_DESCRIBE(wcsftime, kAlways, reads_wide(3), reads(4, kParts), after(formats_wide))
DEADHEAT_DESCRIBE(wcsftime_l, kAlways, reads_wide(3), reads(4, kParts), after(formats_wide))
DEADHEAT_DESCRIBE(__wcsftime_l, kAlways, reads_wide(3), reads(4, kParts), after(formats_wide))
DEADHEAT_DESCRIBE(strptime, kAlways, reads_text(2), after(takes_time))
DEADHEAT_DESCRIBE(strptime_l, kAlways, reads_text(2), after(takes_time))
DEADHEAT_DESCRIBE(getdate, kNotNull, reads_text(1), writes(0, kParts))
DEADHEAT_DESCRIBE(getdate_r, kZero, reads_text(1), writes(2, kParts))

DEADHEAT_DESCRIBE(__gettimeofday, kZero, writes(1, sizeof(timeval)))
DEADHEAT_DESCRIBE(settimeofday, kAlways, reads(1, sizeof(timeval)))
DEADHEAT_DESCRIBE(adjtime, kZero, reads(1, sizeof(timeval)), writes(2, sizeof(timeval)))
DEADHEAT_DESCRIBE(adjtimex, kNotNegative, writes(1, sizeof(timex)))
DEADHEAT_DESCRIBE(__adjtimex, kNotNegative, writes(1, sizeof(timex)))
DEADHEAT_DESCRIBE(ntp_adjtime, kNotNegative, writes(1, sizeof(timex)))
DEADHEAT_DESCRIBE(clock_adjtime, kNotNegative, writes(2, sizeof(timex)))
DEADHEAT_DESCRIBE(ntp_gettime, kNotNegative, writes(1, sizeof(ntptimeval)))
DEADHEAT_DESCRIBE(ntp_gettimex, kNotNegative, writes(1, sizeof(ntptimeval)))
DEADHEAT_DESCRIBE(ftime, kZero, writes(1, sizeof(timeb)))
DEADHEAT_DESCRIBE(clock_settime, kAlways, reads(2, sizeof(timespec)))
DEADHEAT_DESCRIBE(clock_getcpuclockid, kZero, writes(2, sizeof(clockid_t)))
DEADHEAT_DESCRIBE(clock_nanosleep, kAlways, reads(3, sizeof(timespec)), after(leaves_rest))
DEADHEAT_DESCRIBE(thrd_sleep, kAlways, reads(1, sizeof(timespec)), after(leaves_rest_of_sleep))
DEADHEAT_DESCRIBE(timespec_get, kNotNull, writes(1, sizeof(timespec)))
DEADHEAT_DESCRIBE(timespec_getres, kNotNull, writes(1, sizeof(timespec)))
