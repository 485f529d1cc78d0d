// SPDX-License-Identifier: Apache-2.0
// The library of library_loaded.c.
int plugin_value;

extern "C" void change(int value) {
  plugin_value = value;  // race
}
