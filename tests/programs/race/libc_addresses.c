// SPDX-License-Identifier: Apache-2.0
// Addresses of the network, as numbers and as text.
#include "../support/turns.h"

#include <arpa/inet.h>

struct in_addr read_as_number;
struct in6_addr read_as_numbers;
char written_as_text[64];
struct in_addr written_as_number;

static void library(void) {
  char text[64];
  use(inet_ntop(AF_INET, &read_as_number, text, sizeof(text)) != NULL);                          // race: ntop
  use(inet_ntop(AF_INET6, &read_as_numbers, text, sizeof(text)) != NULL);                        // race: ntop6
  use(inet_ntop(AF_INET, &written_as_number, written_as_text, sizeof(written_as_text)) != NULL); // race: text
  use(inet_pton(AF_INET, "1.2.3.4", &written_as_number));                                        // race: pton
}

static void program(void) {
  read_as_number.s_addr = 1;           // race: ntop
  read_as_numbers.s6_addr[15] = 1;     // race: ntop6
  use(written_as_text[0]);             // race: text
  use(written_as_number.s_addr);       // race: pton
}

int main(void) {
  in_turn(library, program);
  return 0;
}
