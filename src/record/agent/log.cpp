// SPDX-License-Identifier: Apache-2.0
#include "record/agent/log.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/raw_call.h"
#include "base/signals_blocked.h"
#include "record/agent/recent_blocks.h"

namespace deadheat::record {

thread_local constinit LogRecord* next_record = nullptr;
thread_local constinit std::uint32_t own_mark = 0;
thread_local constinit std::uint64_t own_release_mark = kNoReleaseMark;
constinit std::uint64_t release_mark_base = 0;
DEADHEAT_TOGETHER constinit bool is_on = false;
DEADHEAT_TOGETHER constinit LogClock log_clock = LogClock::kNanoseconds;

namespace {

constinit char directory_path[3072] = {};
constinit AgentState* state = nullptr;
constinit std::uint64_t limit = 0;
constinit std::uint64_t process = 0;

// Of the calling thread. Two windows onto a file take turns. A piece is written to the log
// when its window is needed again: a record that a handler interrupted has the time of a whole
// piece to be finished.
struct OwnLog {
  char* windows = nullptr;  // two, each as large as a piece; behind them slots of blocks (recent_blocks.h)
  std::uint32_t thread = 0;
  std::uint32_t piece = 0;  // that is being filled
  bool has_ended = false;
};
thread_local constinit OwnLog own __attribute__((tls_model("initial-exec")));

std::size_t copy_text(char* to, std::size_t capacity, const char* from) {
  std::size_t size = 0;
  for (; from[size] != 0 && size + 1 < capacity; ++size) to[size] = from[size];
  to[size] = 0;
  return size;
}

// DIR/NAME, or DIR/log.N.
struct Path {
  char text[3200];
};
void make_path(Path& path, const char* name, const std::uint32_t* number) {
  std::size_t size = copy_text(path.text, sizeof path.text - 32, directory_path);
  path.text[size++] = '/';
  size += copy_text(path.text + size, 16, name);
  if (number == nullptr) return;
  char digits[12];
  int count = 0;
  std::uint32_t rest = *number;
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  while (count > 0) path.text[size++] = digits[--count];
  path.text[size] = 0;
}

[[nodiscard]] bool is_confined() { return __atomic_load_n(&confined_call, __ATOMIC_RELAXED) != nullptr; }

// The calling thread's log ends.
void stop_here() {
  next_record = nullptr;
  own_release_mark = kNoReleaseMark;
  recent_blocks.slots = nullptr;  // what is in them stays in the tail
  own.has_ended = true;
}

// Nobody's log is complete from now on.
void stop_logging(LogStop why) {
  const std::uint64_t now = time_before();
  std::uint64_t nobody = 0;
  if (__atomic_compare_exchange_n(&state->stopped_at, &nobody, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    state->stop = why;  // by one thread only
  }
  __atomic_store_n(&is_on, false, __ATOMIC_RELAXED);
  stop_here();
}

long open_own(const char* name, int flags) {
  Path path;
  make_path(path, name, &own.thread);
  return raw_call(SYS_openat, AT_FDCWD, as_argument(path.text), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                  S_IRUSR | S_IWUSR);
}

char* window_of(std::uint32_t piece) { return own.windows + (piece % 2) * kLogPiece; }

bool has_room_for(std::uint64_t end) {
  rlimit most{};
  raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, as_argument(&most));
  if (most.rlim_cur != RLIM_INFINITY && end > most.rlim_cur) return false;  // would be SIGXFSZ
  return true;
}

// By write(), which fails where a mapping of a full disk would be SIGBUS.
bool write_piece(std::uint32_t piece) {
  const std::uint64_t begin = std::uint64_t{piece} * kLogPiece;
  if (!has_room_for(begin + kLogPiece)) return false;
  const long file = open_own("log.", 0);
  if (is_error(file)) return false;
  std::size_t done = 0;
  while (done < kLogPiece) {
    const long size = raw_call(SYS_pwrite64, file, as_argument(window_of(piece) + done),
                               static_cast<long>(kLogPiece - done), static_cast<long>(begin + done));
    if (size == -EINTR) continue;
    if (is_error(size) || size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  raw_call(SYS_close, file);
  return done == kLogPiece;
}

// The first record of a piece says which it is.
bool begin_piece(std::uint32_t piece) {
  if (is_confined()) {
    stop_here();
    return false;
  }
  if (__atomic_add_fetch(&state->bytes, kLogPiece, __ATOMIC_RELAXED) > limit) {
    stop_logging(LogStop::kLimit);
    return false;
  }
  if (piece >= 2 && !write_piece(piece - 2)) {
    stop_logging(LogStop::kDisk);
    return false;
  }
  char* const window = window_of(piece);
  void* to = window;
  std::size_t count = kLogPiece / 8;
  if (piece >= 2) __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0L) : "memory");
  own.piece = piece;
  auto* const first = reinterpret_cast<LogRecord*>(window);
  first->object = piece;
  first->where = log_where(LogKind::kPiece, 0, 0);
  next_record = first + 1;
  return true;
}

// At addresses that are multiples of a piece's size.
bool map_windows() {
  constexpr long kSize = kTailSize;
  constexpr long kReserved = kSize + static_cast<long>(kLogPiece);
  const long begin = raw_call(SYS_mmap, 0, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (is_error(begin)) {
    stop_logging(LogStop::kAddressSpace);
    return false;
  }
  const long aligned = (begin + static_cast<long>(kLogPiece) - 1) & -static_cast<long>(kLogPiece);
  // Not needed: below and above the windows.
  if (aligned > begin) raw_call(SYS_munmap, begin, aligned - begin);
  const long end = aligned + kSize;
  if (begin + kReserved > end) raw_call(SYS_munmap, end, begin + kReserved - end);
  const long file = has_room_for(kTailSize) ? open_own("tail.", O_TRUNC) : -1;
  // The disk must promise the room before it is mapped.
  const bool is_ready =
      !is_error(file) && !is_error(raw_call(SYS_fallocate, file, 0, 0, kSize)) &&
      !is_error(raw_call(SYS_mmap, aligned, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0));
  if (!is_error(file)) raw_call(SYS_close, file);
  if (!is_ready) {
    raw_call(SYS_munmap, aligned, kSize);
    stop_logging(LogStop::kDisk);
    return false;
  }
  own.windows = reinterpret_cast<char*>(aligned);
  return true;
}

// By the C library, which allocates: for threads that we saw begin, as those hold no lock yet.
void log_stack_of_created() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
    log_before(LogKind::kStack, number_of(lowest), size, nullptr);
  }
  pthread_attr_destroy(&attributes);
}

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Lines of /proc/self/maps: "begin-end ...", in hexadecimal.
class MappingFinder {
 public:
  explicit MappingFinder(std::uint64_t at) : at_(at) {}

  // True: found.
  bool take(char letter) {
    if (letter == '\n') {
      range_ = {};
      field_ = 0;
    } else if (field_ < 2 && (letter == '-' || letter == ' ')) {
      ++field_;
      return field_ == 2 && at_ >= range_.begin && at_ < range_.end;
    } else if (field_ < 2) {
      std::uint64_t& number = field_ == 0 ? range_.begin : range_.end;
      number = number * 16 + static_cast<std::uint64_t>(letter <= '9' ? letter - '0' : letter - 'a' + 10);
    }
    return false;
  }
  [[nodiscard]] const AddressRange& range() const { return range_; }

 private:
  std::uint64_t at_;
  AddressRange range_;
  int field_ = 0;
};

// Without the allocator: the thread may be the allocator's own, in the middle of its work and with its locks (the
// background threads of jemalloc hung a server).
void log_stack_of_unknown() {
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (is_error(file)) return;
  char part[512];
  MappingFinder finder(number_of(part));
  bool is_found = false;
  while (!is_found) {
    const long size = raw_call(SYS_read, file, as_argument(part), sizeof part);
    if (size == -EINTR) continue;
    if (is_error(size) || size == 0) break;
    for (long at = 0; at < size && !is_found; ++at) is_found = finder.take(part[at]);
  }
  raw_call(SYS_close, file);
  const AddressRange& stack = finder.range();
  if (is_found) log_before(LogKind::kStack, stack.begin, stack.end - stack.begin, nullptr);
}

}  // namespace

std::uint64_t read_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

const char* open_logs(const char* directory, LogClock clock, LoggedLocks locks, std::uint64_t limit_bytes) {
  copy_text(directory_path, sizeof directory_path, directory);
  log_clock = clock;
  limit = limit_bytes;
  Path path;
  make_path(path, "agent", nullptr);
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument(path.text), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR);
  if (is_error(file)) return "its directory cannot be written";
  const bool has_room = !is_error(raw_call(SYS_fallocate, file, 0, 0, 4096));
  const long memory = has_room ? raw_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : -1;
  raw_call(SYS_close, file);
  if (is_error(memory)) return "no room on its disk";
  state = reinterpret_cast<AgentState*>(memory);
  process = static_cast<std::uint64_t>(raw_call(SYS_getpid));
  *state = AgentState{};
  state->process = static_cast<std::uint32_t>(process);
  state->clock = clock;
  state->locks = locks;
  // No address has these upper bits; those below tell this process from one that left its marks in a file.
  release_mark_base = 0xd3adULL << 48U | ((process ^ read_time() >> 10U) & 0xffffU) << 32U;
  is_on = true;
  return nullptr;
}

void finish_logs() {
  if (state != nullptr && process == static_cast<std::uint64_t>(raw_call(SYS_getpid))) {
    __atomic_store_n(&state->is_finished, 1U, __ATOMIC_RELAXED);
  }
}

namespace {

long refuse_all(long /*number*/, const long (& /*arguments*/)[6]) { return -EPERM; }

}  // namespace

void stop_for_confinement() {
  if (state == nullptr || !is_on) return;
  stop_logging(LogStop::kConfined);
  __atomic_store_n(&confined_call, &refuse_all, __ATOMIC_RELEASE);  // pairs with raw_call()
}

void forget_logs() {
  is_on = false;
  next_record = nullptr;
  own_release_mark = kNoReleaseMark;
  own.has_ended = true;
  if (state != nullptr) raw_call(SYS_munmap, as_argument(state), 4096);
  state = nullptr;
  if (own.windows != nullptr) raw_call(SYS_munmap, as_argument(own.windows), kTailSize);
  own.windows = nullptr;
  recent_blocks.slots = nullptr;
}

std::uint32_t next_thread() { return __atomic_fetch_add(&state->threads, 1U, __ATOMIC_RELAXED); }

bool begin_log(std::uint32_t thread, Origin origin) {
  if (!is_on || own.has_ended || thread >= kThreadLimit) return false;
  {
    const SignalsBlocked blocked;
    own.thread = thread;
    if (!map_windows() || !begin_piece(0)) return false;
    auto* const header = reinterpret_cast<LogHeader*>(next_record);
    next_record += sizeof(LogHeader) / sizeof(LogRecord);
    LogHeader first;
    first.thread = thread;
    first.system_id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
    first.is_root = origin == Origin::kUnknown ? 1 : 0;
    *header = first;
    own_mark = thread + 1;
    own_release_mark = release_mark_base | thread;
    recent_blocks = {reinterpret_cast<LogRecord*>(own.windows + 2 * kLogPiece), 0, 0};
    note_allocation();  // of the stack, and of what the thread may hold from before
  }
  log_after(LogKind::kBegin, pthread_self(), 0, nullptr);
  if (origin == Origin::kCreated) {
    log_stack_of_created();
  } else {
    log_stack_of_unknown();
  }
  return true;
}

bool begin_unknown_thread() {
  if (!is_on || own.has_ended || own.windows != nullptr) return false;
  return begin_log(next_thread(), Origin::kUnknown);
}

void end_log() {
  if (reinterpret_cast<std::uint64_t>(next_record) < kLowestRecord) return;
  log_all_slots();
  append(log_kind(EventKind::kThreadExit), 0, 0, 0, nullptr, time_before());
  if (is_confined()) return stop_here();  // what the windows show stays in the tail
  const SignalsBlocked blocked;
  next_record = nullptr;
  own_release_mark = kNoReleaseMark;
  own.has_ended = true;
  // The windows need not be kept, if what they show is in the log.
  if ((own.piece == 0 || write_piece(own.piece - 1)) && write_piece(own.piece)) {
    Path path;
    make_path(path, "tail.", &own.thread);
    raw_call(SYS_unlinkat, AT_FDCWD, as_argument(path.text), 0);
  }
  raw_call(SYS_munmap, as_argument(own.windows), kTailSize);
  own.windows = nullptr;
}

void turn_piece(LogRecord* record) {
  const SignalsBlocked blocked;
  const auto piece_of = [](const void* at) { return reinterpret_cast<std::uint64_t>(at) & ~(kLogPiece - 1); };
  if (own.windows == nullptr || own.has_ended || piece_of(record) != piece_of(next_record)) return;
  begin_piece(own.piece + 1);
}

}  // namespace deadheat::record
