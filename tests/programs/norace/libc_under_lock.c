// SPDX-License-Identifier: Apache-2.0
// Functions that return memory of the library's, or keep a state in it, one thread at a time.
#include "../support/turns.h"

#include <netdb.h>
#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wrong;
time_t moment = 86400;

static void work(int number) {
  int i;
  for (i = 0; i < 10; i++) {
    pthread_mutex_lock(&lock);
    char text[] = "a,b";
    char value[] = "0";
    value[0] += (char)number;
    int is_right = strcmp(strtok(text, ","), "a") == 0 && strcmp(strtok(0, ","), "b") == 0;
    is_right &= getpwnam("root")->pw_uid == 0 && getservbyname("ssh", "tcp") != 0;
    is_right &= localtime(&moment)->tm_year == 70 && ctime(&moment)[0] == 'F';
    is_right &= setenv("LIBC_UNDER_LOCK", value, 1) == 0 && strcmp(getenv("LIBC_UNDER_LOCK"), value) == 0;
    use((long)(drand48() * 10) + lrand48());
    pthread_mutex_unlock(&lock);
    if (!is_right) order_add(&wrong, 1);
  }
}

int main(void) {
  at_once(4, work);
  return order_load(&wrong);
}
