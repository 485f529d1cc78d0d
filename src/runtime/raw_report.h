// SPDX-License-Identifier: Apache-2.0
// The raw report: what leaves the observed process, as packets.
//
// The runtime never turns addresses into words. It writes packets of numbers to
// the `deadheat` process that launched it (over an inherited descriptor, one
// packet per message) or, when the program was started directly, to a file (the
// packets one after another). Each packet is complete in itself: a finding
// carries all its stacks, so nothing that the process has not sent yet is needed
// to read it, and a process that is killed right after a race loses nothing.
//
// A packet is a PacketHeader and a body. Layouts are those of x86-64 with the
// members in the order written here; every struct is trivially copyable and has
// no padding. Code addresses are return addresses: the instruction is the one
// before. The reader must not trust a packet: see RawPacketReader in report/.
#pragma once

#include <cstdint>

namespace deadheat::raw_report {

inline constexpr std::uint32_t kMagic = 0x31524844;  // "DHR1"
inline constexpr std::uint32_t kMaxPacket = 160 * 1024;

enum class PacketKind : std::uint16_t {
  kHello = 1,      // Hello: the runtime is active in this process
  kModules = 2,    // Modules: the code that is mapped from now on; sent again after dlopen and dlclose
  kFinding = 3,    // Finding: the first occurrence of a race
  kNotice = 4,     // text: one line for the user ("shadow memory: limit reached, ...")
  kSummary = 5,    // Summary: occurrences and counters; sent at exit, and in large programs now and then
  kEvents = 6,     // RecordedEvent[]: a piece of the trace of `run --record`
  kSites = 7,      // RecordedSite[]: the code addresses that the events after it refer to
  kRecording = 8,  // Recording: a trace of this process begins; a descriptor of its RecordingBuffer may come with it
  kForking = 9,    // Forking: the events so far are also those of a child that is about to be made
  kSuppressions = 10,  // Suppressions: lines that the program wants applied to its own races
  kSampling = 11,   // Sampling: how much was sampled; now and then, and before each Summary of a process that samples
  kColdCalls = 12,  // ColdCalls: how many calls were sampled; likewise, of one with sampler=cold
  kMailbox = 14,    // nothing; a descriptor of memory comes with it, in which packets will be (runtime/mailbox.h)
  kCounts = 13,     // Counts: accesses to the memory of a race since it was found; now and then, and at exit
};

struct PacketHeader {
  std::uint32_t magic = kMagic;
  PacketKind kind{};
  std::uint16_t reserved = 0;
  std::uint32_t size = 0;     // of the whole packet, header included
  std::uint32_t process = 0;  // pid
};
static_assert(sizeof(PacketHeader) == 16);

// Packets in a mailbox begin at multiples of the step, the first one at the first; before it is a count of the bytes
// behind.
inline constexpr std::uint32_t kMailboxStep = 16;
inline constexpr std::uint32_t kMailboxSize = 128 << 20;

struct Hello {
  std::uint32_t parent_process = 0;
  std::uint32_t reserved = 0;
  char program[240] = {};  // /proc/self/exe, cut if too long, ends with 0
};
static_assert(sizeof(Hello) == 248);

// The body is Modules, then `count` times Module, then the bytes of all paths.
struct Modules {
  std::uint32_t count = 0;
  std::uint32_t path_bytes = 0;
};
struct Module {
  std::uint64_t begin = 0;  // first and one past the last mapped address
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;  // address in memory - address in the file's symbol table
  std::uint32_t path_offset = 0;
  std::uint32_t path_size = 0;
};
static_assert(sizeof(Module) == 32);

// The body is Suppressions, then whole lines of text. A long text comes in several
// packets, in their order.
struct Suppressions {
  std::uint32_t first_line = 0;  // number of the first line in the whole text, from 1
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Suppressions) == 8);

// A stack: `count` entries from `first` on in the packet's array of code
// addresses, innermost first. count == 0: not known.
struct Stack {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// A range of entries in the packet's array of locks.
struct LockList {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

inline constexpr std::uint8_t kAccessVolatile = 1;      // Side::flags
inline constexpr std::uint8_t kAccessVptr = 2;          // of a virtual table pointer
inline constexpr std::uint8_t kAccessLocksUnknown = 4;  // which locks were held is not known any more
inline constexpr std::uint8_t kAccessRange = 8;         // by memcpy, read(2) and the like

struct Side {
  std::uint32_t thread = 0;  // index into the packet's threads
  std::uint8_t kind = 0;     // AccessKind
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint64_t address = 0;  // first byte of the access, as far as known
  std::uint64_t size = 0;     // 0: not known
  std::uint64_t clock = 0;
  Stack stack;
  LockList locks;
};
static_assert(sizeof(Side) == 48);

enum class MemoryKind : std::uint32_t {
  kUnknown = 0,  // may be a global: the reader knows the symbols
  kHeap = 1,
  kFreedHeap = 2,
  kStack = 3,   // of the thread `thread`
  kTls = 4,     // of the thread `thread`
  kMapped = 5,  // by mmap
};

struct Memory {
  MemoryKind kind = MemoryKind::kUnknown;
  std::uint32_t thread = 0;  // index into threads: who allocated, or whose stack; kNoThread if unknown
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  Stack allocated;
  Stack freed;
  std::uint32_t freed_by = 0;  // index into threads or kNoThread
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Memory) == 48);

inline constexpr std::uint32_t kNoThread = 0xffffffff;

inline constexpr std::uint32_t kThreadMain = 1;  // Thread::flags
inline constexpr std::uint32_t kThreadFinished = 2;
inline constexpr std::uint32_t kThreadFiber = 4;

struct Thread {
  std::uint32_t id = 0;      // counted from 1 in order of creation; 1 is main
  std::uint32_t os_id = 0;   // gettid(), 0 if it never ran
  std::uint32_t parent = 0;  // id of the creator, 0 for none
  std::uint32_t flags = 0;
  Stack created;
  char name[16] = {};  // pthread_setname_np; empty if never named
};
static_assert(sizeof(Thread) == 40);

struct Lock {
  std::uint64_t address = 0;
  std::uint64_t serial = 0;  // tells apart locks that lived at one address
  std::uint32_t mode = 0;    // LockMode
  std::uint32_t reserved = 0;
  Stack created;   // where it was initialised, or first used
  Stack acquired;  // where this holding began; the runtime leaves it empty
};
static_assert(sizeof(Lock) == 40);

// An atomic variable that was written after the earlier access and read before the later
// one, with orders that hand on nothing.
struct Flag {
  std::uint64_t address = 0;
  std::uint64_t write_code = 0;
  std::uint64_t read_code = 0;
  std::uint32_t write_order = 0;  // MemoryOrder
  std::uint32_t read_order = 0;
};
static_assert(sizeof(Flag) == 32);

// The body is Finding, then threads, locks, code addresses (u64 each), and a Flag if one is
// known.
struct Finding {
  std::uint64_t id = 0;       // counted from 1 in this process
  std::uint64_t address = 0;  // the bytes that both touched
  std::uint64_t size = 0;
  Side earlier;
  Side later;
  Memory memory;
  std::uint32_t thread_count = 0;
  std::uint32_t lock_count = 0;
  std::uint32_t code_count = 0;
  std::uint32_t counted = 0;  // the number of the Counts of this memory; 0: there are none
  // The later access was one of so many of its size from one place, so far apart; 0:
  // it was checked on its own.
  std::uint64_t swept_begin = 0;
  std::uint64_t swept_step = 0;
  std::uint64_t swept_count = 0;
};
static_assert(sizeof(Finding) == 208);

// Accesses to the memory of a race since it was found, and the locks that were held. The
// body is Counts, then CountedLocks, then code addresses. Numbers are totals so far.
struct Counts {
  std::uint32_t number = 0;   // in this process, from 1
  std::uint32_t is_full = 0;  // 1: after so many counting has ended
  std::uint64_t address = 0;  // the bytes
  std::uint64_t size = 0;
  std::uint64_t accesses = 0;
  std::uint64_t without_lock = 0;
  std::uint32_t lock_count = 0;
  std::uint32_t code_count = 0;
};
static_assert(sizeof(Counts) == 48);
struct CountedLock {
  Lock lock;  // the mode says nothing
  std::uint64_t accesses = 0;
};
static_assert(sizeof(CountedLock) == 48);

// The body is Summary, then Repeats, then Counters. Numbers are totals so far:
// a later summary of the same process replaces an earlier one.
struct Summary {
  std::uint32_t repeat_count = 0;
  std::uint32_t counter_count = 0;
  std::uint32_t is_final = 0;  // 1 in the last one, at exit
  std::uint32_t reserved = 0;
};
struct Repeat {
  std::uint64_t finding = 0;
  std::uint64_t occurrences = 0;
};
struct Counter {
  char name[56] = {};  // "races not reported: table full"
  std::uint64_t value = 0;
  std::uint32_t is_loss = 0;  // 1: something was lost; shown even without --stats
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Counter) == 72);

// Work is processor time of all threads without what the detector took of it. Rates
// are in parts per million. Numbers are totals so far.
struct Sampling {
  std::uint64_t rate = 0;    // asked for, at the end
  std::uint64_t budget = 0;  // 0: none; otherwise the rate follows from it
  std::uint64_t seed = 0;
  std::uint64_t period_us = 0;  // work of one period, in microseconds
  std::uint64_t periods = 0;
  std::uint64_t work_ns = 0;
  std::uint64_t sampled_work_ns = 0;
  std::uint64_t cost_ns = 0;  // processor time that the detector took, as far as it is measured
  std::uint64_t sampled_accesses = 0;
  std::uint64_t checked_accesses = 0;  // not sampled, to memory with a record
  // What was recorded is dropped after so much further work, in microseconds; kForever:
  // when it can race no more. How many records were dropped that still could.
  std::uint64_t horizon_us = 0;
  std::uint64_t expired_records = 0;
  // The part of the work that periods take in the mean, at the rates that were in force. Which part they took
  // in this run is chance.
  std::uint64_t expected_work_ns = 0;
};
inline constexpr std::uint64_t kForever = ~std::uint64_t{0};
static_assert(sizeof(Sampling) == 104);

// Calls of instrumented functions; only the accesses of those that were sampled were
// looked at. Numbers are totals so far.
struct ColdCalls {
  std::uint64_t calls = 0;
  std::uint64_t sampled_calls = 0;
  // 1: there is code whose calls are not seen; from then on everything was checked, and
  // calls were not counted.
  std::uint64_t is_refused = 0;
};
static_assert(sizeof(ColdCalls) == 24);

// Rate and budget of a running process: a datagram to the abstract Unix socket
// kControlName + pid, of the same user or root. Requests are "status", "rate=30000",
// "budget=50000" (parts per million; budget=0 keeps the rate as it is). The answer
// is "name=value name=value ...", with the names of Sampling, or "error: ...".
inline constexpr char kControlName[] = "deadheat.";  // after the leading 0
inline constexpr std::uint64_t kWholeRate = 1'000'000;

// --record: events in their order, 32 bytes each, with the layout of Event in
// model/event.h; their sites are numbers of RecordedSite. They are what the
// detector did; report/trace_ledger.h makes a trace of them. Beyond what Event
// says:
//   SyncDestroy  `extent` is a set of kEnds...: which kinds of objects end.
//   AtomicLoad   `depth` 1: an access alone, which hands on no order.
//   Alloc        `depth` 1: the synchronisation objects in the memory end, too.
struct RecordedSite {
  std::uint32_t site = 0;  // SiteId
  std::uint32_t reserved = 0;
  std::uint64_t code = 0;  // return address
};
static_assert(sizeof(RecordedSite) == 16);

inline constexpr std::uint64_t kEndsLock = 1;
inline constexpr std::uint64_t kEndsOthers = 2;  // barriers, semaphores, once flags, tags

// The child of a fork begins with the events that its parent had when it sent
// Forking with the same number.
struct Recording {
  std::uint32_t parent_process = 0;
  std::uint32_t reserved = 0;
  std::uint64_t fork = 0;  // 0: a program that was just started
};
static_assert(sizeof(Recording) == 16);

struct Forking {
  std::uint64_t fork = 0;
};

// The events that the process has not sent yet, in memory that it shares with the
// listener. A packet of them is sent, then the counts become 0, then `sent` grows:
// whoever has received r events of the process finds the next one, whenever it
// ended, at index r - sent.
struct RecordingBuffer {
  static constexpr std::uint32_t kSites = 512;
  static constexpr std::uint32_t kEvents = 2048;

  std::uint64_t sent = 0;  // events, in packets
  std::uint32_t site_count = 0;
  std::uint32_t event_count = 0;
  PacketHeader sites_header;
  RecordedSite sites[kSites] = {};
  PacketHeader events_header;
  std::uint64_t events[kEvents][4] = {};
};
static_assert(sizeof(RecordingBuffer) == 48 + RecordingBuffer::kSites * 16 + RecordingBuffer::kEvents * 32);

// Environment of the observed process.
inline constexpr char kDescriptorVariable[] = "DEADHEAT_REPORT_FD";  // number of the inherited descriptor
inline constexpr char kOptionsVariable[] = "DEADHEAT_OPTIONS";       // "name=value:name=value", see options.def

}  // namespace deadheat::raw_report
