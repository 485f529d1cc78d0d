// SPDX-License-Identifier: Apache-2.0
// boost::call_once, whose flag is an atomic variable that only the library looks at. The rest of
// Boost.Thread is headers and libpthread's functions.
#include "runtime/intercept/foreign_calls.h"

// An initialiser that throws comes before the next one.
DEADHEAT_FOREIGN("libboost_thread", _ZN5boost13thread_detail17enter_once_regionERNS_9once_flagE, , order.take(a))
DEADHEAT_FOREIGN("libboost_thread", _ZN5boost13thread_detail18commit_once_regionERNS_9once_flagE, order.give(a), )
DEADHEAT_FOREIGN("libboost_thread", _ZN5boost13thread_detail20rollback_once_regionERNS_9once_flagE, order.give(a), )
