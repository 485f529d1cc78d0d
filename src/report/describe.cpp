// SPDX-License-Identifier: Apache-2.0
#include "report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/raw.h"
#include "report/function_names.h"

namespace deadheat {

std::string_view identifier_of(RaceKind kind) {
  switch (kind) {
    case RaceKind::kWriteWrite:
      return "write-write";
    case RaceKind::kReadWrite:
      return "read-write";
    case RaceKind::kWriteRead:
      return "write-read";
    case RaceKind::kUseFree:
      return "use-free";
    case RaceKind::kAtomicPlain:
      return "atomic-plain";
  }
  return "unknown";
}

std::string_view identifier_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
    case AccessKind::kAtomicRead:
      return "atomic-read";
    case AccessKind::kAtomicWrite:
      return "atomic-write";
    case AccessKind::kFree:
      return "free";
  }
  return "unknown";
}

std::string_view identifier_of(LockMode mode) { return mode == LockMode::kExclusive ? "exclusive" : "shared"; }

std::string_view title_of(RaceKind kind) {
  switch (kind) {
    case RaceKind::kWriteWrite:
      return "write-write race";
    case RaceKind::kReadWrite:
      return "read-write race";
    case RaceKind::kWriteRead:
      return "write-read race";
    case RaceKind::kUseFree:
      return "use races with free";
    case RaceKind::kAtomicPlain:
      return "atomic access races with plain access";
  }
  return "race";
}

namespace {

NameStyle name_style = NameStyle::kShort;  // of the whole command

std::string_view verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kAtomicRead:
      return "atomic read";
    case AccessKind::kAtomicWrite:
      return "atomic write";
    default:
      return identifier_of(kind);
  }
}

// Locks that both sides hold.
std::vector<SyncId> common_locks(const RacingAccess& one, const RacingAccess& other) {
  std::vector<SyncId> common;
  for (const HeldLock& held : one.locks) {
    const auto same = [&](const HeldLock& candidate) { return candidate.lock == held.lock; };
    if (std::any_of(other.locks.begin(), other.locks.end(), same)) common.push_back(held.lock);
  }
  return common;
}

std::string explain_locks(const Finding& finding, const Dictionary& dictionary) {
  if (finding.earlier.clock == 0) return "the one touched it while the other stood right before its access";
  if (includes(finding.later.traits, AccessTraits::kLocksUnknown)) {
    return "which locks they held was not recorded (record --held-locks)";
  }
  if (includes(finding.earlier.traits, AccessTraits::kLocksUnknown)) {
    return "which locks the earlier access held is not known any more";
  }
  const bool earlier_locked = !finding.earlier.locks.empty();
  const bool later_locked = !finding.later.locks.empty();
  if (!earlier_locked && !later_locked) return "neither holds a lock";
  const auto names = [&](const RacingAccess& access) {
    std::string list;
    for (const HeldLock& held : access.locks) list += (list.empty() ? "" : ", ") + describe_lock(held, dictionary);
    return list;
  };
  if (!earlier_locked) return fmt::format("the earlier access holds no lock, the later one {}", names(finding.later));
  if (!later_locked) return fmt::format("the later access holds no lock, the earlier one {}", names(finding.earlier));
  const std::vector<SyncId> common = common_locks(finding.earlier, finding.later);
  if (common.empty()) {
    return fmt::format("they have no lock in common: the earlier access holds {}, the later one {}",
                       names(finding.earlier), names(finding.later));
  }
  // Readers of a rwlock do not exclude each other; an exclusive common lock can
  // only be met where an annotation switched its ordering off.
  const auto shared = [&](const std::vector<HeldLock>& locks) {
    return std::all_of(locks.begin(), locks.end(), [&](const HeldLock& held) {
      return held.mode == LockMode::kShared || std::find(common.begin(), common.end(), held.lock) == common.end();
    });
  };
  const std::string lock = describe_lock({common.front(), LockMode::kExclusive}, dictionary);
  if (shared(finding.earlier.locks) && shared(finding.later.locks)) {
    return fmt::format("both hold {}, but only as readers", lock);
  }
  return fmt::format("both hold {}, but its ordering does not count here", lock);
}

// Length of the well-formed UTF-8 sequence that starts the text; 0 if none does.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80U              ? 1
                             : (lead & 0xe0U) == 0xc0U ? 2
                             : (lead & 0xf0U) == 0xe0U ? 3
                             : (lead & 0xf8U) == 0xf0U ? 4
                                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  std::uint32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0U) != 0x80U) return 0;
    point = (point << 6U) | (byte(index) & 0x3fU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
  return length;
}

// C0 and C1 controls and DEL: what a terminal would obey instead of show.
bool is_control(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead < 0x20 || lead == 0x7f;
  return sequence.size() == 2 && lead == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

}  // namespace

std::string describe_access(const RacingAccess& access) {
  std::string words(includes(access.traits, AccessTraits::kVolatile) ? "volatile " : "");
  words += verb_of(access.kind);
  if (access.size != 0) words += " of " + counted(access.size, "byte");
  if (includes(access.traits, AccessTraits::kSampled)) words += " (sampled)";
  if (includes(access.traits, AccessTraits::kRebuilt)) words += " (rebuilt)";
  if (includes(access.traits, AccessTraits::kVptr)) words += " (an object's table of virtual functions)";
  return words;
}

std::string describe_thread(ThreadId thread, const Dictionary& dictionary) {
  const auto found = dictionary.threads.find(thread);
  if (found == dictionary.threads.end() || found->second.empty()) return fmt::format("thread {}", raw(thread));
  return fmt::format("thread {} ({})", raw(thread), printable(found->second));
}

std::string describe_lock(const HeldLock& held, const Dictionary& dictionary) {
  const auto found = dictionary.syncs.find(held.lock);
  std::string name = found == dictionary.syncs.end() || found->second.empty()
                         ? fmt::format("lock {:#x}", raw(held.lock))
                         : printable(found->second);
  if (held.mode == LockMode::kShared) name += " (shared)";
  return name;
}

void set_name_style(NameStyle style) { name_style = style; }

std::string describe_position(const Site& site) {
  const std::string place = describe_place(site);
  return site.column == 0 || site.file.empty() || site.line == 0 ? place : fmt::format("{}:{}", place, site.column);
}

std::string describe_function(const Site& site) {
  if (!site.function.empty()) {
    return printable(name_style == NameStyle::kShort ? short_name(site.function) : site.function);
  }
  if (!site.module.empty()) return fmt::format("{}+{:#x}", printable(base_name(site.module)), site.offset);
  return "(unknown function)";
}

std::string describe_place(const Site& site) {
  // Imported traces may know a line and no file.
  if (site.file.empty()) return site.line == 0 ? std::string{} : fmt::format("line {}", site.line);
  if (site.line == 0) return printable(site.file);
  return fmt::format("{}:{}", printable(site.file), site.line);
}

std::optional<NamedPlace> name_of(Address address, const Dictionary& dictionary) {
  auto next = dictionary.ranges.upper_bound(address);
  if (next == dictionary.ranges.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(next);
  if (address - begin >= range.size || range.name.empty()) return std::nullopt;
  return NamedPlace{range.name, address - begin, range.size};
}

std::string describe_address(Address address, const Dictionary& dictionary) {
  const std::optional<NamedPlace> place = name_of(address, dictionary);
  if (!place) return fmt::format("{:#x}", address);
  if (place->offset == 0) return printable(place->name);
  return fmt::format("{} + {}", printable(place->name), place->offset);
}

std::vector<SiteId> stack_of(const RacingAccess& access) {
  std::vector<SiteId> stack{access.site};
  stack.insert(stack.end(), access.stack.rbegin(), access.stack.rend());
  return stack;
}

std::string innermost_place(const RacingAccess& access, const Dictionary& dictionary) {
  const Site& site = dictionary.sites[stack_of(access).front()];
  const std::string place = describe_place(site);
  return place.empty() ? describe_function(site) : describe_function(site) + " " + place;
}

namespace {

// By what libraries are called whose order the runtime knows in part only (docs/libraries.md).
constexpr std::string_view kPartlyKnown[] = {"libQt5", "libQt6", "libtbb.", "libboost_fiber", "libboost_context"};

// A library without detection that has called either side; empty if none has.
std::string_view library_that_may_order(const Finding& finding, const SiteTable& sites) {
  for (const RacingAccess* side : {&finding.later, &finding.earlier}) {
    for (const SiteId site : stack_of(*side)) {
      const std::string_view file = base_name(sites[site].module);
      for (const std::string_view beginning : kPartlyKnown) {
        if (file.starts_with(beginning)) return file;
      }
    }
  }
  return {};
}

}  // namespace

std::string explain(const Finding& finding, const Dictionary& dictionary) {
  std::string what = "nothing orders the two accesses";
  if (finding.kind == RaceKind::kUseFree) {
    what = finding.later.kind == AccessKind::kFree
               ? fmt::format("nothing makes the free wait for the earlier access: {} is neither joined nor waited for",
                             describe_thread(finding.earlier.thread, dictionary))
               : "nothing keeps the memory from being freed first";
  } else if (finding.kind == RaceKind::kAtomicPlain) {
    what = "only one side is atomic, and nothing else orders the two";
  }
  std::string why = fmt::format("{}; {}", what, explain_locks(finding, dictionary));
  if (const std::string_view library = library_that_may_order(finding, dictionary.sites); !library.empty()) {
    why += fmt::format("; ordered perhaps inside {}, which was not built with detection", library);
  }
  return why;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t position = digits.size(); position > 3; position -= 3) digits.insert(position - 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t number, std::string_view singular) {
  return fmt::format("{} {}{}", grouped(number), singular, number == 1 ? "" : "s");
}

std::string describe_share(double share) { return fmt::format("{:.3g}%", share * 100); }

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length != 0 && !is_control(text.substr(0, length))) {
      safe += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    for (std::size_t index = 0; index < std::max<std::size_t>(length, 1); ++index) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[index]));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return safe;
}

}  // namespace deadheat
