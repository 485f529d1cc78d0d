// SPDX-License-Identifier: Apache-2.0
// Locks on files: flock, and those of fcntl on open file descriptions, by ranges.
//
// Such a lock belongs to an open file description, which dup copies and open makes
// anew. Two threads that use one description do not keep each other out, so nothing
// is ordered between them. Between two descriptions, giving up a lock happens before
// taking one that it stood in the way of.
//
// The older locks of fcntl (F_SETLK) and lockf belong to the process: they keep no
// thread of it out and order none, but they do with other processes (relatives.h).
//
// Limit: beyond 2,048 different locks further ones are ordered with each other.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// Around fcntl; does nothing for commands that are no locks. Nothing with a destructor
// lives across the call.
class FileLockCall {
 public:
  FileLockCall(int descriptor, int command, long argument, Address code);
  void finish(int result) const;

 private:
  enum class Kind : std::uint8_t { kNone, kOfProcess, kOfDescription };
  int descriptor_;
  Kind kind_ = Kind::kNone;
  std::int16_t type_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  Address code_;
};

// Closing gives up what the description holds, if it is the last descriptor of it.
void before_unlocking_all(int descriptor, Address code);
// The descriptor means something new, or the same as another one.
void forget_file_locks(int descriptor);
void copy_file_locks(int from, int to);
void reset_file_locks_in_child();

}  // namespace deadheat::runtime
