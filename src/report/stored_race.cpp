// SPDX-License-Identifier: Apache-2.0
// From a document of docs/report.schema.json back to the race. Members that are missing or of
// another type are unknown, not errors: documents of other versions of ours are readable.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/raw.h"
#include "report/describe.h"
#include "report/fingerprint.h"
#include "report/json_text.h"
#include "report/race_record.h"

namespace deadheat {

namespace {

using Document = nlohmann::ordered_json;

const Document& member(const Document& object, const char* name) {
  static const Document nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

// A number, or a text with a hexadecimal one.
std::uint64_t number_in(const Document& object, const char* name) {
  const Document& value = member(object, name);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return value.is_string() ? std::strtoull(value.get_ref<const std::string&>().c_str(), nullptr, 0) : 0;
}

bool flag_in(const Document& object, const char* name) {
  const Document& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}

std::optional<ThreadId> thread_in(const Document& object, const char* name) {
  if (!member(object, name).is_number_unsigned()) return std::nullopt;
  return ThreadId{static_cast<std::uint32_t>(number_in(object, name))};
}

template <class Enum, std::size_t count>
Enum enumerator_in(const Document& object, const char* name, const Enum (&all)[count]) {
  const std::string word = text_member(object, name);
  for (const Enum one : all) {
    if (identifier_of(one) == word) return one;
  }
  return all[0];
}

MemoryClass memory_class_of(std::string_view word) {
  constexpr std::pair<std::string_view, MemoryClass> kWords[] = {{"global", MemoryClass::kGlobal},
                                                                 {"heap", MemoryClass::kHeap},
                                                                 {"freed-heap", MemoryClass::kFreedHeap},
                                                                 {"stack", MemoryClass::kStack},
                                                                 {"thread-local", MemoryClass::kThreadLocal},
                                                                 {"mapped", MemoryClass::kMapped}};
  for (const auto& [name, kind] : kWords) {
    if (name == word) return kind;
  }
  return MemoryClass::kUnknown;
}

class DocumentReader {
 public:
  explicit DocumentReader(const Document& document) : document_(document) {}

  LiveRace read() {
    Finding& finding = live_.finding;
    race_.fingerprint = text_member(document_, "fingerprint");
    race_.occurrences = std::max<std::uint64_t>(1, number_in(document_, "occurrences"));
    finding.occurrences = race_.occurrences;
    constexpr RaceKind kKinds[] = {RaceKind::kWriteWrite, RaceKind::kReadWrite, RaceKind::kWriteRead,
                                   RaceKind::kUseFree, RaceKind::kAtomicPlain};
    finding.kind = enumerator_in(document_, "kind", kKinds);
    finding.address = number_in(document_, "address");
    finding.size = number_in(document_, "size");
    finding.event_index = number_in(document_, "event_index");
    live_.explanation = text_member(document_, "explanation");
    read_variable();
    finding.earlier = side(member(document_, "earlier"), live_.earlier_acquired);
    finding.later = side(member(document_, "later"), live_.later_acquired);
    const Document& sweep = member(member(document_, "later"), "sweep");
    live_.later_sweep.begin = number_in(sweep, "begin");
    live_.later_sweep.step = static_cast<decltype(live_.later_sweep.step)>(number_in(sweep, "step"));
    live_.later_sweep.count = static_cast<decltype(live_.later_sweep.count)>(number_in(sweep, "count"));
    const Document& process = member(document_, "process");
    live_.process = static_cast<std::uint32_t>(number_in(process, "id"));
    race_.program = text_member(process, "program");
    read_memory();
    for (const Document& thread : member(document_, "threads")) read_thread(thread);
    // The race may be of a version that made fingerprints of less.
    const bool has_places = member(member(document_, "earlier"), "stack").size() != 0 &&
                            member(member(document_, "later"), "stack").size() != 0;
    if (has_places && !race_.fingerprint.empty() && !member(document_, "aliases").is_array()) {
      race_.fingerprint = fingerprint_of(finding, live_.dictionary);
    }
    return std::move(race_);
  }

 private:
  void read_variable() {
    const Document& variable = member(document_, "variable");
    if (!variable.is_object()) return;
    const std::uint64_t offset = number_in(variable, "offset");
    const Address begin = live_.finding.address - offset;
    const std::uint64_t size = offset + std::max<std::uint64_t>(1, live_.finding.size);
    live_.dictionary.ranges[begin] = {std::max(size, number_in(variable, "size")), text_member(variable, "name")};
  }

  SiteId site(const Document& frame) {
    Site place;
    place.function = text_member(frame, "function");
    place.file = text_member(frame, "file");
    place.line = static_cast<std::uint32_t>(number_in(frame, "line"));
    place.module = text_member(frame, "module");
    place.offset = number_in(frame, "offset");
    place.function_line = static_cast<std::uint32_t>(number_in(frame, "function_line"));
    place.is_inlined = flag_in(frame, "inlined");
    place.column = static_cast<std::uint32_t>(number_in(frame, "column"));
    return live_.dictionary.sites.add(std::move(place));
  }

  SiteStack stack(const Document& frames) {
    SiteStack sites;
    for (const Document& frame : frames) sites.push_back(site(frame));
    return sites;
  }

  ThreadId thread(const Document& object) {
    const ThreadId id = thread_in(object, "id").value_or(ThreadId{});
    const std::string name = text_member(object, "name");
    if (!name.empty()) live_.dictionary.threads[id] = name;
    return id;
  }

  RacingAccess side(const Document& object, std::vector<SiteStack>& acquired) {
    RacingAccess access;
    constexpr AccessKind kKinds[] = {AccessKind::kRead, AccessKind::kWrite, AccessKind::kAtomicRead,
                                     AccessKind::kAtomicWrite, AccessKind::kFree};
    access.kind = enumerator_in(object, "access", kKinds);
    access.thread = thread(member(object, "thread"));
    access.clock = number_in(object, "clock");
    access.size = number_in(object, "size");
    SiteStack frames = stack(member(object, "stack"));
    if (!frames.empty()) {
      access.site = frames.front();
      access.stack.assign(frames.rbegin(), frames.rend() - 1);
    }
    for (const Document& lock : member(object, "locks")) access.locks.push_back(held(lock, acquired));
    const auto note = [&](bool is_so, AccessTraits trait) {
      if (is_so) access.traits = static_cast<AccessTraits>(raw(access.traits) | raw(trait));
    };
    note(flag_in(object, "volatile"), AccessTraits::kVolatile);
    note(flag_in(object, "vptr"), AccessTraits::kVptr);
    note(flag_in(object, "range"), AccessTraits::kRange);
    note(member(object, "locks_known").is_boolean() && !flag_in(object, "locks_known"), AccessTraits::kLocksUnknown);
    return access;
  }

  HeldLock held(const Document& object, std::vector<SiteStack>& acquired) {
    const SyncId id{number_in(object, "id")};
    const std::string name = text_member(object, "name");
    if (!name.empty()) live_.dictionary.syncs[id] = name;
    acquired.push_back(stack(member(object, "acquired")));
    const auto is_known = [&](const LiveLock& known) { return known.id == id; };
    if (member(object, "created").is_array() && std::none_of(live_.locks.begin(), live_.locks.end(), is_known)) {
      live_.locks.push_back({id, number_in(object, "address"), 0, stack(member(object, "created"))});
    }
    return {id, text_member(object, "mode") == "shared" ? LockMode::kShared : LockMode::kExclusive};
  }

  void read_memory() {
    const Document& object = member(document_, "memory");
    MemoryPlace& memory = live_.memory;
    memory.kind = memory_class_of(text_member(object, "kind"));
    memory.begin = number_in(object, "begin");
    memory.size = number_in(object, "size");
    memory.name = text_member(object, "name");
    memory.member = text_member(object, "member");
    memory.module = text_member(object, "module");
    memory.thread = thread_in(object, "thread");
    memory.allocated = stack(member(object, "allocated"));
    memory.freed_by = thread_in(object, "freed_by");
    memory.freed = stack(member(object, "freed"));
    live_.finding.block = block_of(memory);
    if (memory.kind == MemoryClass::kGlobal && !memory.name.empty()) {
      live_.dictionary.ranges[memory.begin] = {memory.size, memory.name};
    }
  }

  void read_thread(const Document& object) {
    LiveThread one;
    one.id = thread(object);
    one.system_id = static_cast<std::uint32_t>(number_in(object, "system_id"));
    one.parent = thread_in(object, "parent");
    one.is_main = flag_in(object, "main");
    one.is_finished = flag_in(object, "finished");
    one.is_fiber = flag_in(object, "fiber");
    one.created = stack(member(object, "created"));
    live_.threads.push_back(std::move(one));
  }

  const Document& document_;
  LiveRace race_;
  LiveFinding& live_ = race_.live;
};

}  // namespace

Result<LiveRace> race_of_document(const std::string& document) {
  const Document parsed = Document::parse(document, nullptr, false);
  if (!parsed.is_object()) return Error{ErrorCode::kMalformed, "a race's document is no JSON object"};
  return DocumentReader(parsed).read();
}

}  // namespace deadheat
