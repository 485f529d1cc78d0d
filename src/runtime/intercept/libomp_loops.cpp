// SPDX-License-Identifier: Apache-2.0
// Loops of libomp whose iterations wait for others. The tool that tells us what else libomp orders
// (cli/openmp_tool.h) does not speak of them.
//
// Which iteration is meant is not looked at: all that was posted before counts.
#include "runtime/intercept/library_calls.h"
#include "runtime/intercept/order_tag.h"

namespace deadheat::runtime {
namespace {

constinit OrderTag posts;

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_LIBRARY_CALL("libomp", void, __kmpc_doacross_post, const void* place, int thread, const long long* iteration) {
  DEADHEAT_BEHIND(__kmpc_doacross_post);
  posts.give(DEADHEAT_CALLER);
  behind(place, thread, iteration);
}

DEADHEAT_LIBRARY_CALL("libomp", void, __kmpc_doacross_wait, const void* place, int thread, const long long* iteration) {
  DEADHEAT_BEHIND(__kmpc_doacross_wait);
  behind(place, thread, iteration);
  posts.take(DEADHEAT_CALLER);
}
