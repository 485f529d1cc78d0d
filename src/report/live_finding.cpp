// SPDX-License-Identifier: Apache-2.0
#include "report/live_finding.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "report/function_names.h"

namespace deadheat {

namespace {

// Code addresses as sites of one finding, and addresses of data as names.
class Namer {
 public:
  Namer(const ModuleMap& modules, Symbolizer& symbolizer, SiteTable& sites)
      : modules_(modules), symbolizer_(symbolizer), table_(sites) {}

  // Up to main: what calls it is the same in every program.
  SiteStack stack_of(std::span<const std::uint64_t> codes) {
    SiteStack sites;
    for (const std::uint64_t code : codes) {
      const SiteStack& frames = sites_of(code);
      // The frames in between are nothing that the program did.
      if (codes.size() > 1 && is_runtime_frame(table_[frames.back()])) continue;
      sites.insert(sites.end(), frames.begin(), frames.end());
      if (table_[sites.back()].function == "main") break;
    }
    if (sites.empty() && !codes.empty()) sites = sites_of(codes.front());
    return sites;
  }

  // The module's path and the symbol, with the symbol's address in memory.
  std::optional<std::pair<std::string, GlobalSymbol>> global_at(Address address) {
    const auto place = modules_.find(address);
    if (!place) return std::nullopt;
    auto symbol = symbolizer_.global(*place);
    if (!symbol) return std::nullopt;
    symbol->address += address - place->address;
    return std::pair(place->path, *std::move(symbol));
  }

  std::string member_at(const std::pair<std::string, GlobalSymbol>& variable, Address address) {
    return symbolizer_.member(variable.first, variable.second, address - variable.second.address);
  }

 private:
  // The frames of one return address. The instruction is the one before; any
  // address inside it will do.
  const SiteStack& sites_of(std::uint64_t code) {
    const auto known = sites_.find(code);
    if (known != sites_.end()) return known->second;
    SiteStack& sites = sites_[code];
    const auto place = code == 0 ? std::nullopt : modules_.find(code - 1);
    if (place) {
      for (const Site& site : symbolizer_.frames(*place)) sites.push_back(table_.add(site));
    } else {
      sites.push_back(SiteId::kUnknown);
    }
    return sites;
  }

  const ModuleMap& modules_;
  Symbolizer& symbolizer_;
  SiteTable& table_;
  std::map<std::uint64_t, SiteStack> sites_;
};

std::span<const std::uint64_t> part_of(const std::vector<std::uint64_t>& code, const raw_report::Stack& stack) {
  return std::span(code).subspan(stack.first, stack.count);
}

// Locks that lived at one address one after the other are different locks.
// The first keeps the address as its identity; addresses of programs leave the
// top byte free to tell the others apart. Of locks that are created by the
// thousand (address 0) only the place is known: each is taken for another.
SyncId identity_of(const raw_report::Lock& lock, const LiveFinding& live) {
  if (lock.address == 0) return SyncId{(std::uint64_t{1} << 55U) + live.locks.size() + 1};
  std::uint64_t others = 0;
  for (const LiveLock& known : live.locks) {
    if (known.address != lock.address) continue;
    if (known.serial == lock.serial) return known.id;
    ++others;
  }
  return SyncId{lock.address + (others << 56U)};
}

SyncId add_lock(const raw_report::Lock& source, std::span<const std::uint64_t> created, LiveFinding& live,
                Namer& namer) {
  const SyncId id = identity_of(source, live);
  const auto same = [&](const LiveLock& lock) { return lock.id == id; };
  if (std::any_of(live.locks.begin(), live.locks.end(), same)) return id;
  live.locks.push_back({id, source.address, source.serial, namer.stack_of(created)});
  if (source.address == 0) {
    live.dictionary.syncs[id] = "one of many locks";
  } else if (const auto symbol = namer.global_at(source.address)) {
    const std::uint64_t offset = source.address - symbol->second.address;
    std::string name = symbol->second.name;
    if (offset != 0) name += " + " + std::to_string(offset);
    live.dictionary.syncs[id] = std::move(name);
  }
  return id;
}

// Turns the numbers of one packet into the model, sites and names as they come.
class FindingBuilder {
 public:
  FindingBuilder(const FindingPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer)
      : packet_(packet), modules_(modules), namer_(modules, symbolizer, live_.dictionary.sites) {}

  LiveFinding build(std::uint32_t process) {
    const raw_report::Finding& source = packet_.finding;
    live_.process = process;
    live_.id = source.id;
    live_.counted = source.counted;
    for (const raw_report::Thread& thread : packet_.threads) add_thread(thread);
    live_.finding.earlier = side_of(source.earlier, live_.earlier_acquired);
    live_.finding.later = side_of(source.later, live_.later_acquired);
    live_.finding.kind = race_kind(live_.finding.earlier.kind, live_.finding.later.kind);
    live_.finding.address = source.address;
    live_.finding.size = source.size;
    live_.memory = memory_of(source);
    live_.finding.block = block_of(live_.memory);
    if (packet_.flag) add_flag(*packet_.flag);
    live_.later_sweep = {source.swept_begin, source.swept_step, source.swept_count,
                         static_cast<std::uint32_t>(live_.finding.later.size)};
    return std::move(live_);
  }

 private:
  ThreadId thread_at(std::uint32_t index) const { return ThreadId{packet_.threads[index].id}; }
  std::optional<ThreadId> thread_if_any(std::uint32_t index) const {
    if (index == raw_report::kNoThread) return std::nullopt;
    return thread_at(index);
  }

  SiteStack stack_of(const raw_report::Stack& stack) { return namer_.stack_of(part_of(packet_.code, stack)); }

  void add_thread(const raw_report::Thread& source) {
    LiveThread thread;
    thread.id = ThreadId{source.id};
    thread.system_id = source.os_id;
    if (source.parent != 0) thread.parent = ThreadId{source.parent};
    thread.is_main = (source.flags & raw_report::kThreadMain) != 0;
    thread.is_finished = (source.flags & raw_report::kThreadFinished) != 0;
    thread.is_fiber = (source.flags & raw_report::kThreadFiber) != 0;
    thread.created = stack_of(source.created);
    std::string name = text_of(source.name);
    if (name.empty() && thread.is_main) name = "main";
    if (!name.empty()) live_.dictionary.threads[thread.id] = std::move(name);
    live_.threads.push_back(std::move(thread));
  }

  RacingAccess side_of(const raw_report::Side& source, std::vector<SiteStack>& acquired) {
    RacingAccess side;
    side.thread = thread_at(source.thread);
    side.clock = source.clock;
    side.kind = AccessKind{source.kind};
    side.size = source.size;
    side.traits = AccessTraits{source.flags};
    const SiteStack stack = stack_of(source.stack);
    if (!stack.empty()) {
      side.site = stack.front();
      side.stack.assign(stack.rbegin(), stack.rend() - 1);
    }
    for (const raw_report::Lock& lock : std::span(packet_.locks).subspan(source.locks.first, source.locks.count)) {
      const SyncId id = add_lock(lock, part_of(packet_.code, lock.created), live_, namer_);
      side.locks.push_back({id, static_cast<LockMode>(lock.mode)});
      acquired.push_back(stack_of(lock.acquired));
    }
    return side;
  }

  MemoryPlace memory_of(const raw_report::Finding& source) {
    const raw_report::Memory& memory = source.memory;
    MemoryPlace place;
    place.begin = memory.begin;
    place.size = memory.size;
    if (memory.kind == raw_report::MemoryKind::kUnknown) {
      if (const auto symbol = namer_.global_at(source.address)) {
        place = {.kind = MemoryClass::kGlobal,
                 .begin = symbol->second.address,
                 .size = symbol->second.size,
                 .name = symbol->second.name,
                 .member = {},
                 .module = symbol->first,
                 .thread = {},
                 .allocated = {},
                 .freed_by = {},
                 .freed = {}};
        place.member = namer_.member_at(*symbol, source.address);
        live_.dictionary.ranges[place.begin] = {place.size, place.name};
      } else if (const auto module = modules_.find(source.address)) {
        place.module = module->path;
      }
      return place;
    }
    place.kind = class_of(memory.kind);
    place.thread = thread_if_any(memory.thread);
    place.allocated = stack_of(memory.allocated);
    if (memory.kind == raw_report::MemoryKind::kFreedHeap) place.freed_by = thread_if_any(memory.freed_by);
    place.freed = stack_of(memory.freed);
    return place;
  }

  void add_flag(const raw_report::Flag& source) {
    // Operations of std::atomic are inlined from the system's headers, which say nothing.
    const auto site_of = [&](std::uint64_t code) {
      const SiteStack frames = namer_.stack_of(std::span(&code, 1));
      const auto own = std::find_if(frames.begin(), frames.end(), [&](SiteId site) {
        return !live_.dictionary.sites[site].file.starts_with("/usr/include/");
      });
      return own == frames.end() ? frames.front() : *own;
    };
    live_.context = AccessContext{};
    live_.context->flag = AccessContext::Flag{};
    AccessContext::Flag& flag = *live_.context->flag;
    live_.context->since = AccessContext::Since::kRace;
    flag.address = source.address;
    flag.store_site = site_of(source.write_code);
    flag.load_site = site_of(source.read_code);
    flag.store_order = static_cast<MemoryOrder>(source.write_order);
    flag.load_order = static_cast<MemoryOrder>(source.read_order);
    if (const auto symbol = namer_.global_at(source.address)) {
      live_.dictionary.ranges[symbol->second.address] = {symbol->second.size, symbol->second.name};
    }
  }

  static MemoryClass class_of(raw_report::MemoryKind kind) {
    switch (kind) {
      case raw_report::MemoryKind::kHeap:
        return MemoryClass::kHeap;
      case raw_report::MemoryKind::kFreedHeap:
        return MemoryClass::kFreedHeap;
      case raw_report::MemoryKind::kStack:
        return MemoryClass::kStack;
      case raw_report::MemoryKind::kTls:
        return MemoryClass::kThreadLocal;
      case raw_report::MemoryKind::kMapped:
        return MemoryClass::kMapped;
      case raw_report::MemoryKind::kUnknown:
        break;
    }
    return MemoryClass::kUnknown;
  }

  const FindingPacket& packet_;
  const ModuleMap& modules_;
  LiveFinding live_;
  Namer namer_;
};

}  // namespace

const LiveThread* LiveFinding::thread(ThreadId id_of_thread) const {
  const auto found =
      std::find_if(threads.begin(), threads.end(), [&](const LiveThread& thread) { return thread.id == id_of_thread; });
  return found == threads.end() ? nullptr : &*found;
}

RacedBlock block_of(const MemoryPlace& memory) {
  const bool is_block = memory.kind == MemoryClass::kHeap || memory.kind == MemoryClass::kFreedHeap;
  return is_block ? RacedBlock{memory.begin, memory.size, memory.allocated} : RacedBlock{};
}

LiveFinding make_live_finding(std::uint32_t process, const FindingPacket& packet, const ModuleMap& modules,
                              Symbolizer& symbolizer) {
  return FindingBuilder(packet, modules, symbolizer).build(process);
}

void add_counts(LiveFinding& live, const CountsPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer) {
  Namer namer(modules, symbolizer, live.dictionary.sites);
  AccessContext context;
  context.accesses = packet.counts.accesses;
  context.since = packet.counts.is_full != 0 ? AccessContext::Since::kRaceUntilFull : AccessContext::Since::kRace;
  for (const raw_report::CountedLock& counted : packet.locks) {
    // Of one of many it is not known whether it was the same each time.
    if (counted.lock.address == 0 || counted.accesses == 0) continue;
    const SyncId id = add_lock(counted.lock, part_of(packet.code, counted.lock.created), live, namer);
    context.locks.push_back({id, counted.accesses});
  }
  std::sort(context.locks.begin(), context.locks.end(),
            [](const auto& one, const auto& other) { return one.accesses > other.accesses; });
  if (live.context) context.flag = live.context->flag;
  live.context = std::move(context);
}

}  // namespace deadheat
