// SPDX-License-Identifier: Apache-2.0
// Functions on strings: str*.
//
// Each reports exactly the bytes that C says it touches: a comparison reads up
// to and including the first difference, a search up to the match, a copy
// includes the terminator. libc itself reads ahead in whole vectors, which no
// program can observe. The accesses are reported beside the call rather than in
// front of it, because only the call knows how far it goes.
//
// Comparisons walk the strings once more, byte by byte; that is dearer than
// libc's vectors and cheap against the check of the bytes.
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/heap.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

std::size_t length_of(const char* text) {
  static constinit RealFunction<std::size_t(const char*)> original;
  return original.get("strlen")(text);
}
std::size_t length_of(const char* text, std::size_t limit) {
  static constinit RealFunction<std::size_t(const char*, std::size_t)> original;
  return original.get("strnlen")(text, limit);
}
void copy_bytes(void* to, const void* from, std::size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// The distance from `begin` to the match plus the match, or the whole string
// with its terminator.
std::size_t searched(const char* begin, const char* found) {
  return found != nullptr ? static_cast<std::size_t>(found - begin) + 1 : length_of(begin) + 1;
}

enum class Case : std::uint8_t { kMatters, kIgnored };

int folded(unsigned char byte, Case letters) {
  if (letters == Case::kMatters) return byte;
  DEADHEAT_LOOKED_UP(tolower, "tolower");
  static constinit RealFunction<int(int)> lower;
  return lower.get("tolower")(byte);
}

// Reports what a comparison of at most `limit` bytes reads. Folding by the
// locale stays libc's business except for where the walk ends.
void report_comparison(const char* left, const char* right, std::size_t limit, Case letters, Address code) {
  std::size_t count = 0;
  while (count < limit) {
    const auto a = static_cast<unsigned char>(left[count]);
    const auto b = static_cast<unsigned char>(right[count]);
    ++count;
    if (a == 0 || (a != b && folded(a, letters) != folded(b, letters))) break;
  }
  on_read(left, count, code);
  on_read(right, count, code);
}

constexpr std::size_t kNoLimit = SIZE_MAX;

void report_copy(char* to, const char* from, std::size_t size, Address code) {
  on_read(from, size, code);
  on_write(to, size, code);
}

// What strncpy reads and writes: it pads.
void report_padded_copy(char* to, const char* from, std::size_t size, Address code) {
  const std::size_t length = length_of(from, size);
  on_read(from, length < size ? length + 1 : size, code);
  on_write(to, size, code);
}

// Reads both, writes from the old terminator on. Before the call: it moves the end.
void report_append(char* to, const char* from, std::size_t limit, Address code) {
  const std::size_t old = length_of(to);
  const std::size_t added = length_of(from, limit);
  on_read(to, old + 1, code);
  on_read(from, added < limit ? added + 1 : limit, code);
  on_write(to + old, added + 1, code);
}

char* duplicate(const char* text, std::size_t length, std::size_t read, Address code) {
  auto* const copy = static_cast<char*>(allocate_block(length + 1, code));
  if (copy == nullptr) return nullptr;
  copy_bytes(copy, text, length);
  copy[length] = 0;
  if (is_observing_accesses()) report_copy(copy, text, length + 1 < read ? length + 1 : read, code);
  return copy;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(std::size_t, strlen, const char* text) {
  DEADHEAT_ORIGINAL(strlen);
  const std::size_t length = original(text);
  if (is_observing_accesses()) on_read(text, length + 1, DEADHEAT_CALLER);
  return length;
}
DEADHEAT_REPLACE(std::size_t, strnlen, const char* text, std::size_t limit) {
  DEADHEAT_ORIGINAL(strnlen);
  const std::size_t length = original(text, limit);
  if (is_observing_accesses()) on_read(text, length < limit ? length + 1 : limit, DEADHEAT_CALLER);
  return length;
}

DEADHEAT_REPLACE(char*, strcpy, char* to, const char* from) {
  DEADHEAT_ORIGINAL(strcpy);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(char*, stpcpy, char* to, const char* from) {
  DEADHEAT_ORIGINAL(stpcpy);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(char*, __stpcpy, char* to, const char* from) {
  DEADHEAT_ORIGINAL(__stpcpy);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(char*, strncpy, char* to, const char* from, std::size_t size) {
  DEADHEAT_ORIGINAL(strncpy);
  if (is_observing_accesses()) report_padded_copy(to, from, size, DEADHEAT_CALLER);
  return original(to, from, size);
}
DEADHEAT_REPLACE(char*, stpncpy, char* to, const char* from, std::size_t size) {
  DEADHEAT_ORIGINAL(stpncpy);
  if (is_observing_accesses()) report_padded_copy(to, from, size, DEADHEAT_CALLER);
  return original(to, from, size);
}
DEADHEAT_REPLACE(char*, strcat, char* to, const char* from) {
  DEADHEAT_ORIGINAL(strcat);
  if (is_observing_accesses()) report_append(to, from, kNoLimit, DEADHEAT_CALLER);
  return original(to, from);
}
DEADHEAT_REPLACE(char*, strncat, char* to, const char* from, std::size_t limit) {
  DEADHEAT_ORIGINAL(strncat);
  if (is_observing_accesses()) report_append(to, from, limit, DEADHEAT_CALLER);
  return original(to, from, limit);
}

// The checked forms report first: should the check fail, the program ends anyway.
DEADHEAT_REPLACE(char*, __strcpy_chk, char* to, const char* from, std::size_t room) {
  DEADHEAT_ORIGINAL(__strcpy_chk);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from, room);
}
DEADHEAT_REPLACE(char*, __stpcpy_chk, char* to, const char* from, std::size_t room) {
  DEADHEAT_ORIGINAL(__stpcpy_chk);
  if (is_observing_accesses()) report_copy(to, from, length_of(from) + 1, DEADHEAT_CALLER);
  return original(to, from, room);
}
DEADHEAT_REPLACE(char*, __strncpy_chk, char* to, const char* from, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__strncpy_chk);
  if (is_observing_accesses()) report_padded_copy(to, from, size, DEADHEAT_CALLER);
  return original(to, from, size, room);
}
DEADHEAT_REPLACE(char*, __stpncpy_chk, char* to, const char* from, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__stpncpy_chk);
  if (is_observing_accesses()) report_padded_copy(to, from, size, DEADHEAT_CALLER);
  return original(to, from, size, room);
}
DEADHEAT_REPLACE(char*, __strcat_chk, char* to, const char* from, std::size_t room) {
  DEADHEAT_ORIGINAL(__strcat_chk);
  if (is_observing_accesses()) report_append(to, from, kNoLimit, DEADHEAT_CALLER);
  return original(to, from, room);
}
DEADHEAT_REPLACE(char*, __strncat_chk, char* to, const char* from, std::size_t limit, std::size_t room) {
  DEADHEAT_ORIGINAL(__strncat_chk);
  if (is_observing_accesses()) report_append(to, from, limit, DEADHEAT_CALLER);
  return original(to, from, limit, room);
}

DEADHEAT_REPLACE(int, strcmp, const char* left, const char* right) {
  DEADHEAT_ORIGINAL(strcmp);
  if (is_observing_accesses()) report_comparison(left, right, kNoLimit, Case::kMatters, DEADHEAT_CALLER);
  return original(left, right);
}
DEADHEAT_REPLACE(int, strncmp, const char* left, const char* right, std::size_t limit) {
  DEADHEAT_ORIGINAL(strncmp);
  if (is_observing_accesses()) report_comparison(left, right, limit, Case::kMatters, DEADHEAT_CALLER);
  return original(left, right, limit);
}
DEADHEAT_REPLACE(int, strcasecmp, const char* left, const char* right) {
  DEADHEAT_ORIGINAL(strcasecmp);
  if (is_observing_accesses()) report_comparison(left, right, kNoLimit, Case::kIgnored, DEADHEAT_CALLER);
  return original(left, right);
}
DEADHEAT_REPLACE(int, strncasecmp, const char* left, const char* right, std::size_t limit) {
  DEADHEAT_ORIGINAL(strncasecmp);
  if (is_observing_accesses()) report_comparison(left, right, limit, Case::kIgnored, DEADHEAT_CALLER);
  return original(left, right, limit);
}
// The order of a locale depends on whole strings.
DEADHEAT_REPLACE(int, strcoll, const char* left, const char* right) {
  DEADHEAT_ORIGINAL(strcoll);
  if (is_observing_accesses()) {
    on_read(left, length_of(left) + 1, DEADHEAT_CALLER);
    on_read(right, length_of(right) + 1, DEADHEAT_CALLER);
  }
  return original(left, right);
}
DEADHEAT_REPLACE(std::size_t, strxfrm, char* to, const char* from, std::size_t size) {
  DEADHEAT_ORIGINAL(strxfrm);
  const std::size_t length = original(to, from, size);
  if (is_observing_accesses()) {
    on_read(from, length_of(from) + 1, DEADHEAT_CALLER);
    if (length < size) on_write(to, length + 1, DEADHEAT_CALLER);
  }
  return length;
}

DEADHEAT_REPLACE(char*, strchr, const char* text, int value) {
  DEADHEAT_ORIGINAL(strchr);
  char* const found = original(text, value);
  if (is_observing_accesses()) on_read(text, searched(text, found), DEADHEAT_CALLER);
  return found;
}
DEADHEAT_REPLACE(char*, index, const char* text, int value) {
  DEADHEAT_ORIGINAL(index);
  char* const found = original(text, value);
  if (is_observing_accesses()) on_read(text, searched(text, found), DEADHEAT_CALLER);
  return found;
}
DEADHEAT_REPLACE(char*, strchrnul, const char* text, int value) {
  DEADHEAT_ORIGINAL(strchrnul);
  char* const found = original(text, value);
  if (is_observing_accesses()) on_read(text, searched(text, found), DEADHEAT_CALLER);
  return found;
}
// The last match: the whole string is read.
DEADHEAT_REPLACE(char*, strrchr, const char* text, int value) {
  DEADHEAT_ORIGINAL(strrchr);
  if (is_observing_accesses()) on_read(text, length_of(text) + 1, DEADHEAT_CALLER);
  return original(text, value);
}
DEADHEAT_REPLACE(char*, rindex, const char* text, int value) {
  DEADHEAT_ORIGINAL(rindex);
  if (is_observing_accesses()) on_read(text, length_of(text) + 1, DEADHEAT_CALLER);
  return original(text, value);
}
DEADHEAT_REPLACE(char*, strstr, const char* text, const char* part) {
  DEADHEAT_ORIGINAL(strstr);
  char* const found = original(text, part);
  if (is_observing_accesses()) {
    const std::size_t part_length = length_of(part);
    on_read(part, part_length + 1, DEADHEAT_CALLER);
    on_read(text, found ? static_cast<std::size_t>(found - text) + part_length : length_of(text) + 1, DEADHEAT_CALLER);
  }
  return found;
}
DEADHEAT_REPLACE(char*, strcasestr, const char* text, const char* part) {
  DEADHEAT_ORIGINAL(strcasestr);
  char* const found = original(text, part);
  if (is_observing_accesses()) {
    const std::size_t part_length = length_of(part);
    on_read(part, part_length + 1, DEADHEAT_CALLER);
    on_read(text, found ? static_cast<std::size_t>(found - text) + part_length : length_of(text) + 1, DEADHEAT_CALLER);
  }
  return found;
}
DEADHEAT_REPLACE(std::size_t, strspn, const char* text, const char* set) {
  DEADHEAT_ORIGINAL(strspn);
  const std::size_t length = original(text, set);
  if (is_observing_accesses()) {
    on_read(set, length_of(set) + 1, DEADHEAT_CALLER);
    on_read(text, length + 1, DEADHEAT_CALLER);
  }
  return length;
}
DEADHEAT_REPLACE(std::size_t, strcspn, const char* text, const char* set) {
  DEADHEAT_ORIGINAL(strcspn);
  const std::size_t length = original(text, set);
  if (is_observing_accesses()) {
    on_read(set, length_of(set) + 1, DEADHEAT_CALLER);
    on_read(text, length + 1, DEADHEAT_CALLER);
  }
  return length;
}
DEADHEAT_REPLACE(char*, strpbrk, const char* text, const char* set) {
  DEADHEAT_ORIGINAL(strpbrk);
  char* const found = original(text, set);
  if (is_observing_accesses()) {
    on_read(set, length_of(set) + 1, DEADHEAT_CALLER);
    on_read(text, searched(text, found), DEADHEAT_CALLER);
  }
  return found;
}

DEADHEAT_REPLACE(char*, strdup, const char* text) {
  const std::size_t length = length_of(text);
  return duplicate(text, length, length + 1, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, __strdup, const char* text) {
  const std::size_t length = length_of(text);
  return duplicate(text, length, length + 1, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, strndup, const char* text, std::size_t limit) {
  return duplicate(text, length_of(text, limit), limit, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, __strndup, const char* text, std::size_t limit) {
  return duplicate(text, length_of(text, limit), limit, DEADHEAT_CALLER);
}

// A token is cut out of the string by a terminator; `rest` remembers where to go
// on. The walk reads from where it began to that place.
namespace deadheat::runtime {
namespace {

template <class Original>
char* take_token(Original* original, char* text, const char* delimiters, char** rest, Address code) {
  const char* const begin = text != nullptr ? text : *rest;
  const bool continues = text == nullptr;
  char* const token = original(text, delimiters, rest);
  if (!is_observing_accesses()) return token;
  on_read(delimiters, length_of(delimiters) + 1, code);
  if (continues) on_read(rest, sizeof(*rest), code);
  on_write(rest, sizeof(*rest), code);
  if (begin != nullptr && *rest >= begin) {
    on_read(begin, static_cast<std::size_t>(*rest - begin), code);
    if (token != nullptr && *rest > begin && (*rest)[-1] == 0) on_write(*rest - 1, 1, code);
  }
  return token;
}

// Where strtok goes on, for all threads: libc's own place is not to be seen.
constinit char* rest_of_text = nullptr;

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_REPLACE(char*, strtok_r, char* text, const char* delimiters, char** rest) {
  DEADHEAT_ORIGINAL(strtok_r);
  return take_token(original, text, delimiters, rest, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, strtok, char* text, const char* delimiters) {
  static constinit RealFunction<decltype(replaced_strtok_r)> original;
  return take_token(original.get("strtok_r"), text, delimiters, &rest_of_text, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, strsep, char** text, const char* delimiters) {
  DEADHEAT_ORIGINAL(strsep);
  char* const token = original(text, delimiters);
  if (!is_observing_accesses()) return token;
  on_read(delimiters, length_of(delimiters) + 1, DEADHEAT_CALLER);
  on_read(text, sizeof(*text), DEADHEAT_CALLER);
  if (token == nullptr) return token;
  on_write(text, sizeof(*text), DEADHEAT_CALLER);
  const std::size_t length = length_of(token);
  on_read(token, length + 1, DEADHEAT_CALLER);
  if (*text != nullptr) on_write(token + length, 1, DEADHEAT_CALLER);
  return token;
}
DEADHEAT_ALSO(__strtok_r, strtok_r);
DEADHEAT_ALSO(__stpncpy, stpncpy);
