// SPDX-License-Identifier: Apache-2.0
// A program that confines its system calls (seccomp) with us inside.
//
// The program's author has allowed what the program calls, and a filter may answer any other call by the end of the
// process. So before one is set we keep a copy of it, and from then on ask it before each call of our own
// (base/filter_program.h, by way of base/raw_call.h). A call that it would not let pass is not made. Something else is
// done instead, as far as there is something:
//
//   getpid, gettid, clock_gettime   from what is known already
//   madvise(MADV_DONTNEED)          the pages are cleared by hand
//   sched_yield                     the processor's pause
//   mmap                            the room that the runtime has reserved at its start (page_source.cpp)
//   sendto                          reports go through memory that is shared with `deadheat run` (mailbox.h)
//   membarrier                      code that goes without is switched on (heap_table.h)
//   the sampling thread             ends before, if it could not go on
//
// A filter that covers one thread only is taken to cover all. Not seen: filters that are set by a bare `syscall`
// instruction, and those that the program was started with.
#pragma once

#include "base/confinement.h"

namespace deadheat::runtime {

// Whether a filter is set, or about to be.
[[nodiscard]] bool is_confined();
// Whether the thread that samples could do its work.
[[nodiscard]] bool may_sample();
// Before the call; outside of any scope.
void begin_confinement(const Confining& confining);
// The call has failed: the latest filter is none.
void take_back_confinement();

// Once, early: what is needed later.
void prepare_for_confinement();
// In the child of a fork.
void note_forked_process();

}  // namespace deadheat::runtime
