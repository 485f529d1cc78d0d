// SPDX-License-Identifier: Apache-2.0
// execl and its relatives, whose arguments become the list that execv wants.
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

#include "runtime/intercept/described.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

std::size_t count_arguments(va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  std::size_t count = 1;  // the first has a name
  while (va_arg(again, char*) != nullptr) ++count;
  va_end(again);
  return count;
}

// A child of vfork() comes here, too: only its own stack is written.
void fill_list(char** list, const char* first, std::size_t count, va_list arguments, Address code) {
  list[0] = const_cast<char*>(first);
  report_text_read(first, code);
  for (std::size_t index = 1; index < count; ++index) {
    list[index] = va_arg(arguments, char*);
    report_text_read(list[index], code);
  }
  list[count] = nullptr;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define DEADHEAT_LISTS(first, code)                                         \
  va_list rest;                                                             \
  va_start(rest, first);                                                    \
  const std::size_t count = (first) != nullptr ? count_arguments(rest) : 0; \
  char* list[count + 1]; /* as libc does */                                 \
  list[0] = nullptr;                                                        \
  if (count != 0) fill_list(list, first, count, rest, code);

#pragma GCC diagnostic ignored "-Wvla"
DEADHEAT_REPLACE(int, execl, const char* path, const char* first, ...) {
  report_text_read(path, DEADHEAT_CALLER);
  DEADHEAT_LISTS(first, DEADHEAT_CALLER)
  va_end(rest);
  return execv(path, list);
}
DEADHEAT_REPLACE(int, execlp, const char* path, const char* first, ...) {
  report_text_read(path, DEADHEAT_CALLER);
  DEADHEAT_LISTS(first, DEADHEAT_CALLER)
  va_end(rest);
  return execvp(path, list);
}
DEADHEAT_REPLACE(int, execle, const char* path, const char* first, ...) {
  report_text_read(path, DEADHEAT_CALLER);
  DEADHEAT_LISTS(first, DEADHEAT_CALLER)
  if (count != 0) static_cast<void>(va_arg(rest, char*));  // the end of the list
  char* const* const environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, list, environment);
}
