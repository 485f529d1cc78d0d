// SPDX-License-Identifier: Apache-2.0
// The heap as the interceptors of other families use it: blocks for the program
// whose allocation site is a given place in the program's code.
#pragma once

#include <cstddef>

#include "model/identity.h"

namespace deadheat::runtime {

// At least this is guaranteed by malloc, and the size of the header.
inline constexpr std::size_t kBlockAlignment = 16;

// nullptr with errno ENOMEM when there is no memory. `alignment` is a power of two.
[[nodiscard]] void* allocate_block(std::size_t size, Address code);
[[nodiscard]] void* allocate_aligned_block(std::size_t alignment, std::size_t size, Address code);
// nullptr is fine, and so is a block of somebody else's.
void free_block(void* block, Address code);
// The same, and nobody's access: for who is known to free when all others are done with it.
void free_unchecked(void* block);
// What was asked for; what glibc says of a block of somebody else's.
[[nodiscard]] std::size_t block_size(void* block);
// False for a block of somebody else's.
[[nodiscard]] bool is_our_block(const void* block);

}  // namespace deadheat::runtime
