// SPDX-License-Identifier: Apache-2.0
// Functions that do not fit into a row (described.h): strfmon, which is
// given numbers in other registers; backtrace, which must not find us.
#include <clocale>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/described.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

using Word = std::uint64_t;

// The first entry is the place in us.
constexpr int kMostEntries = 512;

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// A sum of money has as many numbers as fit into registers.
#define DEADHEAT_FORMATS_MONEY(name, ...)                                                                           \
  DEADHEAT_REPLACE(ssize_t, name, char* text, std::size_t room, Word c, Word d, Word e, Word f, double p, double q, \
                   double r, double s, double t, double u, double v, double w) {                                    \
    using Function = ssize_t(char*, std::size_t, Word, ...);                                                        \
    DEADHEAT_ORIGINAL(name);                                                                                        \
    report_text_read(reinterpret_cast<const char*>(__VA_ARGS__), DEADHEAT_CALLER);                                  \
    const ssize_t length = reinterpret_cast<Function*>(original)(text, room, c, d, e, f, p, q, r, s, t, u, v, w);   \
    if (length >= 0) report_written(text, static_cast<std::size_t>(length) + 1, DEADHEAT_CALLER);                   \
    return length;                                                                                                  \
  }
DEADHEAT_FORMATS_MONEY(strfmon, c)
DEADHEAT_FORMATS_MONEY(strfmon_l, d)
DEADHEAT_ALSO(__strfmon_l, strfmon_l);

DEADHEAT_REPLACE(int, backtrace, void** entries, int room) {
  DEADHEAT_ORIGINAL(backtrace);
  if (room <= 0 || room >= kMostEntries || !is_observing_accesses()) return original(entries, room);
  void* mine[kMostEntries];
  const int found = original(mine, room + 1);
  int count = 0;
  for (int index = 1; index < found; ++index) entries[count++] = mine[index];
  report_written(entries, static_cast<std::size_t>(count) * sizeof(void*), DEADHEAT_CALLER);
  return count;
}
DEADHEAT_ALSO(__backtrace, backtrace);
