// SPDX-License-Identifier: Apache-2.0
// Steps that touch memory: plain and atomic accesses, fences, heap blocks.
//
// Atomic operations come mostly as idioms: a thread plans up to four steps (use
// the data, fence, store; load, fence, use the data) and takes them one by one
// while others run in between. So release sequences are continued and cut at
// random, and the data accesses around them make the difference count.
#include <algorithm>

#include "base/check.h"
#include "trace/trace_generator_simulation.h"

namespace deadheat {

using namespace generator;

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint32_t kRunLength = 64;
constexpr double kVolatile = 0.03;
constexpr double kAtomicOnItem = 0.12;

}  // namespace

Permission TraceGenerator::Simulation::permission_for(Slot slot, ItemIndex index) const {
  const Item& item = permissions_.item(index);
  if (item.custody == Custody::kLock) {
    for (const generator::HeldLock& held : threads_[slot].held) {
      if (held.lock == item.lock) return held.mode == LockMode::kExclusive ? Permission::kWrite : Permission::kRead;
    }
    return Permission::kNone;
  }
  for (const Share& share : permissions_.holdings(slot)) {
    if (share.item != index || !permissions_.is_valid(share)) continue;
    return permissions_.is_whole(share) ? Permission::kWrite : Permission::kRead;
  }
  return Permission::kNone;
}

void TraceGenerator::Simulation::turn_to(Thread& thread, ItemIndex item) {
  if (item == kNobody) return;
  thread.run_item = item;
  thread.run_left = 2;
}

// Any item that the thread may use now.
bool TraceGenerator::Simulation::pick_item(Slot slot, ItemIndex& item, Permission& permission) {
  const Thread& thread = threads_[slot];
  const std::vector<Share>& holdings = permissions_.holdings(slot);
  const std::size_t choices = holdings.size() + thread.held.size();
  if (choices == 0) return false;
  const std::size_t choice = pick(choices);
  if (choice < holdings.size()) {
    const Share& share = holdings[choice];
    if (!permissions_.is_valid(share)) return false;
    item = share.item;
    permission = permissions_.is_whole(share) ? Permission::kWrite : Permission::kRead;
    return true;
  }
  const generator::HeldLock& held = thread.held[choice - holdings.size()];
  const std::vector<ItemIndex>& guarded = locks_[held.lock].items;
  if (guarded.empty()) return false;
  item = guarded[pick(guarded.size())];
  permission = held.mode == LockMode::kExclusive ? Permission::kWrite : Permission::kRead;
  return true;
}

// A part of [begin, begin + extent), extent > 0, by the options' sizes.
void TraceGenerator::Simulation::pick_range(Thread& thread, Address begin, std::uint64_t extent, Address& address,
                                            std::uint64_t& size) {
  const bool sequential = options_.pattern == AddressPattern::kSequential;
  if (options_.sizes == AccessSizes::kUniform8 && extent >= kWord) {
    const std::uint64_t elements = extent / kWord;
    if (sequential && ++thread.cursor >= elements) thread.cursor = 0;
    address = begin + kWord * (sequential ? thread.cursor : random_.below(elements));
    size = kWord;
    return;
  }
  constexpr std::uint64_t kSizes[] = {1, 1, 1, 2, 2, 3, 4, 4, 4, 5, 8, 8, 8, 12, 16, 33};
  size = random_.below(2) == 0 && extent <= 64 ? extent : std::min(kSizes[random_.below(std::size(kSizes))], extent);
  const std::uint64_t places = extent - size + 1;
  if (sequential && (thread.cursor += size) >= places) thread.cursor = 0;
  address = begin + (sequential ? thread.cursor : random_.below(places));
}

void TraceGenerator::Simulation::emit_access(Slot slot, ItemIndex index, Permission permission, Event& event) {
  Thread& thread = threads_[slot];
  const Item& item = permissions_.item(index);
  Address address = 0;
  std::uint64_t size = 0;
  pick_range(thread, item.address, item.size, address, size);
  const bool writes = permission == Permission::kWrite && !random_.chance(options_.read_fraction);
  event = writes ? events::write(thread.id, address, size) : events::read(thread.id, address, size);
}

// An access that asks nobody: any bytes of the program, across the borders of
// variables when sizes are mixed.
void TraceGenerator::Simulation::emit_lawless_access(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  Address begin = span_begin_;
  std::uint64_t extent = span_end_ - span_begin_;
  const Item& item = permissions_.item(pick(permissions_.item_count()));
  if (item.size > 0 && random_.below(2) == 0) {
    begin = item.address;
    extent = item.size;
  }
  Address address = 0;
  std::uint64_t size = 0;
  pick_range(thread, begin, extent, address, size);
  const bool writes = !random_.chance(options_.read_fraction);
  const AccessFlavour flavour = random_.chance(kVolatile) ? AccessFlavour::kVolatile : AccessFlavour::kPlain;
  event = writes ? events::write(thread.id, address, size, flavour) : events::read(thread.id, address, size, flavour);
}

bool TraceGenerator::Simulation::step_access(Slot slot, Event& event) {
  if (is_lawless()) {
    emit_lawless_access(slot, event);
    return true;
  }
  Thread& thread = threads_[slot];
  Permission permission = Permission::kNone;
  if (thread.run_left > 0) {
    --thread.run_left;
    permission = permission_for(slot, thread.run_item);
  }
  if (permission == Permission::kNone) {
    if (!pick_item(slot, thread.run_item, permission)) return false;
    thread.run_left = options_.pattern == AddressPattern::kSequential ? kRunLength : 0;
  }
  emit_access(slot, thread.run_item, permission, event);
  return true;
}

MemoryOrder TraceGenerator::Simulation::pick_order(EventKind kind) {
  using enum MemoryOrder;
  constexpr MemoryOrder kLoads[] = {kRelaxed, kConsume, kAcquire, kSeqCst};
  constexpr MemoryOrder kStores[] = {kRelaxed, kRelaxed, kRelease, kSeqCst};
  if (kind == EventKind::kAtomicLoad) return kLoads[random_.below(4)];
  if (kind == EventKind::kAtomicStore) return kStores[random_.below(4)];
  return MemoryOrder{static_cast<std::uint8_t>(random_.below(kMemoryOrderCount))};
}

// An atomic access to what others access plainly: legal under the permission
// that the plain access needs.
bool TraceGenerator::Simulation::emit_atomic_on_item(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  constexpr EventKind kKinds[] = {EventKind::kAtomicLoad, EventKind::kAtomicStore, EventKind::kAtomicRmw};
  EventKind kind = kKinds[random_.below(3)];
  Address begin = span_begin_;
  std::uint64_t extent = span_end_ - span_begin_;
  if (!is_lawless()) {
    ItemIndex index = 0;
    Permission permission = Permission::kNone;
    if (!pick_item(slot, index, permission)) return false;
    if (permission == Permission::kRead) kind = EventKind::kAtomicLoad;
    begin = permissions_.item(index).address;
    extent = permissions_.item(index).size;
  }
  const std::uint64_t size = options_.sizes == AccessSizes::kMixed ? 1ULL << random_.below(5) : kWord;
  const Address first = (begin + size - 1) / size * size;
  if (first + size > begin + extent) return false;
  const Address address = first + size * random_.below((begin + extent - first) / size);
  event = events::atomic(kind, thread.id, address, size, pick_order(kind));
  return true;
}

void TraceGenerator::Simulation::emit_atomic(Slot slot, EventKind kind, MemoryOrder order, std::uint32_t index,
                                             Event& event) {
  Thread& thread = threads_[slot];
  AtomicVariable& atomic = atomics_[index];
  const auto move_mail = [](Mailbox& from, Mailbox& to) {
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  };
  if (kind != EventKind::kAtomicStore) {
    if (acquires(order)) {
      turn_to(thread, permissions_.receive(slot, atomic.mail, random_));
    } else if (options_.mix.fence > 0) {
      move_mail(atomic.mail, thread.unread);
    }
  }
  if (kind != EventKind::kAtomicLoad) {
    if (kind == EventKind::kAtomicStore) permissions_.recall(atomic.mail);
    move_mail(thread.fenced, atomic.mail);
    if (releases(order)) permissions_.send(slot, atomic.mail, random_);
  }
  event = events::atomic(kind, thread.id, atomic.address, atomic.size, order);
}

void TraceGenerator::Simulation::emit_fence(Slot slot, MemoryOrder order, Event& event) {
  Thread& thread = threads_[slot];
  if (acquires(order)) turn_to(thread, permissions_.receive_all(slot, thread.unread));
  if (releases(order)) permissions_.send(slot, thread.fenced, random_);
  event = events::fence(thread.id, order);
}

bool TraceGenerator::Simulation::step_fence(Slot slot, Event& event) {
  emit_fence(slot, pick_order(EventKind::kFence), event);
  return true;
}

// Prefers one that has something to receive.
std::uint32_t TraceGenerator::Simulation::pick_atomic_with_mail() {
  const std::uint32_t atomic = pick(atomics_.size());
  return atomics_[atomic].mail.empty() ? pick(atomics_.size()) : atomic;
}

void TraceGenerator::Simulation::plan_idiom(Thread& thread) {
  using enum EventKind;
  using enum MemoryOrder;
  const std::uint32_t atomic = pick(atomics_.size());
  const auto plan = [&](std::initializer_list<Intent> steps) {
    DEADHEAT_DCHECK(steps.size() <= thread.script.size());
    std::copy(steps.begin(), steps.end(), thread.script.begin());
    thread.script_length = static_cast<std::uint32_t>(steps.size());
    thread.script_position = 0;
  };
  const Intent use{kRead, kRelaxed, 0};
  const Intent prepare{kWrite, kRelaxed, 0};
  const bool with_fences = options_.mix.fence > 0;
  switch (random_.below(with_fences ? 10 : 7)) {
    case 0:
      return plan({prepare, {kAtomicStore, kRelease, atomic}});
    case 1:
      return plan({prepare, {kAtomicRmw, random_.below(2) == 0 ? kRelease : kAcqRel, atomic}});
    case 2:
      return plan({{kAtomicLoad, kAcquire, pick_atomic_with_mail()}, use, use});
    case 3:
      return plan({{kAtomicRmw, random_.below(2) == 0 ? kAcquire : kAcqRel, pick_atomic_with_mail()}, use});
    case 4:
      return plan({prepare, {kAtomicStore, kRelease, atomic}, {kAtomicStore, kRelaxed, atomic}});
    case 5:
      return plan({{kAtomicRmw, kRelaxed, atomic}, use});
    case 6:
      return plan({{kAtomicLoad, kSeqCst, atomic}, use, {kAtomicStore, kSeqCst, atomic}});
    case 7:
      return plan({prepare, {kFence, kRelease, 0}, {kAtomicStore, kRelaxed, atomic}, use});
    case 8:
      return plan({{kAtomicLoad, kRelaxed, pick_atomic_with_mail()}, {kFence, kAcquire, 0}, use, use});
    default:
      return plan({prepare, {kFence, kAcqRel, 0}, {kAtomicRmw, kRelaxed, atomic}, {kFence, kSeqCst, 0}});
  }
}

// Writes something that the message after it may carry to another thread.
bool TraceGenerator::Simulation::prepare_message(Slot slot, Event& event) {
  for (const Share& share : permissions_.holdings(slot)) {
    if (permissions_.item(share.item).custody != Custody::kPassed || !permissions_.is_valid(share)) continue;
    if (random_.below(2) == 0) turn_to(threads_[slot], share.item);
  }
  return step_access(slot, event);
}

bool TraceGenerator::Simulation::run_script(Slot slot, Event& event) {
  Thread& thread = threads_[slot];
  while (thread.script_position < thread.script_length) {
    const Intent intent = thread.script[thread.script_position++];
    switch (intent.kind) {
      case EventKind::kRead:
        if (!step_access(slot, event)) continue;  // nothing to use: on to the message itself
        return true;
      case EventKind::kWrite:
        if (!prepare_message(slot, event)) continue;
        return true;
      case EventKind::kFence:
        emit_fence(slot, intent.order, event);
        return true;
      default:
        emit_atomic(slot, intent.kind, intent.order, intent.atomic, event);
        return true;
    }
  }
  return false;
}

bool TraceGenerator::Simulation::step_atomic(Slot slot, Event& event) {
  if (random_.chance(kAtomicOnItem)) return emit_atomic_on_item(slot, event);
  if (atomics_.empty()) return false;
  if (random_.below(4) == 0) {
    constexpr EventKind kKinds[] = {EventKind::kAtomicLoad, EventKind::kAtomicStore, EventKind::kAtomicRmw,
                                    EventKind::kAtomicRmw};
    const EventKind kind = kKinds[random_.below(4)];
    // Drawn one after the other: compilers differ in the order of arguments.
    const MemoryOrder order = pick_order(kind);
    const std::uint32_t atomic = pick(atomics_.size());
    emit_atomic(slot, kind, order, atomic, event);
    return true;
  }
  plan_idiom(threads_[slot]);
  return run_script(slot, event);
}

bool TraceGenerator::Simulation::step_memory(Slot slot, Event& event) {
  if (blocks_.empty()) return false;
  Thread& thread = threads_[slot];
  const Block& block = blocks_[pick(blocks_.size())];
  Item& item = permissions_.item(block.item);
  if (item.size == 0) {
    const bool mixed = options_.sizes == AccessSizes::kMixed;
    item.address = block.address;
    item.size = mixed ? 1 + random_.below(block.capacity) : kWord * (1 + random_.below(block.capacity / kWord));
    permissions_.grant(slot, block.item);
    event = events::on_range(EventKind::kAlloc, thread.id, item.address, item.size);
    return true;
  }
  if (permission_for(slot, block.item) != Permission::kWrite && !is_lawless()) return false;
  event = events::on_range(EventKind::kFree, thread.id, item.address, item.size);
  permissions_.revoke(block.item);
  item.size = 0;
  return true;
}

}  // namespace deadheat
