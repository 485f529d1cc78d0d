// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/file_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/flat_map.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

enum class Mode : std::uint8_t { kNone, kShared, kExclusive, kUnknown };
enum class Space : std::uint64_t { kFlock = 1, kRanges };

// A range that a description has had a lock on. Made with `lock` held, and never ended;
// only `mode` changes afterwards.
struct FileLock {
  std::uint64_t file = 0;  // a hash of the space, the device and the inode
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t description = 0;
  Mode mode = Mode::kNone;
};
constexpr std::uint32_t kLocks = 2048;
constinit SpinLock lock;
constinit FileLock locks[kLocks];
constinit std::atomic<std::uint32_t> lock_count{0};

// Nothing is stored in these: their addresses stand for what shared and exclusive
// holders of a lock gave up. The last ones are for all locks that found no place.
struct Tags {
  char shared = 0;
  char exclusive = 0;
};
constinit Tags tags[kLocks + 1] = {};

// The descriptions of descriptors that had a lock; 0 for others.
constexpr int kDescriptors = 65536;
constinit std::atomic<std::uint32_t> descriptions[kDescriptors];
constinit std::atomic<std::uint32_t> last_description{0};

bool is_listed(int descriptor) { return descriptor >= 0 && descriptor < kDescriptors; }

std::uint32_t description_of(int descriptor) {
  if (!is_listed(descriptor)) return 0;
  std::uint32_t known = descriptions[descriptor].load(std::memory_order_relaxed);
  if (known != 0) return known;
  const std::uint32_t fresh = last_description.fetch_add(1, std::memory_order_relaxed) + 1;
  return descriptions[descriptor].compare_exchange_strong(known, fresh, std::memory_order_relaxed) ? fresh : known;
}

// 0 if it is not known.
std::uint64_t file_of(int descriptor, Space space) {
  struct stat about{};
  if (raw_call(SYS_fstat, descriptor, reinterpret_cast<long>(&about)) != 0) return 0;
  return spread(about.st_ino + spread(about.st_dev + spread(static_cast<std::uint64_t>(space)))) | 1;
}

bool is_same(const FileLock& one, const FileLock& other) {
  return one.file == other.file && one.begin == other.begin && one.end == other.end &&
         one.description == other.description;
}

bool overlap(const FileLock& one, const FileLock& other) { return one.begin < other.end && other.begin < one.end; }

// kLocks if there is no room.
std::uint32_t place_of(const FileLock& wanted) {
  const RuntimeScope scope;
  const SpinHolder hold(lock);
  const std::uint32_t count = lock_count.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; at < count; ++at) {
    if (is_same(locks[at], wanted)) return at;
  }
  if (count == kLocks) return kLocks;
  locks[count] = wanted;
  lock_count.store(count + 1, std::memory_order_release);  // pairs with the loads of who looks for others
  return count;
}

void give(std::uint32_t place, Mode mode, Address code) {
  if (mode == Mode::kShared || mode == Mode::kUnknown) on_happens_before(self(), address_of(&tags[place].shared), code);
  if (mode == Mode::kExclusive || mode == Mode::kUnknown)
    on_happens_before(self(), address_of(&tags[place].exclusive), code);
}

void take(std::uint32_t place, Mode mode, Address code) {
  on_happens_after(self(), address_of(&tags[place].exclusive), code);
  if (mode == Mode::kExclusive) on_happens_after(self(), address_of(&tags[place].shared), code);
}

// Before a lock is given up or changes its mode: all that the description holds in the range.
enum class Until : std::uint8_t { kGone, kChanged };
void give_up(const FileLock& wanted, Until until, Address code) {
  if (wanted.file == 0) return;
  const std::uint32_t count = lock_count.load(std::memory_order_acquire);  // pairs with the store in place_of()
  for (std::uint32_t at = 0; at < count; ++at) {
    FileLock& held = locks[at];
    if (held.file != wanted.file || held.description != wanted.description || !overlap(held, wanted)) continue;
    give(at, held.mode, code);
    if (until == Until::kGone && wanted.begin <= held.begin && held.end <= wanted.end) held.mode = Mode::kNone;
  }
  if (count == kLocks) give(kLocks, Mode::kUnknown, code);
}

// After a lock was taken.
void take_over(const FileLock& wanted, Address code) {
  if (wanted.file == 0) return;
  const std::uint32_t own = place_of(wanted);
  if (own != kLocks) locks[own].mode = wanted.mode;
  const std::uint32_t count = lock_count.load(std::memory_order_acquire);  // pairs with the store in place_of()
  for (std::uint32_t at = 0; at < count; ++at) {
    const FileLock& other = locks[at];
    if (other.file != wanted.file || other.description == wanted.description) continue;
    if (overlap(other, wanted)) take(at, wanted.mode, code);
  }
  take(kLocks, wanted.mode, code);
}

void give_up_all(int descriptor, Address code) {
  if (!is_listed(descriptor)) return;
  const std::uint32_t description = descriptions[descriptor].load(std::memory_order_relaxed);
  if (description == 0) return;
  const std::uint32_t count = lock_count.load(std::memory_order_acquire);  // pairs with the store in place_of()
  for (std::uint32_t at = 0; at < count; ++at) {
    if (locks[at].description == description) give(at, locks[at].mode, code);
  }
  give_to_relatives(code);
}

constinit std::atomic<bool> process_has_locks{false};  // has ever had

constexpr std::uint64_t kWhole = ~std::uint64_t{0};

Mode mode_of(int type) {
  if (type == F_RDLCK) return Mode::kShared;
  return type == F_WRLCK ? Mode::kExclusive : Mode::kNone;
}

long base_of(int descriptor, int whence) {
  if (whence == SEEK_CUR) return raw_call(SYS_lseek, descriptor, 0, SEEK_CUR);
  if (whence != SEEK_END) return 0;
  struct stat about{};
  return raw_call(SYS_fstat, descriptor, reinterpret_cast<long>(&about)) == 0 ? about.st_size : 0;
}

}  // namespace

FileLockCall::FileLockCall(int descriptor, int command, long argument, Address code)
    : descriptor_(descriptor), code_(code) {
  const bool is_of_description = command == F_OFD_SETLK || command == F_OFD_SETLKW;
  const bool is_of_process = command == F_SETLK || command == F_SETLKW;
  if ((!is_of_description && !is_of_process) || argument == 0 || !is_observing()) return;
  const KeepErrno keep;
  const auto& wanted = *reinterpret_cast<const struct flock*>(argument);
  report_read(&wanted, sizeof wanted, code);
  kind_ = is_of_process ? Kind::kOfProcess : Kind::kOfDescription;
  type_ = wanted.l_type;
  if (is_of_process) {
    process_has_locks.store(true, std::memory_order_relaxed);
    give_to_relatives(code);
    return;
  }
  const long start = base_of(descriptor, wanted.l_whence) + wanted.l_start;
  const long begin = wanted.l_len < 0 ? start + wanted.l_len : start;
  begin_ = begin < 0 ? 0 : static_cast<std::uint64_t>(begin);
  end_ = kWhole;
  if (wanted.l_len != 0) end_ = static_cast<std::uint64_t>(wanted.l_len < 0 ? start : start + wanted.l_len);
  give_up({file_of(descriptor, Space::kRanges), begin_, end_, description_of(descriptor), Mode::kNone},
          type_ == F_UNLCK ? Until::kGone : Until::kChanged, code);
  give_to_relatives(code);
}

void FileLockCall::finish(int result) const {
  if (kind_ == Kind::kNone || result != 0 || !is_observing()) return;
  const Mode mode = mode_of(type_);
  if (mode != Mode::kNone) take_from_relatives(code_);
  if (kind_ != Kind::kOfDescription || mode == Mode::kNone) return;
  const KeepErrno keep;
  take_over({file_of(descriptor_, Space::kRanges), begin_, end_, description_of(descriptor_), mode}, code_);
}

void before_unlocking_all(int descriptor, Address code) {
  if (!is_observing()) return;
  give_up_all(descriptor, code);
  if (process_has_locks.load(std::memory_order_relaxed)) give_to_relatives(code);
}

void forget_file_locks(int descriptor) {
  if (is_listed(descriptor)) descriptions[descriptor].store(0, std::memory_order_relaxed);
}

void copy_file_locks(int from, int to) {
  if (is_listed(to)) descriptions[to].store(description_of(from), std::memory_order_relaxed);
}

void reset_file_locks_in_child() { lock.reset(); }

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, flock, int descriptor, int operation) {
  DEADHEAT_ORIGINAL(flock);
  if (!is_observing()) return original(descriptor, operation);
  FileLock wanted{file_of(descriptor, Space::kFlock), 0, kWhole, description_of(descriptor), Mode::kNone};
  const int kind = operation & ~LOCK_NB;
  give_up(wanted, kind == LOCK_UN ? Until::kGone : Until::kChanged, DEADHEAT_CALLER);
  give_to_relatives(DEADHEAT_CALLER);
  const int result = original(descriptor, operation);
  if (result != 0 || !is_observing()) return result;
  wanted.mode = kind == LOCK_SH ? Mode::kShared : Mode::kExclusive;
  if (kind == LOCK_UN) return result;
  take_over(wanted, DEADHEAT_CALLER);
  take_from_relatives(DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, lockf, int descriptor, int command, long size) {
  DEADHEAT_ORIGINAL(lockf);
  if (is_observing()) process_has_locks.store(true, std::memory_order_relaxed);
  if (is_observing()) give_to_relatives(DEADHEAT_CALLER);
  const int result = original(descriptor, command, size);
  if (result == 0 && command != F_ULOCK) take_from_relatives(DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, lockf64, int descriptor, int command, long size) {
  DEADHEAT_ORIGINAL(lockf64);
  if (is_observing()) process_has_locks.store(true, std::memory_order_relaxed);
  if (is_observing()) give_to_relatives(DEADHEAT_CALLER);
  const int result = original(descriptor, command, size);
  if (result == 0 && command != F_ULOCK) take_from_relatives(DEADHEAT_CALLER);
  return result;
}
