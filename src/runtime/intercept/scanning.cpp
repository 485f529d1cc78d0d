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

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

template <class Letter>
bool is_one_of(Letter letter, const char* letters) {
  for (; *letters != 0; ++letters) {
    if (static_cast<Letter>(*letters) == letter) return true;
  }
  return false;
}

std::size_t size_of_any_text(const char* text) { return size_of_text(text); }
std::size_t size_of_any_text(const wchar_t* text) { return size_of_wide_text(text); }

struct Conversion {
  bool is_stored = true;      // no '*'
  bool is_allocated = false;  // 'm'
  std::size_t width = 0;      // 0: not given
  std::size_t whole = sizeof(int);
  std::size_t real = sizeof(float);
  std::size_t letter = sizeof(char);
};

// Everything between '%' and the letter of the conversion.
template <class Letter>
const Letter* take_modifiers(const Letter* at, Conversion& conversion) {
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
template <class Letter>
const Letter* skip_set(const Letter* at) {
  if (*at == '^') ++at;
  if (*at == ']') ++at;
  while (*at != 0 && *at != ']') ++at;
  return *at == 0 ? at : at + 1;
}

// Bytes stored through `pointer` by a conversion other than %n; 0 for a letter
// that is not known.
template <class Letter>
std::size_t stored_size(Letter letter, const Conversion& conversion, const void* pointer) {
  if (conversion.is_allocated) return sizeof(char*);
  if (is_one_of(letter, "diouxX")) return conversion.whole;
  if (is_one_of(letter, "eEfFgGaA")) return conversion.real;
  if (letter == 'p') return sizeof(void*);
  if (letter == 'c') return (conversion.width == 0 ? 1 : conversion.width) * conversion.letter;
  const bool is_text = letter == 's' || letter == '[';
  if (is_text && conversion.letter == sizeof(char)) return size_of_text(static_cast<const char*>(pointer));
  if (is_text || letter == 'S') return size_of_wide_text(static_cast<const wchar_t*>(pointer));
  return letter == 'C' ? sizeof(wchar_t) : 0;
}

template <class Letter>
void report_stores(const Letter* format, va_list arguments, int stores, Address code) {
  if (!is_observing_accesses()) return;
  const KeepErrno keep;
  on_read(format, size_of_any_text(format), code);
  va_list rest;
  va_copy(rest, arguments);
  const Letter* at = format;
  while (*at != 0) {
    if (*at++ != '%') continue;
    if (*at == '%') {
      ++at;
      continue;
    }
    Conversion conversion;
    at = take_modifiers(at, conversion);
    const Letter letter = *at;
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

template <class Letter>
void report_text(const Letter* text, Address code) {
  if (is_observing_accesses()) on_read(text, size_of_any_text(text), code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// Each function exists once per meaning of its formats: %a changed with C99, %i
// with C23.
#define DEADHEAT_SCANS(letter, scan_text, scan_stream, scan_input, list_text, list_stream, list_input) \
  DEADHEAT_REPLACE(int, list_text, const letter* text, const letter* format, va_list arguments) {      \
    DEADHEAT_ORIGINAL(list_text);                                                                      \
    report_text(text, DEADHEAT_CALLER);                                                                \
    va_list again;                                                                                     \
    va_copy(again, arguments);                                                                         \
    const int stores = original(text, format, arguments);                                              \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                             \
    va_end(again);                                                                                     \
    return stores;                                                                                     \
  }                                                                                                    \
  DEADHEAT_REPLACE(int, list_stream, FILE* stream, const letter* format, va_list arguments) {          \
    DEADHEAT_ORIGINAL(list_stream);                                                                    \
    va_list again;                                                                                     \
    va_copy(again, arguments);                                                                         \
    const int stores = original(stream, format, arguments);                                            \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                             \
    va_end(again);                                                                                     \
    return stores;                                                                                     \
  }                                                                                                    \
  DEADHEAT_REPLACE(int, list_input, const letter* format, va_list arguments) {                         \
    DEADHEAT_ORIGINAL(list_input);                                                                     \
    va_list again;                                                                                     \
    va_copy(again, arguments);                                                                         \
    const int stores = original(format, arguments);                                                    \
    report_stores(format, again, stores, DEADHEAT_CALLER);                                             \
    va_end(again);                                                                                     \
    return stores;                                                                                     \
  }                                                                                                    \
  DEADHEAT_REPLACE(int, scan_text, const letter* text, const letter* format, ...) {                    \
    static constinit RealFunction<int(const letter*, const letter*, va_list)> function;                \
    report_text(text, DEADHEAT_CALLER);                                                                \
    va_list arguments;                                                                                 \
    va_start(arguments, format);                                                                       \
    const int stores = function.get(#list_text)(text, format, arguments);                              \
    va_end(arguments);                                                                                 \
    va_start(arguments, format);                                                                       \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                         \
    va_end(arguments);                                                                                 \
    return stores;                                                                                     \
  }                                                                                                    \
  DEADHEAT_REPLACE(int, scan_stream, FILE* stream, const letter* format, ...) {                        \
    static constinit RealFunction<int(FILE*, const letter*, va_list)> function;                        \
    va_list arguments;                                                                                 \
    va_start(arguments, format);                                                                       \
    const int stores = function.get(#list_stream)(stream, format, arguments);                          \
    va_end(arguments);                                                                                 \
    va_start(arguments, format);                                                                       \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                         \
    va_end(arguments);                                                                                 \
    return stores;                                                                                     \
  }                                                                                                    \
  DEADHEAT_REPLACE(int, scan_input, const letter* format, ...) {                                       \
    static constinit RealFunction<int(const letter*, va_list)> function;                               \
    va_list arguments;                                                                                 \
    va_start(arguments, format);                                                                       \
    const int stores = function.get(#list_input)(format, arguments);                                   \
    va_end(arguments);                                                                                 \
    va_start(arguments, format);                                                                       \
    report_stores(format, arguments, stores, DEADHEAT_CALLER);                                         \
    va_end(arguments);                                                                                 \
    return stores;                                                                                     \
  }

DEADHEAT_SCANS(char, sscanf, fscanf, scanf, vsscanf, vfscanf, vscanf)
DEADHEAT_SCANS(char, __isoc99_sscanf, __isoc99_fscanf, __isoc99_scanf, __isoc99_vsscanf, __isoc99_vfscanf,
               __isoc99_vscanf)
DEADHEAT_SCANS(char, __isoc23_sscanf, __isoc23_fscanf, __isoc23_scanf, __isoc23_vsscanf, __isoc23_vfscanf,
               __isoc23_vscanf)
DEADHEAT_SCANS(wchar_t, swscanf, fwscanf, wscanf, vswscanf, vfwscanf, vwscanf)
DEADHEAT_SCANS(wchar_t, __isoc99_swscanf, __isoc99_fwscanf, __isoc99_wscanf, __isoc99_vswscanf, __isoc99_vfwscanf,
               __isoc99_vwscanf)

DEADHEAT_ALSO(_IO_sscanf, sscanf);
DEADHEAT_ALSO(__vsscanf, vsscanf);
DEADHEAT_ALSO(__vfscanf, vfscanf);
