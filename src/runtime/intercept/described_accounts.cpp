// SPDX-License-Identifier: Apache-2.0
// Described functions: users, groups, hosts, services and other databases of the system. (described.h)
//
// The forms without _r return a structure of libc's that the next call overwrites: callers on two
// threads race on it. Entries of a database (getpwent) also share a place in it.
#include <aliases.h>
#include <grp.h>
#include <gshadow.h>
#include <net/ethernet.h>
#include <netdb.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <shadow.h>
#include <ttyent.h>
#include <utmp.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

void report_texts(std::initializer_list<const char*> texts, Address code) {
  for (const char* text : texts) report_text_written(text, code);
}

// A list of texts that ends with nullptr, and the texts.
void report_list(char* const* list, Address code) {
  if (list == nullptr) return;
  std::size_t count = 0;
  for (; list[count] != nullptr; ++count) report_text_written(list[count], code);
  on_write(list, (count + 1) * sizeof(char*), code);
}

void report_entry(const passwd* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_texts({entry->pw_name, entry->pw_passwd, entry->pw_gecos, entry->pw_dir, entry->pw_shell}, code);
}
void report_entry(const group* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_texts({entry->gr_name, entry->gr_passwd}, code);
  report_list(entry->gr_mem, code);
}
void report_entry(const spwd* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_texts({entry->sp_namp, entry->sp_pwdp}, code);
}
void report_entry(const sgrp* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_texts({entry->sg_namp, entry->sg_passwd}, code);
}
void report_entry(const hostent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->h_name, code);
  report_list(entry->h_aliases, code);
  if (entry->h_addr_list == nullptr) return;
  std::size_t count = 0;
  for (; entry->h_addr_list[count] != nullptr; ++count) {
    on_write(entry->h_addr_list[count], static_cast<std::size_t>(entry->h_length), code);
  }
  on_write(entry->h_addr_list, (count + 1) * sizeof(char*), code);
}
void report_entry(const netent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->n_name, code);
  report_list(entry->n_aliases, code);
}
void report_entry(const protoent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->p_name, code);
  report_list(entry->p_aliases, code);
}
void report_entry(const servent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->s_name, code);
  report_text_written(entry->s_proto, code);
  report_list(entry->s_aliases, code);
}
void report_entry(const rpcent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->r_name, code);
  report_list(entry->r_aliases, code);
}
void report_entry(const aliasent* entry, Address code) {
  on_write(entry, sizeof(*entry), code);
  report_text_written(entry->alias_name, code);
}

// The result is the entry.
template <class Entry>
void returned(const DescribedCall& call) {
  if (const auto* const entry = call.pointer<const Entry>(0)) report_entry(entry, call.code);
}

// A parameter is where a pointer to the entry goes, or nullptr if there is none.
template <class Entry, unsigned kResult>
void stored(const DescribedCall& call) {
  const Entry* const* const result = call.pointer<const Entry* const>(kResult);
  on_write(result, sizeof(*result), call.code);
  if (*result != nullptr) report_entry(*result, call.code);
}

constexpr std::size_t kPointer = sizeof(void*);

}  // namespace
}  // namespace deadheat::runtime

// Users and groups.
DEADHEAT_DESCRIBE(getpwnam, kNotNull, reads_text(1), after(returned<passwd>))
DEADHEAT_DESCRIBE(getpwuid, kNotNull, after(returned<passwd>))
DEADHEAT_DESCRIBE(getpwent, kNotNull, after(returned<passwd>))
DEADHEAT_DESCRIBE(fgetpwent, kNotNull, after(returned<passwd>))
DEADHEAT_DESCRIBE(getpwnam_r, kAlways, reads_text(1), after(stored<passwd, 5>))
DEADHEAT_DESCRIBE(getpwuid_r, kAlways, after(stored<passwd, 5>))
DEADHEAT_DESCRIBE(getpwent_r, kAlways, after(stored<passwd, 4>))
DEADHEAT_DESCRIBE(fgetpwent_r, kAlways, after(stored<passwd, 5>))
DEADHEAT_DESCRIBE(putpwent, kAlways, reads(1, sizeof(passwd)))
DEADHEAT_DESCRIBE(getpw, kZero, writes_text(2))
DEADHEAT_DESCRIBE(getgrnam, kNotNull, reads_text(1), after(returned<group>))
DEADHEAT_DESCRIBE(getgrgid, kNotNull, after(returned<group>))
DEADHEAT_DESCRIBE(getgrent, kNotNull, after(returned<group>))
DEADHEAT_DESCRIBE(fgetgrent, kNotNull, after(returned<group>))
DEADHEAT_DESCRIBE(getgrnam_r, kAlways, reads_text(1), after(stored<group, 5>))
DEADHEAT_DESCRIBE(getgrgid_r, kAlways, after(stored<group, 5>))
DEADHEAT_DESCRIBE(getgrent_r, kAlways, after(stored<group, 4>))
DEADHEAT_DESCRIBE(fgetgrent_r, kAlways, after(stored<group, 5>))
DEADHEAT_DESCRIBE(putgrent, kAlways, reads(1, sizeof(group)))
DEADHEAT_DESCRIBE(getgrouplist, kAlways, reads_text(1), updates(4, sizeof(int)), writes_int_result(3, sizeof(gid_t)))
DEADHEAT_DESCRIBE(getgroups, kNotNegative, writes_int_result(2, sizeof(gid_t)))
DEADHEAT_DESCRIBE(__getgroups_chk, kNotNegative, writes_int_result(2, sizeof(gid_t)))
DEADHEAT_DESCRIBE(setgroups, kAlways, reads_bytes(2, 1, sizeof(gid_t)))
DEADHEAT_DESCRIBE(initgroups, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(getspnam, kNotNull, reads_text(1), after(returned<spwd>))
DEADHEAT_DESCRIBE(getspent, kNotNull, after(returned<spwd>))
DEADHEAT_DESCRIBE(sgetspent, kNotNull, reads_text(1), after(returned<spwd>))
DEADHEAT_DESCRIBE(fgetspent, kNotNull, after(returned<spwd>))
DEADHEAT_DESCRIBE(getspnam_r, kAlways, reads_text(1), after(stored<spwd, 5>))
DEADHEAT_DESCRIBE(getspent_r, kAlways, after(stored<spwd, 4>))
DEADHEAT_DESCRIBE(sgetspent_r, kAlways, reads_text(1), after(stored<spwd, 5>))
DEADHEAT_DESCRIBE(fgetspent_r, kAlways, after(stored<spwd, 5>))
DEADHEAT_DESCRIBE(putspent, kAlways, reads(1, sizeof(spwd)))
DEADHEAT_DESCRIBE(getsgnam, kNotNull, reads_text(1), after(returned<sgrp>))
DEADHEAT_DESCRIBE(getsgent, kNotNull, after(returned<sgrp>))
DEADHEAT_DESCRIBE(sgetsgent, kNotNull, reads_text(1), after(returned<sgrp>))
DEADHEAT_DESCRIBE(fgetsgent, kNotNull, after(returned<sgrp>))
DEADHEAT_DESCRIBE(getsgnam_r, kAlways, reads_text(1), after(stored<sgrp, 5>))
DEADHEAT_DESCRIBE(getsgent_r, kAlways, after(stored<sgrp, 4>))
DEADHEAT_DESCRIBE(sgetsgent_r, kAlways, reads_text(1), after(stored<sgrp, 5>))
DEADHEAT_DESCRIBE(fgetsgent_r, kAlways, after(stored<sgrp, 5>))
DEADHEAT_DESCRIBE(putsgent, kAlways, reads(1, sizeof(sgrp)))
DEADHEAT_DESCRIBE(getlogin, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(getlogin_r, kZero, writes_text(1))
DEADHEAT_DESCRIBE(__getlogin_r_chk, kZero, writes_text(1))
DEADHEAT_DESCRIBE(cuserid, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(getresuid, kZero, writes(1, sizeof(uid_t)), writes(2, sizeof(uid_t)), writes(3, sizeof(uid_t)))
DEADHEAT_DESCRIBE(getresgid, kZero, writes(1, sizeof(gid_t)), writes(2, sizeof(gid_t)), writes(3, sizeof(gid_t)))
DEADHEAT_DESCRIBE(getaliasbyname, kNotNull, reads_text(1), after(returned<aliasent>))
DEADHEAT_DESCRIBE(getaliasent, kNotNull, after(returned<aliasent>))
DEADHEAT_DESCRIBE(getaliasbyname_r, kAlways, reads_text(1), after(stored<aliasent, 5>))
DEADHEAT_DESCRIBE(getaliasent_r, kAlways, after(stored<aliasent, 4>))
DEADHEAT_DESCRIBE(getttyent, kNotNull, writes(0, sizeof(ttyent)))
DEADHEAT_DESCRIBE(getttynam, kNotNull, reads_text(1), writes(0, sizeof(ttyent)))
DEADHEAT_DESCRIBE(innetgr, kAlways, reads_text(1), reads_text(2), reads_text(3), reads_text(4))
DEADHEAT_DESCRIBE(setnetgrent, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(getnetgrent, kOne, writes(1, kPointer), writes(2, kPointer), writes(3, kPointer))
DEADHEAT_DESCRIBE(getnetgrent_r, kOne, writes(1, kPointer), writes(2, kPointer), writes(3, kPointer))

// Records of who is logged in.
DEADHEAT_DESCRIBE(getutent, kNotNull, writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutxent, kNotNull, writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutid, kNotNull, reads(1, sizeof(utmp)), writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutxid, kNotNull, reads(1, sizeof(utmp)), writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutline, kNotNull, reads(1, sizeof(utmp)), writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutxline, kNotNull, reads(1, sizeof(utmp)), writes(0, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutent_r, kZero, writes(1, sizeof(utmp)), writes(2, kPointer))
DEADHEAT_DESCRIBE(getutid_r, kZero, reads(1, sizeof(utmp)), writes(2, sizeof(utmp)), writes(3, kPointer))
DEADHEAT_DESCRIBE(getutline_r, kZero, reads(1, sizeof(utmp)), writes(2, sizeof(utmp)), writes(3, kPointer))
DEADHEAT_DESCRIBE(pututline, kAlways, reads(1, sizeof(utmp)))
DEADHEAT_DESCRIBE(pututxline, kAlways, reads(1, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutmp, kAlways, reads(1, sizeof(utmp)), writes(2, sizeof(utmp)))
DEADHEAT_DESCRIBE(getutmpx, kAlways, reads(1, sizeof(utmp)), writes(2, sizeof(utmp)))
DEADHEAT_DESCRIBE(updwtmp, kAlways, reads_text(1), reads(2, sizeof(utmp)))
DEADHEAT_DESCRIBE(updwtmpx, kAlways, reads_text(1), reads(2, sizeof(utmp)))
DEADHEAT_DESCRIBE(utmpname, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(utmpxname, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(login, kAlways, reads(1, sizeof(utmp)))
DEADHEAT_DESCRIBE(logout, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(logwtmp, kAlways, reads_text(1), reads_text(2), reads_text(3))

// Hosts, networks, protocols, services.
DEADHEAT_DESCRIBE(gethostbyname, kNotNull, reads_text(1), after(returned<hostent>))
DEADHEAT_DESCRIBE(gethostbyname2, kNotNull, reads_text(1), after(returned<hostent>))
DEADHEAT_DESCRIBE(gethostbyaddr, kNotNull, reads_ints(1, 2), after(returned<hostent>))
DEADHEAT_DESCRIBE(gethostent, kNotNull, after(returned<hostent>))
DEADHEAT_DESCRIBE(gethostbyname_r, kAlways, reads_text(1), after(stored<hostent, 5>))
DEADHEAT_DESCRIBE_LONG(gethostbyname2_r, kAlways, reads_text(1), after(stored<hostent, 6>))
DEADHEAT_DESCRIBE_LONG(gethostbyaddr_r, kAlways, reads_ints(1, 2), after(stored<hostent, 7>))
DEADHEAT_DESCRIBE(gethostent_r, kAlways, after(stored<hostent, 4>))
DEADHEAT_DESCRIBE(getnetbyname, kNotNull, reads_text(1), after(returned<netent>))
DEADHEAT_DESCRIBE(getnetbyaddr, kNotNull, after(returned<netent>))
DEADHEAT_DESCRIBE(getnetent, kNotNull, after(returned<netent>))
DEADHEAT_DESCRIBE(getnetbyname_r, kAlways, reads_text(1), after(stored<netent, 5>))
DEADHEAT_DESCRIBE_LONG(getnetbyaddr_r, kAlways, after(stored<netent, 6>))
DEADHEAT_DESCRIBE(getnetent_r, kAlways, after(stored<netent, 4>))
DEADHEAT_DESCRIBE(getprotobyname, kNotNull, reads_text(1), after(returned<protoent>))
DEADHEAT_DESCRIBE(getprotobynumber, kNotNull, after(returned<protoent>))
DEADHEAT_DESCRIBE(getprotoent, kNotNull, after(returned<protoent>))
DEADHEAT_DESCRIBE(getprotobyname_r, kAlways, reads_text(1), after(stored<protoent, 5>))
DEADHEAT_DESCRIBE(getprotobynumber_r, kAlways, after(stored<protoent, 5>))
DEADHEAT_DESCRIBE(getprotoent_r, kAlways, after(stored<protoent, 4>))
DEADHEAT_DESCRIBE(getservbyname, kNotNull, reads_text(1), reads_text(2), after(returned<servent>))
DEADHEAT_DESCRIBE(getservbyport, kNotNull, reads_text(2), after(returned<servent>))
DEADHEAT_DESCRIBE(getservent, kNotNull, after(returned<servent>))
DEADHEAT_DESCRIBE(getservbyname_r, kAlways, reads_text(1), reads_text(2), after(stored<servent, 6>))
DEADHEAT_DESCRIBE(getservbyport_r, kAlways, reads_text(2), after(stored<servent, 6>))
DEADHEAT_DESCRIBE(getservent_r, kAlways, after(stored<servent, 4>))
DEADHEAT_DESCRIBE(getrpcbyname, kNotNull, reads_text(1), after(returned<rpcent>))
DEADHEAT_DESCRIBE(getrpcbynumber, kNotNull, after(returned<rpcent>))
DEADHEAT_DESCRIBE(getrpcent, kNotNull, after(returned<rpcent>))
DEADHEAT_DESCRIBE(getrpcbyname_r, kAlways, reads_text(1), after(stored<rpcent, 5>))
DEADHEAT_DESCRIBE(getrpcbynumber_r, kAlways, after(stored<rpcent, 5>))
DEADHEAT_DESCRIBE(getrpcent_r, kAlways, after(stored<rpcent, 4>))
DEADHEAT_DESCRIBE(ether_aton, kNotNull, reads_text(1), writes(0, sizeof(ether_addr)))
DEADHEAT_DESCRIBE(ether_aton_r, kNotNull, reads_text(1), writes(0, sizeof(ether_addr)))
DEADHEAT_DESCRIBE(ether_ntoa, kNotNull, reads(1, sizeof(ether_addr)), writes_text(0))
DEADHEAT_DESCRIBE(ether_ntoa_r, kNotNull, reads(1, sizeof(ether_addr)), writes_text(0))
DEADHEAT_DESCRIBE(ether_hostton, kZero, reads_text(1), writes(2, sizeof(ether_addr)))
DEADHEAT_DESCRIBE(ether_ntohost, kZero, reads(2, sizeof(ether_addr)), writes_text(1))
DEADHEAT_DESCRIBE(ether_line, kZero, reads_text(1), writes(2, sizeof(ether_addr)), writes_text(3))
