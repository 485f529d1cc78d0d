// SPDX-License-Identifier: Apache-2.0
// Time and date: what is read and filled, and the texts that the library owns.
// record: fasttrack (several calls write the same bytes; it names the first one, too)
#include "../support/turns.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

time_t moment = 86400, moment_of_text = 86400, moment_of_local, moment_of_utc;
struct tm parts, parts_too, normal, normal_utc, taken, printed = {.tm_mday = 1}, given = {.tm_mday = 1}, taken_too,
                                                       described = {.tm_mday = 1};
struct timespec now, resolution, nap = {0, 1000}, base, wait_for = {0, 1000};
struct timeval old_now, changed[2];
struct itimerval timer, old_timer;
struct tms spent;
struct rusage usage;
clockid_t clock_of_process;
char text[64], text_of_parts[64], formatted[64], other[64], date[] = "2020-01-02", date_too[] = "2020-01-02";

static void library(void) {
  use(localtime(&moment)->tm_mday);                            // race: localtime
  use(localtime_r(&moment_of_local, &parts_too)->tm_hour);     // race: localtime_moment
  gmtime_r(&moment_of_utc, &parts);                            // race: gmtime_r
  use(*ctime(&moment_of_text));                                // race: ctime
  use(asctime(&described)[3]);                                 // race: asctime
  ctime_r(&moment_of_text, text);                              // race: ctime_r
  asctime_r(&described, text_of_parts);                        // race: asctime_r
  use(mktime(&normal));                                        // race: mktime
  use(timegm(&normal_utc));                                    // race: timegm
  strftime(formatted, sizeof formatted, "%Y", &printed);       // race: strftime
  strftime(other, 32, "%Y", &given);                           // race: strftime_parts
  use(strptime(date, "%Y-%m-%d", &taken) != 0);                // race: strptime
  use(strptime(date_too, "%Y-%m-%d", &taken_too) != 0);        // race: strptime_text
  clock_gettime(CLOCK_MONOTONIC, &now);                        // race: clock_gettime
  clock_getres(CLOCK_MONOTONIC, &resolution);                  // race: clock_getres
  clock_getcpuclockid(0, &clock_of_process);                   // race: clock_getcpuclockid
  gettimeofday(&old_now, 0);                                   // race: gettimeofday
  use(timespec_get(&base, TIME_UTC));                          // race: timespec_get
  nanosleep(&nap, 0);                                          // race: nanosleep
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_for, 0);           // race: clock_nanosleep
  setitimer(ITIMER_REAL, &timer, 0);                           // race: setitimer
  setitimer(ITIMER_REAL, &(struct itimerval){0}, &old_timer);  // race: setitimer_old
  use(times(&spent));                                          // race: times
  getrusage(RUSAGE_SELF, &usage);                              // race: getrusage
  time(&moment);                                               // race: time
}

static void program(void) {
  use(gmtime(&moment_of_utc)->tm_mday);  // race: localtime
  moment_of_local = 1;                   // race: localtime_moment
  use(parts.tm_year);                    // race: gmtime_r
  use(*asctime(&described));             // race: ctime
  described.tm_mday = 2;                 // race: asctime
  use(text[0]);                          // race: ctime_r
  use(text_of_parts[1]);                 // race: asctime_r
  use(normal.tm_wday);                   // race: mktime
  use(normal_utc.tm_year);               // race: timegm
  use(formatted[0]);                     // race: strftime
  given.tm_year = 3;                     // race: strftime_parts
  use(taken.tm_mon);                     // race: strptime
  date_too[0] = 0;                       // race: strptime_text
  use(now.tv_sec);                       // race: clock_gettime
  use(resolution.tv_nsec);               // race: clock_getres
  use(clock_of_process);                 // race: clock_getcpuclockid
  use(old_now.tv_usec);                  // race: gettimeofday
  use(base.tv_sec);                      // race: timespec_get
  nap.tv_nsec = 1;                       // race: nanosleep
  wait_for.tv_nsec = 1;                  // race: clock_nanosleep
  timer.it_value.tv_sec = 0;             // race: setitimer
  use(old_timer.it_value.tv_sec);        // race: setitimer_old
  use(spent.tms_utime);                  // race: times
  use(usage.ru_maxrss);                  // race: getrusage
  moment = 2;                            // race: time
}

int main(void) {
  in_turn(library, program);
  return 0;
}
