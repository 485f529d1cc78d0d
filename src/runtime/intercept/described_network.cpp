// SPDX-License-Identifier: Apache-2.0
// Described functions: headers of IPv6, sources of multicast, names in messages of DNS, remote shells. (described.h)
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kInt = sizeof(int);
constexpr std::size_t kPointer = sizeof(void*);
constexpr std::size_t kHeader = 8;  // of a routing header
constexpr std::size_t kControl = sizeof(cmsghdr);

// The part of the header (parameter 1) from the offset that was given to the one that is returned.
template <unsigned kOffset>
void extends_header(const DescribedCall& call) {
  if (call.value(1) == 0 || call.integer(0) <= call.integer(kOffset)) return;
  on_write(call.pointer<const char>(1) + call.integer(kOffset),
           static_cast<std::size_t>(call.integer(0) - call.integer(kOffset)), call.code);
}
// inet6_opt_set_val(header, offset, value, size)
void sets_value(const DescribedCall& call) {
  on_write(call.pointer<const char>(1) + call.integer(2), static_cast<std::uint32_t>(call.value(4)), call.code);
}
void gets_value(const DescribedCall& call) {
  on_read(call.pointer<const char>(1) + call.integer(2), static_cast<std::uint32_t>(call.value(4)), call.code);
}
// The name at the beginning of what is between the two.
void reads_name(const DescribedCall& call) {
  if (call.integer(0) > 0) on_read(call.pointer<const char>(1), static_cast<std::size_t>(call.integer(0)), call.code);
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_DESCRIBE(inet6_opt_init, kNotNegative, updates(1, 2))
DEADHEAT_DESCRIBE_LONG(inet6_opt_append, kNotNegative, after(extends_header<3>), writes(7, kPointer))
DEADHEAT_DESCRIBE(inet6_opt_finish, kNotNegative, after(extends_header<3>))
DEADHEAT_DESCRIBE(inet6_opt_set_val, kNotNegative, reads_ints(3, 4), after(sets_value))
DEADHEAT_DESCRIBE(inet6_opt_get_val, kNotNegative, before(gets_value), writes_ints(3, 4))
DEADHEAT_DESCRIBE(inet6_opt_next, kNotNegative, reads_ints(1, 2), writes(4, 1), writes(5, kInt), writes(6, kPointer))
DEADHEAT_DESCRIBE(inet6_opt_find, kNotNegative, reads_ints(1, 2), writes(5, kInt), writes(6, kPointer))
DEADHEAT_DESCRIBE(inet6_option_init, kZero, updates(1, kControl), writes(2, kPointer))
DEADHEAT_DESCRIBE(inet6_option_append, kAlways, updates(1, kControl), reads(2, 2))
DEADHEAT_DESCRIBE(inet6_option_alloc, kAlways, updates(1, kControl))
DEADHEAT_DESCRIBE(inet6_option_next, kZero, reads(1, kControl), writes(2, kPointer))
DEADHEAT_DESCRIBE(inet6_option_find, kZero, reads(1, kControl), writes(2, kPointer))
DEADHEAT_DESCRIBE(inet6_rth_init, kNotNull, updates(1, kHeader))
DEADHEAT_DESCRIBE(inet6_rth_add, kAlways, reads(2, sizeof(in6_addr)), updates(1, kHeader))
DEADHEAT_DESCRIBE(inet6_rth_reverse, kAlways, reads(1, kHeader), updates(2, kHeader))
DEADHEAT_DESCRIBE(inet6_rth_segments, kAlways, reads(1, kHeader))
DEADHEAT_DESCRIBE(inet6_rth_getaddr, kAlways, reads(1, kHeader))
DEADHEAT_DESCRIBE(__cmsg_nxthdr, kAlways, reads(1, sizeof(msghdr)), reads(2, kControl))

DEADHEAT_DESCRIBE(getipv4sourcefilter, kZero, writes(4, kInt), updates(5, kInt))
DEADHEAT_DESCRIBE(setipv4sourcefilter, kAlways, reads_ints(6, 5, sizeof(in_addr)))
DEADHEAT_DESCRIBE_LONG(getsourcefilter, kZero, reads_ints(3, 4), writes(5, kInt), updates(6, kInt))
DEADHEAT_DESCRIBE_LONG(setsourcefilter, kAlways, reads_ints(3, 4), reads_ints(7, 6, sizeof(sockaddr_storage)))

DEADHEAT_DESCRIBE(dn_skipname, kNotNegative, after(reads_name))
DEADHEAT_DESCRIBE(ns_name_skip, kAlways, updates(1, kPointer))
DEADHEAT_DESCRIBE(ns_name_pack, kNotNegative, reads_text(1), writes_int_result(2, 1))
DEADHEAT_DESCRIBE(ns_name_unpack, kNotNegative, writes_text(4))
DEADHEAT_DESCRIBE(res_hnok, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(res_dnok, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(res_mailok, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(res_ownok, kAlways, reads_text(1))

DEADHEAT_DESCRIBE(rcmd, kAlways, updates(1, kPointer), reads_text(3), reads_text(4), reads_text(5), updates(6, kInt))
DEADHEAT_DESCRIBE_LONG(rcmd_af, kAlways, updates(1, kPointer), reads_text(3), reads_text(4), reads_text(5),
                       updates(6, kInt))
DEADHEAT_DESCRIBE(rexec, kAlways, updates(1, kPointer), reads_text(3), reads_text(4), reads_text(5), updates(6, kInt))
DEADHEAT_DESCRIBE_LONG(rexec_af, kAlways, updates(1, kPointer), reads_text(3), reads_text(4), reads_text(5),
                       updates(6, kInt))
DEADHEAT_DESCRIBE(rresvport, kAlways, updates(1, kInt))
DEADHEAT_DESCRIBE(rresvport_af, kAlways, updates(1, kInt))
DEADHEAT_DESCRIBE(ruserok, kAlways, reads_text(1), reads_text(3), reads_text(4))
DEADHEAT_DESCRIBE(ruserok_af, kAlways, reads_text(1), reads_text(3), reads_text(4))
DEADHEAT_DESCRIBE(iruserok, kAlways, reads_text(3), reads_text(4))
DEADHEAT_DESCRIBE(iruserok_af, kAlways, reads(1, sizeof(in_addr)), reads_text(3), reads_text(4))
DEADHEAT_DESCRIBE(ruserpass, kAlways, reads_text(1), updates(2, kPointer), updates(3, kPointer))
