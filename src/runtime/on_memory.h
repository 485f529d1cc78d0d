// SPDX-License-Identifier: Apache-2.0
// Memory that comes and goes: called by the interceptors of the heap, of mmap
// and of thread stacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/identity.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// The block is new: its history is forgotten, whoever had the memory before.
// After the allocation, before the program sees the pointer.
void on_allocated(ThreadState& self, Address block, std::size_t size, Address code);
// The same for a block that libc allocates while the thread is inside the runtime
// (the TLS of a new thread): nobody's event, but new memory all the same.
void on_allocated_inside(Address block, std::size_t size);
// Before the memory goes back: counts as a write of the whole block, checked over
// its whole length. Synchronisation objects inside it end.
void on_freeing(ThreadState& self, Address block, std::size_t size, Address code);

// mmap, shared memory, a new module: forget what was known of the range.
void on_mapped(ThreadState& self, Address begin, std::size_t size, Address code);
// Before munmap, or before it is mapped over: checked like a free, and the shadow
// goes back to the system.
void on_unmapping(ThreadState& self, Address begin, std::size_t size, Address code);
// Before memory moves: as soon as it has, its old place can be another thread's new
// memory, where nothing of this thread may turn up any more.
void on_remapping(ThreadState& self);
// After mremap moved or resized a mapping.
void on_remapped(ThreadState& self, Address from, std::size_t old_size, Address to, std::size_t new_size, Address code);

// The memory begins anew without an allocation, as a thread's stack does: its
// history and the synchronisation objects in it are forgotten.
void forget_memory(ThreadState& self, Address begin, std::size_t size);

// After dlopen or dlclose: sends the list of modules again.
void on_modules_changed(ThreadState& self);

}  // namespace deadheat::runtime
