// SPDX-License-Identifier: Apache-2.0
// The scanf family: reads the format, and the text of sscanf, and writes what the
// conversions store.
//
// The number of conversions done is the result, so the format is walked after the
// call, as far as that many stores. %n stores without being counted: it is
// reported if the walk comes to it. A format with numbered arguments (%2$d) or
// something unknown ends the walk. sscanf counts as reading its whole text, because
// libc looks for its end.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

std::size_t length_of(const char* text) {
  static constinit RealFunction<std::size_t(const char*)> original;
  return original.get("strlen")(text);
}

bool is_one_of(char letter, const char* letters) {
  for (; *letters != 0; ++letters) {
    if (*letters == letter) return true;
  }
  return false;
}

struct Conversion {
  bool is_stored = true;      // no '*'
  bool is_allocated = false;  // 'm'
  std::size_t width = 0;      // 0: not given
  std::size_t whole = sizeof(int);
  std::size_t real = sizeof(float);
  std::size_t letter = sizeof(char);
};

// Everything between '%' and the letter of the conversion.
const char* take_modifiers(const char* at, Conversion& conversion) {
  for (;; ++at) {
    if (*at == '*') {
      conversion.is_stored = false;
    } else if (*at == 'm') {
      conversion.is_allocated = true;
    } else if (*at >= '0' && *at <= '9') {
      conversion.width = conversion.width * 10 + static_cast<std::size_t>(*at - '0');
    } else if (*at == 'h') {
      conversion.whole = conversion.whole == sizeof(short) ? sizeof(char) : sizeof(short);
    } else if (is_one_of(*at, "ljztqL")) {
      conversion.real = *at == 'L' ? sizeof(long double) : sizeof(double);
      conversion.whole = sizeof(long);
      conversion.letter = sizeof(wchar_t);
    } else if (*at != '\'' && *at != 'I') {
      return at;
    }
  }
}

// Past the set of %[...]; `at` is behind the '['.
const char* skip_set(const char* at) {
  if (*at == '^') ++at;
  if (*at == ']') ++at;
  while (*at != 0 && *at != ']') ++at;
  return *at == 0 ? at : at + 1;
}

// Bytes stored through `pointer` by a conversion other than %n; 0 for a letter
// that is not known.
std::size_t stored_size(char letter, const Conversion& conversion, const void* pointer) {
  if (conversion.is_allocated) return sizeof(char*);
  if (is_one_of(letter, "diouxX")) return conversion.whole;
  if (is_one_of(letter, "eEfFgGaA")) return conversion.real;
  if (letter == 'p') return sizeof(void*);
  if (letter == 'c') return (conversion.width == 0 ? 1 : conversion.width) * conversion.letter;
  if ((letter == 's' || letter == '[') && conversion.letter == sizeof(char)) {
    return length_of(static_cast<const char*>(pointer)) + 1;
  }
  return letter == 's' || letter == '[' ? sizeof(wchar_t) : 0;
}

void report_stores(const char* format, va_list arguments, int stores, Address code) {
  if (!is_observing_accesses()) return;
  const KeepErrno keep;
  on_read(format, length_of(format) + 1, code);
  va_list rest;
  va_copy(rest, arguments);
  const char* at = format;
  while (*at != 0) {
    if (*at++ != '%') continue;
    if (*at == '%') {
      ++at;
      continue;
    }
    Conversion conversion;
    at = take_modifiers(at, conversion);
    const char letter = *at;
    if (letter == 0 || letter == '$') break;
    ++at;
    if (letter == '[') at = skip_set(at);
    if (!conversion.is_stored) continue;
    if (letter != 'n' && stores-- <= 0) break;
    const void* const pointer = va_arg(rest, const void*);
    const std::size_t size = letter == 'n' ? conversion.whole : stored_size(letter, conversion, pointer);
    if (size == 0) break;
    on_write(pointer, size, code);
  }
  va_end(rest);
}

void report_text(const char* text, Address code) {
  if (is_observing_accesses()) on_read(text, length_of(text) + 1, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// Each function exists once per meaning of its formats: %a changed with C99, %i
// with C23.
#define DEADHEAT_SCANS(scan_text, scan_stream, scan_input, list_text, list_stream, list_input) \
  DEADHEAT_REPLACE(int, list_text, const char* text, const char* format, va_list arguments) {  \
    DEADHEAT_ORIGINAL(list_text);                                                              \
    report_text(text, DEADHEAT_CALLER);                                                        \
    va_list again;                                                                             \
    va_copy(again, arguments);                                                                 \
    const int stores = original(text, format, arguments);                                      \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                     \
    va_end(again);                                                                             \
    return stores;                                                                             \
  }                                                                                            \
  DEADHEAT_REPLACE(int, list_stream, FILE* stream, const char* format, va_list arguments) {    \
    DEADHEAT_ORIGINAL(list_stream);                                                            \
    va_list again;                                                                             \
    va_copy(again, arguments);                                                                 \
    const int stores = original(stream, format, arguments);                                    \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                     \
    va_end(again);                                                                             \
    return stores;                                                                             \
  }                                                                                            \
  DEADHEAT_REPLACE(int, list_input, const char* format, va_list arguments) {                   \
    DEADHEAT_ORIGINAL(list_input);                                                             \
    va_list again;                                                                             \
    va_copy(again, arguments);                                                                 \
    const int stores = original(format, arguments);                                            \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                     \
    va_end(again);                                                                             \
    return stores;                                                                             \
  }                                                                                            \
  DEADHEAT_REPLACE(int, scan_text, const char* text, const char* format, ...) {                \
    static constinit RealFunction<int(const char*, const char*, va_list)> function;            \
    report_text(text, DEADHEAT_CALLER);                                                        \
    va_list arguments;                                                                         \
    va_start(arguments, format);                                                               \
    const int stores = function.get(#list_text)(text, format, arguments);                      \
    va_end(arguments);                                                                         \
    va_start(arguments, format);                                                               \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                 \
    va_end(arguments);                                                                         \
    return stores;                                                                             \
  }                                                                                            \
  DEADHEAT_REPLACE(int, scan_stream, FILE* stream, const char* format, ...) {                  \
    static constinit RealFunction<int(FILE*, const char*, va_list)> function;                  \
    va_list arguments;                                                                         \
    va_start(arguments, format);                                                               \
    const int stores = function.get(#list_stream)(stream, format, arguments);                  \
    va_end(arguments);                                                                         \
    va_start(arguments, format);                                                               \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                 \
    va_end(arguments);                                                                         \
    return stores;                                                                             \
  }                                                                                            \
  DEADHEAT_REPLACE(int, scan_input, const char* format, ...) {                                 \
    static constinit RealFunction<int(const char*, va_list)> function;                         \
    va_list arguments;                                                                         \
    va_start(arguments, format);                                                               \
    const int stores = function.get(#list_input)(format, arguments);                           \
    va_end(arguments);                                                                         \
    va_start(arguments, format);                                                               \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                 \
    va_end(arguments);                                                                         \
    return stores;                                                                             \
  }

DEADHEAT_SCANS(sscanf, fscanf, scanf, vsscanf, vfscanf, vscanf)
DEADHEAT_SCANS(__isoc99_sscanf, __isoc99_fscanf, __isoc99_scanf, __isoc99_vsscanf, __isoc99_vfscanf, __isoc99_vscanf)
DEADHEAT_SCANS(__isoc23_sscanf, __isoc23_fscanf, __isoc23_scanf, __isoc23_vsscanf, __isoc23_vfscanf, __isoc23_vscanf)
