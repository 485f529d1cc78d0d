// SPDX-License-Identifier: Apache-2.0
// Facts of users, groups, hosts and services that the library writes: into the caller's memory, and into its own
// that it returns.
#include "../support/turns.h"

#include <grp.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct passwd user, user_by_id;
struct passwd* user_found;
char user_text[1024], user_text_by_id[1024];
struct group the_group;
struct group* group_found;
char group_text[4096];
gid_t groups[64];
struct protoent protocol;
struct protoent* protocol_found;
char protocol_text[1024];
struct servent service;
struct servent* service_found;
char service_text[1024];
struct ether_addr card;
char card_text[32];
char host[64], other_host[64], name_asked[] = "root";
struct sockaddr_in local = {.sin_family = AF_INET}, remote = {.sin_family = AF_INET};
uid_t real, effective, saved;
int room = 64;

static void library(void) {
  getpwnam_r("root", &user, user_text, 1024, &user_found);                           // race: getpwnam_r
  getpwuid_r(0, &user_by_id, user_text_by_id, 1024, &user_found);                    // race: getpwuid_r
  getgrgid_r(0, &the_group, group_text, 4096, &group_found);                         // race: getgrgid_r
  if (getgroups(64, groups) < 1) groups[0] = 0;                                      // race: getgroups
  getgrouplist("root", 0, groups + 32, &room);                                       // race: getgrouplist
  getprotobyname_r("tcp", &protocol, protocol_text, 1024, &protocol_found);          // race: getprotobyname_r
  getservbyname_r("ftp", "tcp", &service, service_text, 1024, &service_found);       // race: getservbyname_r
  ether_aton_r("1:2:3:4:5:6", &card);                                                // race: ether_aton_r
  ether_ntoa_r(&card, card_text);                                                    // race: ether_ntoa_r
  use(getpwnam("root") != 0);                                                        // race: getpwnam
  use(getpwuid(0) != 0);                                                             // race: getpwuid
  use(getprotobyname(name_asked) != 0);                                              // race: name
  use(getgrnam("root") != 0);                                                        // race: getgrnam
  use(getservbyname("ftp", "tcp") != 0);                                             // race: getservbyname
  getresuid(&real, &effective, &saved);                                              // race: getresuid
  getnameinfo((void*)&local, sizeof local, host, 64, 0, 0, NI_NUMERICHOST);          // race: getnameinfo
  getnameinfo((void*)&remote, sizeof remote, other_host, 64, 0, 0, NI_NUMERICHOST);  // race: getnameinfo_address
}

static void program(void) {
  use(user.pw_uid);                       // race: getpwnam_r
  use(user_text_by_id[0]);                // race: getpwuid_r
  the_group.gr_gid = 1;                   // race: getgrgid_r
  use(groups[0]);                         // race: getgroups
  use(room);                              // race: getgrouplist
  protocol_found = &protocol;             // race: getprotobyname_r
  use(service_found != 0);                // race: getservbyname_r
  use(card.ether_addr_octet[5]);          // race: ether_aton_r
  card_text[2] = 0;                       // race: ether_ntoa_r
  use(getpwnam("daemon") != 0);           // race: getpwnam
  use(getpwuid(1) != 0);                  // race: getpwuid
  name_asked[0] = 0;                      // race: name
  use(getgrnam("tty") != 0);              // race: getgrnam
  use(getservbyname("ssh", "tcp") != 0);  // race: getservbyname
  saved = 0;                              // race: getresuid
  use(host[0]);                           // race: getnameinfo
  remote.sin_port = 7;                    // race: getnameinfo_address
}

int main(void) {
  in_turn(library, program);
  return 0;
}
