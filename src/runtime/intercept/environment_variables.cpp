// SPDX-License-Identifier: Apache-2.0
// Environment variables and the locale: things that a process has one of.
//
// The environment counts as one object, which the variable `environ` stands for: getenv reads it,
// setenv and its relatives write it, and POSIX lets them race. So do programs that walk `environ`
// themselves. The locale is another: setlocale writes it unless it only asks. Reading the locale
// beside that (nearly all of stdio and ctype.h do) is not reported.
#include <clocale>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/described.h"

extern "C" char** environ;

namespace deadheat::runtime {
namespace {

void reads_environment(const DescribedCall& call) { on_read(&environ, sizeof(environ), call.code); }
void writes_environment(const DescribedCall& call) { on_write(&environ, sizeof(environ), call.code); }

constinit char the_locale;

void uses_locale(const DescribedCall& call) {
  call.value(2) != 0 ? on_write(&the_locale, 1, call.code) : on_read(&the_locale, 1, call.code);
}
void describes_locale(const DescribedCall& call) {
  on_read(&the_locale, 1, call.code);
  on_write(call.pointer<const void>(0), sizeof(lconv), call.code);
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_DESCRIBE(getenv, kAlways, reads_text(1), before(reads_environment))
DEADHEAT_DESCRIBE(secure_getenv, kAlways, reads_text(1), before(reads_environment))
DEADHEAT_DESCRIBE(setenv, kAlways, reads_text(1), reads_text(2), before(writes_environment))
DEADHEAT_DESCRIBE(unsetenv, kAlways, reads_text(1), before(writes_environment))
DEADHEAT_DESCRIBE(putenv, kAlways, reads_text(1), before(writes_environment))
DEADHEAT_DESCRIBE(clearenv, kAlways, before(writes_environment))

DEADHEAT_DESCRIBE(setlocale, kAlways, reads_text(2), before(uses_locale))
DEADHEAT_DESCRIBE(localeconv, kNotNull, after(describes_locale))
DEADHEAT_DESCRIBE(newlocale, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(__newlocale, kAlways, reads_text(2))
