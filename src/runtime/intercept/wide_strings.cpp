// SPDX-License-Identifier: Apache-2.0
// Functions on strings of wide characters: the common wcs* and wmem*. The same
// rules as for str*, in units of wchar_t; see strings.cpp.
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/heap.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kUnit = sizeof(wchar_t);

std::size_t length_of(const wchar_t* text) {
  static constinit RealFunction<std::size_t(const wchar_t*)> original;
  return original.get("wcslen")(text);
}
std::size_t length_of(const wchar_t* text, std::size_t limit) {
  static constinit RealFunction<std::size_t(const wchar_t*, std::size_t)> original;
  return original.get("wcsnlen")(text, limit);
}

std::size_t searched(const wchar_t* begin, const wchar_t* found) {
  return (found != nullptr ? static_cast<std::size_t>(found - begin) + 1 : length_of(begin) + 1) * kUnit;
}

void report_comparison(const wchar_t* left, const wchar_t* right, std::size_t limit, Address code) {
  std::size_t count = 0;
  while (count < limit) {
    const wchar_t a = left[count];
    const wchar_t b = right[count];
    ++count;
    if (a == 0 || a != b) break;
  }
  on_read(left, count * kUnit, code);
  on_read(right, count * kUnit, code);
}

void report_copy(wchar_t* to, const wchar_t* from, std::size_t count, Address code) {
  on_read(from, count * kUnit, code);
  on_write(to, count * kUnit, code);
}

void report_append(wchar_t* to, const wchar_t* from, std::size_t limit, Address code) {
  const std::size_t old = length_of(to);
  const std::size_t added = length_of(from, limit);
  on_read(to, (old + 1) * kUnit, code);
  on_read(from, (added < limit ? added + 1 : limit) * kUnit, code);
  on_write(to + old, (added + 1) * kUnit, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(std::size_t, wcslen, const wchar_t* text) {
  DEADHEAT_ORIGINAL(wcslen);
  const std::size_t length = original(text);
  if (is_observing_accesses()) on_read(text, (length + 1) * kUnit, DEADHEAT_CALLER);
  return length;
}
DEADHEAT_REPLACE(std::size_t, wcsnlen, const wchar_t* text, std::size_t limit) {
  DEADHEAT_ORIGINAL(wcsnlen);
  const std::size_t length = original(text, limit);
  if (is_observing_accesses()) on_read(text, (length < limit ? length + 1 : limit) * kUnit, DEADHEAT_CALLER);
  return length;
}
DEADHEAT_REPLACE(wchar_t*, wcscpy, wchar_t* to, const wchar_t* from) {
  DEADHEAT_ORIGINAL(wcscpy);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(wchar_t*, wcsncpy, wchar_t* to, const wchar_t* from, std::size_t count) {
  DEADHEAT_ORIGINAL(wcsncpy);
  if (is_observing_accesses()) {
    const std::size_t length = length_of(from, count);
    on_read(from, (length < count ? length + 1 : count) * kUnit, DEADHEAT_CALLER);
    on_write(to, count * kUnit, DEADHEAT_CALLER);
  }
  return original(to, from, count);
}
DEADHEAT_REPLACE(wchar_t*, wcscat, wchar_t* to, const wchar_t* from) {
  DEADHEAT_ORIGINAL(wcscat);
  if (is_observing_accesses()) report_append(to, from, SIZE_MAX / kUnit, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(wchar_t*, wcsncat, wchar_t* to, const wchar_t* from, std::size_t limit) {
  DEADHEAT_ORIGINAL(wcsncat);
  if (is_observing_accesses()) report_append(to, from, limit, DEADHEAT_CALLER);
  return original(to, from, limit);
}
DEADHEAT_REPLACE(int, wcscmp, const wchar_t* left, const wchar_t* right) {
  DEADHEAT_ORIGINAL(wcscmp);
  if (is_observing_accesses()) report_comparison(left, right, SIZE_MAX, DEADHEAT_CALLER);
  return original(left, right);
}
DEADHEAT_REPLACE(int, wcsncmp, const wchar_t* left, const wchar_t* right, std::size_t limit) {
  DEADHEAT_ORIGINAL(wcsncmp);
  if (is_observing_accesses()) report_comparison(left, right, limit, DEADHEAT_CALLER);
  return original(left, right, limit);
}
DEADHEAT_REPLACE(wchar_t*, wcschr, const wchar_t* text, wchar_t value) {
  DEADHEAT_ORIGINAL(wcschr);
  wchar_t* const found = original(text, value);
  if (is_observing_accesses()) on_read(text, searched(text, found), DEADHEAT_CALLER);
  return found;
}
DEADHEAT_REPLACE(wchar_t*, wcsrchr, const wchar_t* text, wchar_t value) {
  DEADHEAT_ORIGINAL(wcsrchr);
  if (is_observing_accesses()) on_read(text, (length_of(text) + 1) * kUnit, DEADHEAT_CALLER);
  return original(text, value);
}
DEADHEAT_REPLACE(wchar_t*, wcsstr, const wchar_t* text, const wchar_t* part) {
  DEADHEAT_ORIGINAL(wcsstr);
  wchar_t* const found = original(text, part);
  if (is_observing_accesses()) {
    const std::size_t part_length = length_of(part);
    const std::size_t read = found ? static_cast<std::size_t>(found - text) + part_length : length_of(text) + 1;
    on_read(part, (part_length + 1) * kUnit, DEADHEAT_CALLER);
    on_read(text, read * kUnit, DEADHEAT_CALLER);
  }
  return found;
}
DEADHEAT_REPLACE(wchar_t*, wcsdup, const wchar_t* text) {
  const std::size_t size = (length_of(text) + 1) * kUnit;
  void* const copy = allocate_block(size, DEADHEAT_CALLER);
  if (copy == nullptr) return nullptr;
  void* to = copy;
  const void* from = text;
  std::size_t count = size;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  if (is_observing_accesses()) report_copy(static_cast<wchar_t*>(copy), text, size / kUnit, DEADHEAT_CALLER);
  return static_cast<wchar_t*>(copy);
}

DEADHEAT_REPLACE(wchar_t*, wmemcpy, wchar_t* to, const wchar_t* from, std::size_t count) {
  DEADHEAT_ORIGINAL(wmemcpy);
  if (is_observing_accesses()) report_copy(to, from, count, DEADHEAT_CALLER);
  return original(to, from, count);
}
DEADHEAT_REPLACE(wchar_t*, wmempcpy, wchar_t* to, const wchar_t* from, std::size_t count) {
  DEADHEAT_ORIGINAL(wmempcpy);
  if (is_observing_accesses()) report_copy(to, from, count, DEADHEAT_CALLER);
  return original(to, from, count);
}
DEADHEAT_REPLACE(wchar_t*, wmemmove, wchar_t* to, const wchar_t* from, std::size_t count) {
  DEADHEAT_ORIGINAL(wmemmove);
  if (is_observing_accesses()) report_copy(to, from, count, DEADHEAT_CALLER);
  return original(to, from, count);
}
DEADHEAT_REPLACE(wchar_t*, wmemset, wchar_t* to, wchar_t value, std::size_t count) {
  DEADHEAT_ORIGINAL(wmemset);
  if (is_observing_accesses()) on_write(to, count * kUnit, DEADHEAT_CALLER);
  return original(to, value, count);
}
DEADHEAT_REPLACE(int, wmemcmp, const wchar_t* left, const wchar_t* right, std::size_t count) {
  DEADHEAT_ORIGINAL(wmemcmp);
  if (is_observing_accesses()) {
    on_read(left, count * kUnit, DEADHEAT_CALLER);
    on_read(right, count * kUnit, DEADHEAT_CALLER);
  }
  return original(left, right, count);
}
DEADHEAT_REPLACE(wchar_t*, wmemchr, const wchar_t* text, wchar_t value, std::size_t count) {
  DEADHEAT_ORIGINAL(wmemchr);
  wchar_t* const found = original(text, value, count);
  if (is_observing_accesses()) {
    on_read(text, (found ? static_cast<std::size_t>(found - text) + 1 : count) * kUnit, DEADHEAT_CALLER);
  }
  return found;
}

// Between bytes and wide characters. A result of -1 leaves an unknown part
// written, which is not reported.
DEADHEAT_REPLACE(std::size_t, mbstowcs, wchar_t* to, const char* from, std::size_t count) {
  DEADHEAT_ORIGINAL(mbstowcs);
  const std::size_t made = original(to, from, count);
  if (to != nullptr && made != SIZE_MAX) report_written(to, (made < count ? made + 1 : made) * kUnit, DEADHEAT_CALLER);
  return made;
}
DEADHEAT_REPLACE(std::size_t, wcstombs, char* to, const wchar_t* from, std::size_t size) {
  DEADHEAT_ORIGINAL(wcstombs);
  const std::size_t made = original(to, from, size);
  if (to != nullptr && made != SIZE_MAX) report_written(to, made < size ? made + 1 : made, DEADHEAT_CALLER);
  return made;
}
