// SPDX-License-Identifier: Apache-2.0
// The library of library_reloaded.c.
static int counter;

extern "C" int count_up() { return ++counter; }
