// SPDX-License-Identifier: Apache-2.0
// Who and where: the identities that events and findings speak of. Each is a
// type of its own; the compiler keeps a lock from being taken for a thread.
#pragma once

#include <cstdint>

namespace deadheat {

// A thread of the observed program, numbered by whoever recorded it. Numbers
// are never reused within a trace and stay below kThreadLimit, so that tables
// may be indexed by them.
enum class ThreadId : std::uint32_t {};
inline constexpr std::uint32_t kThreadLimit = 1U << 24;

// A place in the observed memory. A quantity, not an identity: arithmetic is
// what it is for, hence an alias.
using Address = std::uint64_t;

// A synchronisation object that is not an atomic variable: mutex, rwlock,
// spinlock, condition variable, barrier, semaphore, once flag, annotation tag.
// Sources of live events use the object's address; importers number them. One
// number may name objects of different families (a mutex and a semaphore)
// without confusion: each family has its own table.
enum class SyncId : std::uint64_t {};

// A place in the code, as an index into the site table of the trace or run.
enum class SiteId : std::uint32_t { kUnknown = 0 };

// The longest single access. Sources split longer ones (memcpy of a gigabyte)
// into several events; a reader that meets a longer one calls it malformed.
inline constexpr std::uint64_t kMaxAccessSize = 1ULL << 24;

}  // namespace deadheat
