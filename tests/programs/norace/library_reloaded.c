// SPDX-License-Identifier: Apache-2.0
// A library that is loaded, used and unloaded over and over, by one thread after
// the other: its variables are new each time.
// plugin: library_reloaded_plugin.cpp
// tsan: false alarm (the variables of an unloaded library are remembered)
#include "turns.h"

#include <dlfcn.h>

static const char* path;

static void load_and_use(void) {
  for (int i = 0; i < 3; i++) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*count)(void);
    if (library == NULL) abort();
    *(void**)&count = dlsym(library, "count_up");
    if (count() != 1) abort();
    dlclose(library);
  }
}

int main(int count, char** arguments) {
  path = arguments[count - 1];
  in_turn_3(load_and_use, load_and_use, load_and_use);
  return 0;
}
