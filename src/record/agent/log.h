// SPDX-License-Identifier: Apache-2.0
// The log of the calling thread: fixed-size records in a file that it has mapped, so that what
// was written is there whatever happens to the program next.
//
// A record is taken by one instruction (xadd without a lock prefix), which signal handlers of the
// thread cannot split; so handlers may log, too. Pieces of the file are mapped at addresses
// that are multiples of their size: whether a piece is nearly full shows in the record's own
// address, and a handler that turned to the next piece meanwhile cannot confuse it.
//
// Clock: what acquires is stamped after the operation and what releases before it. The stamp of a
// release is stored before the store that releases (x86 keeps stores in order); lfence keeps
// the stamp of an acquire behind it. So stamps of the processor's counter, which is the same for all
// processors, order the operations on each lock as they happened, and no lock of ours is needed for it.
//
// Cost: a stamp and four stores; for every 64 KiB one write() and one clearing of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/log_record.h"

// Of small variables that most calls need: in one page, with the addresses of the originals, and not each between large
// tables. A program that works between two calls finds none of them in the processor's near caches, and each page more
// is one more address to translate.
#define DEADHEAT_TOGETHER __attribute__((section(".data")))

namespace deadheat::record {

// The next record of this thread; nullptr (or a little above): it has no log.
extern thread_local constinit LogRecord* next_record __attribute__((visibility("hidden"), tls_model("initial-exec")));
// The number of the thread whose log it is, plus 1; 0 before it has one.
extern thread_local constinit std::uint32_t own_mark __attribute__((visibility("hidden"), tls_model("initial-exec")));
// The same in notes of releases (hand_over.h), where it cannot be taken for an address or the mark of an earlier
// process; kNoReleaseMark for a thread that has no log.
extern thread_local constinit std::uint64_t own_release_mark
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern constinit bool is_on;  // this process is recorded
extern constinit LogClock log_clock;

inline constexpr std::uint64_t kNoReleaseMark = 1;
extern constinit std::uint64_t release_mark_base;  // its upper half
[[nodiscard]] inline bool is_release_mark(std::uint64_t word) { return (word ^ release_mark_base) >> 32U == 0; }
[[nodiscard]] inline std::uint32_t thread_of_mark(std::uint64_t mark) { return static_cast<std::uint32_t>(mark); }

// A thread that nobody saw begin gets its log here. False: nothing is logged for it.
bool begin_unknown_thread();
// The calling thread's log; its number was given by next_thread().
enum class Origin : std::uint8_t { kCreated, kUnknown };
bool begin_log(std::uint32_t thread, Origin origin);
std::uint32_t next_thread();
// ThreadExit is logged; what comes later is not.
void end_log();
// The record is in the free room at the end of a piece.
void turn_piece(LogRecord* record);

// In DIR, absolute. Returns nullptr or what is wrong.
const char* open_logs(const char* directory, LogClock clock, LoggedLocks locks, std::uint64_t limit_bytes);
void finish_logs();
// The program confines its system calls: we make none from now on, in any thread.
void stop_for_confinement();
// In a child of fork: it is not recorded.
void forget_logs();

std::uint64_t read_time();

[[nodiscard]] inline std::uint64_t time_before() {
  if (log_clock != LogClock::kTicks) return read_time();
  return __builtin_ia32_rdtsc();
}
[[nodiscard]] inline std::uint64_t time_after() {
  if (log_clock != LogClock::kTicks) return read_time();
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
}

inline constexpr std::uint64_t kLowestRecord = 65536;

inline void append(LogKind kind, std::uint8_t detail, std::uint64_t object, std::uint64_t extent, const void* code,
                   std::uint64_t time) {
  std::uint64_t at = sizeof(LogRecord);
  __asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(next_record) : : "cc");
  if (at < kLowestRecord) return;  // a handler has ended the log
  auto* const record = reinterpret_cast<LogRecord*>(at);
  record->time = time;
  record->object = object;
  record->extent = extent;
  __atomic_store_n(&record->where, log_where(kind, detail, reinterpret_cast<std::uint64_t>(code)), __ATOMIC_RELEASE);
  if ((at & (kLogPiece - 1)) >= kLogPiece - kLogSlack) turn_piece(record);
}

[[nodiscard]] inline bool has_log() {
  if (reinterpret_cast<std::uint64_t>(next_record) >= kLowestRecord) return true;
  return is_on && begin_unknown_thread();
}

inline std::uint64_t number_of(const volatile void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// For what releases, before the operation.
inline void log_before(LogKind kind, std::uint64_t object, std::uint64_t extent, const void* code,
                       std::uint8_t detail = 0) {
  if (has_log()) append(kind, detail, object, extent, code, time_before());
}
// For what acquires, after it.
inline void log_after(LogKind kind, std::uint64_t object, std::uint64_t extent, const void* code,
                      std::uint8_t detail = 0) {
  if (has_log()) append(kind, detail, object, extent, code, time_after());
}

}  // namespace deadheat::record
