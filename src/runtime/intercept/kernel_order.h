// SPDX-License-Identifier: Apache-2.0
// KernelOrder: what the kernel hands from who gives something up to who gets it.
//
// A semaphore of System V, a message queue, a signal, a pipe: all are objects of the
// kernel's, which have numbers and no address in the program. An object becomes a
// *tag*, a number of 16 bits, and the tag an address for on_happens_before and
// on_happens_after. Two objects that hash to one tag are ordered more than they
// should be: that can hide a race, one in 65,000 by chance, and never makes one up.
//
// Other processes hand on order, too: who writes to a filter and who reads its
// output are ordered by it. Their doings are not known, so all of them are one object,
// the *outside*: what may reach another process is given to it, what may come from
// one is taken from it. See relatives.h for when that is asked at all.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

enum class KernelObject : std::uint64_t {
  // Channels behind descriptors: descriptor_order.h.
  kInode = 1,
  kAnonymous,
  kStream,
  kDatagram,
  kLocalName,
  kLocal,
  kListener,
  kPaired,
  // Semaphores of System V, by set and number: who lowers waits for who raised, who
  // waits for zero for who lowered.
  kSemaphoreRaised,
  kSemaphoreLowered,
  kMessages,          // of System V, by queue and type
  kEndOfSet,          // of semaphores or messages, by its number: who waited gets an error
  kMessageQueue,      // of POSIX, by device and inode
  kQueueNotice,       // mq_notify
  kSignal,            // by number
  kSignalToThread,    // by number and pthread_t
  kSignalToThreadId,  // by number and the kernel's number of the thread
  kAnySignal,         // for descriptors of signalfd
  kTimer,             // timer_settime, by timer
  kAnyTimer,          // for who is not told which
  kIntervalTimer,     // alarm, setitimer
  kFileEvents,        // inotify, fanotify
  kFutex,             // by address
  kRing,              // all of io_uring (io_rings.h)
  kOutside,
};

using KernelTag = std::uint16_t;
inline constexpr KernelTag kNoTag = 0;

[[nodiscard]] KernelTag kernel_tag(KernelObject object, std::uint64_t first = 0, std::uint64_t second = 0);

// Before the call that gives; after the call that got. Nothing for kNoTag, nor where
// nothing is observed. Both keep errno.
void give_to_kernel(KernelTag tag, Address code);
void take_from_kernel(KernelTag tag, Address code);

inline void give_to_kernel(KernelObject object, std::uint64_t first, std::uint64_t second, Address code) {
  give_to_kernel(kernel_tag(object, first, second), code);
}
inline void take_from_kernel(KernelObject object, std::uint64_t first, std::uint64_t second, Address code) {
  take_from_kernel(kernel_tag(object, first, second), code);
}

}  // namespace deadheat::runtime
