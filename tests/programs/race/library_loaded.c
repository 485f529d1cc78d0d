// SPDX-License-Identifier: Apache-2.0
// A race inside of a library that is loaded at run time.
// plugin: library_loaded_plugin.cpp
#include "turns.h"

#include <dlfcn.h>

static void (*change)(int value);

static void first(void) { change(1); }
static void second(void) { change(2); }

int main(int count, char** arguments) {
  void* library = dlopen(arguments[count - 1], RTLD_NOW);
  if (library == NULL) return 1;
  *(void**)&change = dlsym(library, "change");
  in_turn(first, second);
  return 0;
}
