// SPDX-License-Identifier: Apache-2.0
#include "runtime/finding_packet.h"

#include "runtime/atomic_trail.h"
#include "runtime/counters.h"
#include "runtime/hand_off.h"
#include "runtime/heap_table.h"
#include "runtime/lock_records.h"
#include "runtime/raw_report.h"

namespace deadheat::runtime {
namespace {

constexpr std::uint32_t kMaxThreads = 8;
constexpr std::uint32_t kMaxLocks = 256;
constexpr std::uint32_t kMaxCodes = 16 * 1024;
constexpr std::uint32_t kMaxStack = 2048;

// The parts of a packet while it grows; written out one after another at the end.
struct Parts {
  raw_report::Finding finding;
  raw_report::Thread threads[kMaxThreads];
  raw_report::Lock locks[kMaxLocks];
  Address codes[kMaxCodes];
};

struct Packet {
  raw_report::PacketHeader header;
  char body[sizeof(Parts) + sizeof(raw_report::Flag)];
};
static_assert(sizeof(Packet) <= raw_report::kMaxPacket);

Parts parts;
Packet packet;

raw_report::Stack add_stack(std::uint32_t stack, Address top) {
  raw_report::Stack result{parts.finding.code_count, 0};
  std::uint32_t room = kMaxCodes - parts.finding.code_count;
  if (room > kMaxStack) room = kMaxStack;
  Address* into = parts.codes + parts.finding.code_count;
  if (top != 0 && room > 0) {
    *into++ = top;
    --room;
    ++result.count;
  }
  const std::uint32_t copied = copy_stack(stack, into, room);
  if (copied == room) count_loss(Loss::kReportTooLarge);
  result.count += copied;
  parts.finding.code_count += result.count;
  return result;
}

std::uint32_t add_thread(std::uint32_t number) {
  if (number == 0) return raw_report::kNoThread;
  for (std::uint32_t index = 0; index < parts.finding.thread_count; ++index) {
    if (parts.threads[index].id == number) return index;
  }
  if (parts.finding.thread_count == kMaxThreads) return raw_report::kNoThread;
  const ThreadInfo& info = registry().info(ThreadId{number});
  raw_report::Thread& thread = parts.threads[parts.finding.thread_count];
  thread = {};
  thread.id = number;
  thread.os_id = info.os_id;
  thread.parent = info.parent;
  thread.flags = info.flags;
  for (std::size_t at = 0; at < sizeof thread.name; ++at) thread.name[at] = info.name[at];
  thread.created = add_stack(info.created_stack, 0);
  return parts.finding.thread_count++;
}

raw_report::LockList add_locks(std::uint32_t lock_set) {
  LockInSet set[64];
  const std::uint32_t count = copy_lock_set(lock_set, set, 64);
  raw_report::LockList result{parts.finding.lock_count, 0};
  // The set has its last lock first; reports want the order of acquisition.
  for (std::uint32_t index = count; index-- > 0 && parts.finding.lock_count < kMaxLocks;) {
    raw_report::Lock& lock = parts.locks[parts.finding.lock_count++];
    lock = {};
    lock.serial = set[index].serial;
    lock.mode = raw(set[index].mode);
    const LockRecord record = lock_record(lock.serial);
    lock.address = record.address;
    lock.created = add_stack(record.created_stack, 0);
    ++result.count;
  }
  return result;
}

std::uint64_t size_of(AccessShape shape) {
  if (shape.size_code == 0) return 0;
  return shape.size_code > 16 ? shape.size_code - 16U : std::uint64_t{1} << (shape.size_code - 1);
}

void fill_side(raw_report::Side& side, std::uint32_t thread, AccessKind kind, const OriginDetails& origin,
               Address address, Clock clock) {
  side = {};
  side.thread = add_thread(thread);
  const bool is_free = (origin.shape.flags & kOriginFree) != 0;
  side.kind = raw(is_free ? AccessKind::kFree : kind);
  side.flags = static_cast<std::uint8_t>(origin.shape.flags & ~kOriginFree);
  if (origin.lock_set == 0) side.flags |= raw_report::kAccessLocksUnknown;
  side.size = size_of(origin.shape);
  side.address = address;
  side.clock = clock;
  side.stack = add_stack(origin.stack, origin.code);
  side.locks = add_locks(origin.lock_set);
}

// A stack that the address lies in.
std::uint32_t stack_owner(Address address, Address& begin, std::size_t& size) {
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    if (address - thread->stack_begin >= thread->stack_size) continue;
    begin = thread->stack_begin;
    size = thread->stack_size;
    return thread_number(*thread);
  }
  return 0;
}

void fill_memory(raw_report::Memory& memory, Address address) {
  memory = {};
  memory.thread = memory.freed_by = raw_report::kNoThread;
  const HeapBlock block = HeapTable::describe(address);
  if (block.kind != HeapKind::kUnknown) {
    memory.kind = block.kind == HeapKind::kLive ? raw_report::MemoryKind::kHeap : raw_report::MemoryKind::kFreedHeap;
    memory.begin = block.begin;
    memory.size = block.size;
    memory.thread = add_thread(block.allocated_by);
    memory.allocated = add_stack(block.allocated_stack, 0);
    memory.freed_by = add_thread(block.freed_by);
    memory.freed = add_stack(block.freed_stack, 0);
    return;
  }
  if (const std::uint32_t owner = stack_owner(address, memory.begin, memory.size); owner != 0) {
    memory.kind = raw_report::MemoryKind::kStack;
    memory.thread = add_thread(owner);
  }
}

char* append(char* to, const void* from, std::size_t size) {
  const char* bytes = static_cast<const char*>(from);
  for (std::size_t at = 0; at < size; ++at) to[at] = bytes[at];
  return to + size;
}

}  // namespace

void send_finding(ThreadState& self, const RaceSides& sides, std::uint64_t finding, std::uint32_t counted) {
  SpinHolder hold(registry().lock);
  raw_report::Finding& head = parts.finding;
  head = {};
  head.id = finding;
  head.counted = counted;
  head.address = sides.begin();
  head.size = sides.end() - sides.begin();
  const Clock earlier_clock = full_clock(sides.earlier.epoch());
  const ThreadId earlier_thread = slot_owner(sides.earlier.slot(), earlier_clock);
  const auto first_byte = [&](ByteMask mask) { return sides.word + static_cast<Address>(__builtin_ctz(mask)); };
  fill_side(head.later, thread_number(self), sides.later.kind, sides.later_origin, first_byte(sides.later.mask),
            self.clock.epoch().clock());
  fill_side(head.earlier, raw(earlier_thread), sides.earlier.kind(), sides.earlier_origin,
            first_byte(sides.earlier.mask()), earlier_clock);
  fill_memory(head.memory, head.address);
  head.swept_begin = self.swept.begin;
  head.swept_step = self.swept.step;
  head.swept_count = self.swept.count;

  char* end = append(packet.body, &head, sizeof head);
  end = append(end, parts.threads, head.thread_count * sizeof parts.threads[0]);
  end = append(end, parts.locks, head.lock_count * sizeof parts.locks[0]);
  end = append(end, parts.codes, head.code_count * sizeof parts.codes[0]);
  const WeakFlag weak = find_weak_flag(sides.earlier.slot(), earlier_clock, sides.later.epoch.slot());
  if (weak.address != 0) {
    const raw_report::Flag flag{weak.address, weak.write_code, weak.read_code, raw(weak.write_order),
                                raw(weak.read_order)};
    end = append(end, &flag, sizeof flag);
  }
  packet.header.kind = raw_report::PacketKind::kFinding;
  packet.header.size = static_cast<std::uint32_t>(end - reinterpret_cast<char*>(&packet));
  if (send_packet(&packet.header) == HandOff::kFailed) count_loss(Loss::kReportNotSent);
}

void send_counts(const RacyWordCounts& counts) {
  if (counts.accesses == 0 || counts.bytes == 0) return;
  parts.finding = {};  // counts the code addresses
  raw_report::Counts head;
  head.number = counts.number;
  head.is_full = counts.is_full ? 1 : 0;
  const auto first = static_cast<std::uint32_t>(__builtin_ctz(counts.bytes));
  head.address = counts.word + first;
  head.size = 32 - static_cast<std::uint32_t>(__builtin_clz(counts.bytes)) - first;
  head.accesses = counts.accesses;
  head.without_lock = counts.without_lock;
  head.lock_count = counts.lock_count;
  raw_report::CountedLock locks[RacyWordCounts::kLocks];
  for (std::uint32_t index = 0; index < counts.lock_count; ++index) {
    const LockRecord record = lock_record(counts.locks[index].serial);
    locks[index].lock.address = record.address;
    locks[index].lock.serial = counts.locks[index].serial;
    locks[index].lock.created = add_stack(record.created_stack, 0);
    locks[index].accesses = counts.locks[index].accesses;
  }
  head.code_count = parts.finding.code_count;
  char* end = append(packet.body, &head, sizeof head);
  end = append(end, locks, counts.lock_count * sizeof locks[0]);
  end = append(end, parts.codes, head.code_count * sizeof parts.codes[0]);
  packet.header.kind = raw_report::PacketKind::kCounts;
  packet.header.size = static_cast<std::uint32_t>(end - reinterpret_cast<char*>(&packet));
  static_cast<void>(send_packet(&packet.header));
}

}  // namespace deadheat::runtime
