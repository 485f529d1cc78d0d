// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace deadheat::record {

// The program's allocator, without an entry in the log.
void* unlogged_malloc(std::size_t size);
void unlogged_free(void* block);

}  // namespace deadheat::record
