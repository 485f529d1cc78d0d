// SPDX-License-Identifier: Apache-2.0
// Functions of the library that threads may call at the same time: each thread has memory of its own for what is
// filled, and all read the same input.
// flags: -lm
#include "../support/turns.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static int compare(const void* left, const void* right) { return *(const int*)left - *(const int*)right; }

const char name[] = "root", pattern[] = "a(b*)c", subject[] = "xxabbbc", wide_number[] = "12";
int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
regex_t compiled;
time_t moment = 86400;

static int accounts(void) {
  struct passwd user;
  struct passwd* found = 0;
  char text[1024];
  struct group the_group;
  struct group* group_found = 0;
  char group_text[1024];
  if (getpwnam_r(name, &user, text, sizeof text, &found) != 0 || found != &user || strcmp(user.pw_name, name) != 0) {
    return 1;
  }
  return getgrgid_r(0, &the_group, group_text, sizeof group_text, &group_found) != 0 || the_group.gr_gid != 0;
}

static int numbers(void) {
  int own[16], i, exponent;
  double whole;
  char bytes[8];
  for (i = 0; i < 16; i++) own[i] = 16 - i;
  qsort(own, 16, sizeof(int), compare);
  int* found = bsearch(&own[3], own, 16, sizeof(int), compare);
  if (found != &own[3] || own[0] != 1) return 1;
  if (bsearch(&own[3], table, 8, sizeof(int), compare) != &table[3]) return 1;
  if (modf(7.5, &whole) != 0.5 || whole != 7 || frexp(8, &exponent) != 0.5 || exponent != 4) return 1;
  return getrandom(bytes, sizeof bytes, 0) != sizeof bytes;
}

static int texts(void) {
  regmatch_t matches[2];
  char own[64], directory[512];
  wchar_t wide[16];
  mbstate_t state;
  const char* from = wide_number;
  struct tm parts;
  memset(&state, 0, sizeof state);
  if (regexec(&compiled, subject, 2, matches, 0) != 0 || matches[1].rm_so != 3) return 1;
  if (mbsrtowcs(wide, &from, 16, &state) != 2 || wcstol(wide, 0, 10) != 12) return 1;
  if (localtime_r(&moment, &parts) == 0 || strftime(own, sizeof own, "%Y", &parts) != 4) return 1;
  if (strerror_r(ENOENT, own, sizeof own) == 0 || getcwd(directory, sizeof directory) == 0) return 1;
  return getenv("PATH") == 0 || strtod("2.5", 0) != 2.5;
}

static int files(void) {
  struct stat status;
  glob_t found;
  DIR* directory = opendir("/");
  const struct dirent* entry;
  int count = 0;
  if (directory == 0) return 1;
  while ((entry = readdir(directory)) != 0) count += entry->d_name[0] != 0;
  closedir(directory);
  memset(&found, 0, sizeof found);
  if (glob("/et?", 0, 0, &found) != 0 || strcmp(found.gl_pathv[0], "/etc") != 0) return 1;
  globfree(&found);
  if (stat("/etc", &status) != 0 || access("/etc", R_OK) != 0) return 1;
  errno = 0;
  if (access("/no such file", R_OK) == 0 || errno != ENOENT) return 1;
  if (strtol("999999999999999999999", 0, 10) != 9223372036854775807L || errno != ERANGE) return 1;
  return count < 2;
}

static int wrong;

static void work(int number) {
  int i, sum = 0;
  (void)number;
  for (i = 0; i < 5; i++) sum += accounts() + numbers() + texts() + files();
  if (sum != 0) order_add(&wrong, 1);
}

int main(void) {
  if (regcomp(&compiled, pattern, REG_EXTENDED) != 0) return 2;
  at_once(4, work);
  return order_load(&wrong);
}
