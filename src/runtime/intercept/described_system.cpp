// SPDX-License-Identifier: Apache-2.0
// Described functions: system calls that read or fill memory, names of the machine, sockets, terminals. (described.h)
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <obstack.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

// Lists of texts that end with nullptr: arguments and environments.
void report_list(const char* const* list, Address code) {
  if (list == nullptr) return;
  std::size_t count = 0;
  for (; list[count] != nullptr; ++count) report_text_read(list[count], code);
  on_read(list, (count + 1) * sizeof(char*), code);
}
template <unsigned kParameter>
void reads_list(const DescribedCall& call) {
  report_list(call.pointer<const char* const>(kParameter), call.code);
}

// getnameinfo(address, size, host, host_size, service, service_size, flags)
void names_address(const DescribedCall& call) {
  if (call.value(4) != 0) report_text_written(call.pointer<const char>(3), call.code);
  if (call.value(6) != 0) report_text_written(call.pointer<const char>(5), call.code);
}
void lists_interfaces(const DescribedCall& call) {
  const ifaddrs* const* const first = call.pointer<const ifaddrs* const>(1);
  on_write(first, sizeof(*first), call.code);
}
// The name of a terminal in a buffer of libc's.
void names_in_order(const DescribedCall& call) {
  const std::size_t size = call.value(3);
  const std::size_t needed = call.result;
  if (call.value(2) != 0) on_write(call.pointer<const void>(2), needed < size ? needed : size, call.code);
}

// Requests to a terminal or a socket whose argument is known; of others nothing is reported.
struct Request {
  unsigned long number;
  std::uint32_t size;
  bool is_written;
};
constexpr Request kRequests[] = {{FIONREAD, sizeof(int), true},
                                 {FIONBIO, sizeof(int), false},
                                 {TIOCGWINSZ, sizeof(winsize), true},
                                 {TIOCSWINSZ, sizeof(winsize), false},
                                 {TIOCOUTQ, sizeof(int), true},
                                 {TIOCGPGRP, sizeof(pid_t), true},
                                 {TIOCSPGRP, sizeof(pid_t), false},
                                 {TCGETS, 36, true},
                                 {TCSETS, 36, false},
                                 {SIOCGIFCONF, sizeof(ifconf), true},
                                 {SIOCGIFADDR, sizeof(ifreq), true},
                                 {SIOCGIFFLAGS, sizeof(ifreq), true},
                                 {SIOCGIFINDEX, sizeof(ifreq), true},
                                 {SIOCGIFMTU, sizeof(ifreq), true},
                                 {SIOCGIFHWADDR, sizeof(ifreq), true},
                                 {SIOCGIFNETMASK, sizeof(ifreq), true}};
const Request* request_of(const DescribedCall& call) {
  for (const Request& request : kRequests) {
    if (request.number == static_cast<std::uint32_t>(call.value(2))) return &request;
  }
  return nullptr;
}
void asks_device(const DescribedCall& call) {
  const Request* const request = request_of(call);
  if (request != nullptr && !request->is_written && call.value(3) != 0) {
    on_read(call.pointer<const void>(3), request->size, call.code);
  }
}
void answers_device(const DescribedCall& call) {
  const Request* const request = request_of(call);
  if (request != nullptr && request->is_written && call.value(3) != 0) {
    on_write(call.pointer<const void>(3), request->size, call.code);
  }
}

}  // namespace
}  // namespace deadheat::runtime

using FileSystem = struct statfs;

// Programs that are started.
DEADHEAT_DESCRIBE(execv, kAlways, reads_text(1), before(reads_list<2>))
DEADHEAT_DESCRIBE(execvp, kAlways, reads_text(1), before(reads_list<2>))
DEADHEAT_DESCRIBE(execve, kAlways, reads_text(1), before(reads_list<2>), before(reads_list<3>))
DEADHEAT_DESCRIBE(execvpe, kAlways, reads_text(1), before(reads_list<2>), before(reads_list<3>))
DEADHEAT_DESCRIBE(fexecve, kAlways, before(reads_list<2>), before(reads_list<3>))
DEADHEAT_DESCRIBE(execveat, kAlways, reads_text(2), before(reads_list<3>), before(reads_list<4>))

// The machine and the process.
DEADHEAT_DESCRIBE(getdomainname, kZero, writes_text(1))
DEADHEAT_DESCRIBE(__getdomainname_chk, kZero, writes_text(1))
DEADHEAT_DESCRIBE(__gethostname_chk, kZero, writes_text(1))
DEADHEAT_DESCRIBE(sethostname, kAlways, reads_bytes(1, 2))
DEADHEAT_DESCRIBE(setdomainname, kAlways, reads_bytes(1, 2))
DEADHEAT_DESCRIBE(setlogin, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(confstr, kAlways, after(names_in_order))
DEADHEAT_DESCRIBE(__confstr_chk, kAlways, after(names_in_order))
DEADHEAT_DESCRIBE(getcpu, kZero, writes(1, sizeof(unsigned)), writes(2, sizeof(unsigned)))
DEADHEAT_DESCRIBE(mincore, kZero, after([](const DescribedCall& call) {
                    constexpr std::size_t kPage = 4096;
                    on_write(call.pointer<const void>(3), (call.value(2) + kPage - 1) / kPage, call.code);
                  }))
DEADHEAT_DESCRIBE(capget, kZero, reads(1, 8), writes(2, 12))
DEADHEAT_DESCRIBE(capset, kAlways, reads(1, 8), reads(2, 12))
DEADHEAT_DESCRIBE(klogctl, kNotNegative, writes_int_result(2, 1))
DEADHEAT_DESCRIBE(backtrace_symbols, kAlways, reads_ints(1, 2, sizeof(void*)))
DEADHEAT_DESCRIBE(__backtrace_symbols, kAlways, reads_ints(1, 2, sizeof(void*)))
DEADHEAT_DESCRIBE(backtrace_symbols_fd, kAlways, reads_ints(1, 2, sizeof(void*)))
DEADHEAT_DESCRIBE(__backtrace_symbols_fd, kAlways, reads_ints(1, 2, sizeof(void*)))
DEADHEAT_DESCRIBE(dladdr, kNotNull, writes(2, 4 * sizeof(void*)))
DEADHEAT_DESCRIBE(dladdr1, kNotNull, writes(2, 4 * sizeof(void*)), writes(3, sizeof(void*)))
DEADHEAT_DESCRIBE(init_module, kAlways, reads_bytes(1, 2), reads_text(3))
DEADHEAT_DESCRIBE(delete_module, kAlways, reads_text(1))

// Sockets and addresses.
DEADHEAT_DESCRIBE(setsockopt, kAlways, reads_ints(4, 5))
DEADHEAT_DESCRIBE_LONG(getnameinfo, kZero, reads_ints(1, 2), after(names_address))
DEADHEAT_DESCRIBE(getifaddrs, kZero, after(lists_interfaces))
DEADHEAT_DESCRIBE(if_nametoindex, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(if_indextoname, kNotNull, writes_text(2))
DEADHEAT_DESCRIBE(inet_addr, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(inet_network, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(inet_aton, kNotNull, reads_text(1), writes(2, sizeof(in_addr)))
DEADHEAT_DESCRIBE(inet_ntoa, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(inet_nsap_addr, kAlways, reads_text(1), writes_int_result(2, 1))
DEADHEAT_DESCRIBE(inet_nsap_ntoa, kNotNull, reads_ints(2, 1), writes_text(0))
DEADHEAT_DESCRIBE(bindresvport, kZero, writes(2, sizeof(sockaddr_in)))

// Terminals.
DEADHEAT_DESCRIBE(ioctl, kNotNegative, before(asks_device), after(answers_device))
DEADHEAT_DESCRIBE(tcgetattr, kZero, writes(2, sizeof(termios)))
DEADHEAT_DESCRIBE(tcsetattr, kAlways, reads(3, sizeof(termios)))
DEADHEAT_DESCRIBE(cfmakeraw, kAlways, updates(1, sizeof(termios)))
DEADHEAT_DESCRIBE(cfsetspeed, kAlways, updates(1, sizeof(termios)))
DEADHEAT_DESCRIBE(cfsetispeed, kAlways, updates(1, sizeof(termios)))
DEADHEAT_DESCRIBE(cfsetospeed, kAlways, updates(1, sizeof(termios)))
DEADHEAT_DESCRIBE(cfgetispeed, kAlways, reads(1, sizeof(termios)))
DEADHEAT_DESCRIBE(cfgetospeed, kAlways, reads(1, sizeof(termios)))
DEADHEAT_DESCRIBE(ttyname, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(ttyname_r, kZero, writes_text(2))
DEADHEAT_DESCRIBE(__ttyname_r_chk, kZero, writes_text(2))
DEADHEAT_DESCRIBE(ptsname, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(ptsname_r, kZero, writes_text(2))
DEADHEAT_DESCRIBE(__ptsname_r_chk, kZero, writes_text(2))
DEADHEAT_DESCRIBE(ctermid, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(openpty, kZero, writes(1, sizeof(int)), writes(2, sizeof(int)), writes_text(3),
                  reads(4, sizeof(termios)), reads(5, sizeof(winsize)))
DEADHEAT_DESCRIBE(getpass, kNotNull, reads_text(1), writes_text(0))
DEADHEAT_DESCRIBE(forkpty, kNotNegative, writes(1, sizeof(int)), reads(3, sizeof(termios)), reads(4, sizeof(winsize)))

// Memory of other processes, and of this one.
DEADHEAT_DESCRIBE(process_madvise, kAlways, reads_bytes(2, 3, sizeof(iovec)))
DEADHEAT_DESCRIBE(modify_ldt, kCount, writes_result(2))
DEADHEAT_DESCRIBE(sigstack, kZero, reads(1, 16), writes(2, 16))
DEADHEAT_DESCRIBE(argp_parse, kAlways, updates(5, sizeof(int)))
DEADHEAT_DESCRIBE(_obstack_begin, kAlways, updates(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(_obstack_begin_1, kAlways, updates(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(_obstack_newchunk, kAlways, updates(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(_obstack_free, kAlways, updates(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(obstack_free, kAlways, updates(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(_obstack_allocated_p, kAlways, reads(1, sizeof(obstack)))
DEADHEAT_DESCRIBE(_obstack_memory_used, kAlways, reads(1, sizeof(obstack)))
