// SPDX-License-Identifier: Apache-2.0
// Code that compilers make in place of a call: copies and comparisons that are written as built-in
// functions, which the headers of the standard library do.
// levels: -O0 -O1 -O2 -O3
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "turns.h"

struct Words {
  long words[3];
};
char source[24];
char target[24];
char filled[24];
char compared[24] = "abcdefghijklmnop";
char text[24] = "text";
char other_text[24] = "text";
char searched[24] = "abcdefghijklmnop";
std::array<int, 5> array_source;
std::array<int, 5> array_target;
std::string* heap_string;
Words returned;
Words moved_from;

[[gnu::noinline]] Words make(long from) { return {{from, from, from}}; }

static void first() {
  char copy[24];
  __builtin_memcpy(copy, source, sizeof copy);                                        // race: source
  __builtin_memmove(target, copy, sizeof copy);                                       // race: target
  __builtin_memset(filled, 1, 19);                                                    // race: filled
  use(__builtin_memcmp(compared, "abcdefghijklmnop", 16) == 0);                       // race: compared
  use(__builtin_strcmp(text, "text") == 0);                                           // race: text
  use(strcmp(other_text, "text"));                                                    // race: other_text
  use(memcmp(searched, copy, opaque(0) + 8));                                         // race: searched
  array_target = array_source;                                                        // race: array
  use(std::string_view(*heap_string) == "a string of more than sixteen characters");  // race: string
  returned = make(4);                                                                 // race: returned
  const Words words = moved_from;                                                     // race: moved
  use(words.words[1]);
}

static void second() {
  source[23] = 1;           // race: source
  use(target[23]);          // race: target
  use(filled[18]);          // race: filled
  compared[0] = 'x';        // race: compared
  text[0] = 'x';            // race: text
  other_text[0] = 'x';      // race: other_text
  searched[0] = 'x';        // race: searched
  array_source[4] = 1;      // race: array
  (*heap_string)[0] = 'x';  // race: string
  use(returned.words[2]);   // race: returned
  moved_from.words[1] = 7;  // race: moved
}

int main() {
  heap_string = new std::string("a string of more than sixteen characters");
  in_turn(first, second);
  delete heap_string;
  return 0;
}
