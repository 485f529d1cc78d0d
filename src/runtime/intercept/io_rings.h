// SPDX-License-Identifier: Apache-2.0
// io_uring: what is handed to the kernel in one ring comes back in another.
//
// Submitting precedes the end of the operation, whoever hears of it. A program hears of it by a system call, by a
// function of liburing, or by looking at the tail of the ring of completions, which the kernel stores: so a
// submission counts as a release store to that word, for all rings alike.
//
// An operation may also read from a pipe that some thread wrote to, or wake one. Which operation has ended is the
// program's secret, so while there are rings all that is sent by descriptors goes to them as well, and what is received
// may come from them. That orders more than the kernel does, in programs with rings only.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

extern constinit std::atomic<bool> has_rings;

// The program has made one: its descriptor, and the io_uring_params that the kernel filled.
void note_ring(int descriptor, const void* parameters);
// A mapping of a descriptor: perhaps of a ring.
void note_ring_mapping(int descriptor, std::uint64_t offset, Address begin);

void before_ring_call(Address code);
void after_ring_call(Address code);

// Bytes leave by a descriptor, or have come.
void give_to_rings(Address code);
void take_from_rings(Address code);

}  // namespace deadheat::runtime
