// SPDX-License-Identifier: Apache-2.0
// Described functions: libcrypt and libresolv. (described.h)
#include <arpa/nameser.h>

#include <cstddef>
#include <cstdint>

#include "runtime/intercept/described.h"

DEADHEAT_DESCRIBE(crypt, kNotNull, reads_text(1), reads_text(2), writes_text(0))
DEADHEAT_DESCRIBE(crypt_r, kNotNull, reads_text(1), reads_text(2), writes_text(0))
DEADHEAT_DESCRIBE(crypt_rn, kNotNull, reads_text(1), reads_text(2), writes_text(0))
DEADHEAT_DESCRIBE(crypt_ra, kNotNull, reads_text(1), reads_text(2), writes(3, sizeof(void*)), writes(4, sizeof(int)),
                  writes_text(0))
DEADHEAT_DESCRIBE(crypt_gensalt, kNotNull, reads_text(1), reads_ints(3, 4), writes_text(0))
DEADHEAT_DESCRIBE(crypt_gensalt_rn, kNotNull, reads_text(1), reads_ints(3, 4), writes_text(0))
DEADHEAT_DESCRIBE(crypt_gensalt_ra, kNotNull, reads_text(1), reads_ints(3, 4), writes_text(0))
DEADHEAT_DESCRIBE(crypt_checksalt, kAlways, reads_text(1))

DEADHEAT_DESCRIBE(res_query, kNotNegative, reads_text(1), writes_int_result(4, 1))
DEADHEAT_DESCRIBE(res_search, kNotNegative, reads_text(1), writes_int_result(4, 1))
DEADHEAT_DESCRIBE(res_querydomain, kNotNegative, reads_text(1), reads_text(2), writes_int_result(5, 1))
DEADHEAT_DESCRIBE(res_send, kNotNegative, reads_ints(1, 2), writes_int_result(3, 1))
DEADHEAT_DESCRIBE(res_nquery, kNotNegative, reads_text(2), writes_int_result(5, 1))
DEADHEAT_DESCRIBE(res_nsearch, kNotNegative, reads_text(2), writes_int_result(5, 1))
DEADHEAT_DESCRIBE(res_nquerydomain, kNotNegative, reads_text(2), reads_text(3), writes_int_result(6, 1))
DEADHEAT_DESCRIBE(res_nsend, kNotNegative, reads_ints(2, 3), writes_int_result(4, 1))
DEADHEAT_DESCRIBE_LONG(res_mkquery, kNotNegative, reads_text(2), writes_int_result(8, 1))
DEADHEAT_DESCRIBE(dn_expand, kNotNegative, writes_text(4))
DEADHEAT_DESCRIBE(dn_comp, kNotNegative, reads_text(1), writes_int_result(2, 1))
DEADHEAT_DESCRIBE(ns_name_ntop, kNotNegative, writes_text(2))
DEADHEAT_DESCRIBE(ns_name_pton, kNotNegative, reads_text(1))
DEADHEAT_DESCRIBE(ns_name_uncompress, kNotNegative, writes_text(4))
DEADHEAT_DESCRIBE(ns_name_compress, kNotNegative, reads_text(1), writes_int_result(2, 1))
DEADHEAT_DESCRIBE(ns_initparse, kZero, reads_ints(1, 2), writes(3, sizeof(ns_msg)))
DEADHEAT_DESCRIBE(ns_parserr, kZero, reads(1, sizeof(ns_msg)), writes(4, sizeof(ns_rr)))
DEADHEAT_DESCRIBE(ns_get16, kAlways, reads(1, 2))
DEADHEAT_DESCRIBE(ns_get32, kAlways, reads(1, 4))
DEADHEAT_DESCRIBE(ns_put16, kAlways, updates(2, 2))
DEADHEAT_DESCRIBE(ns_put32, kAlways, updates(2, 4))
DEADHEAT_DESCRIBE(ns_samename, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(ns_samedomain, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(ns_subdomain, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(inet_net_ntop, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(inet_net_pton, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(inet_neta, kNotNull, writes_text(0))
