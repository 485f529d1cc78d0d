// SPDX-License-Identifier: Apache-2.0
// Words for what a finding holds as numbers. Every writer takes its words from
// here: a race is called the same in text, in JSON and in whatever comes next.
//
// Names come from traces, and a trace may come from anywhere. printable() makes
// them safe for a terminal; the writers for people must pass every name through
// it, which the functions here that return whole phrases already do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dictionary.h"
#include "model/finding.h"

namespace deadheat {

// Stable identifiers for machines: "write-write", "use-free"; "atomic-read".
[[nodiscard]] std::string_view identifier_of(RaceKind kind);
[[nodiscard]] std::string_view identifier_of(AccessKind kind);
[[nodiscard]] std::string_view identifier_of(LockMode mode);

// For people: "write-write race", "use races with free".
[[nodiscard]] std::string_view title_of(RaceKind kind);

// "write of 4 bytes", "atomic read of 1 byte", "free of 64 bytes", "volatile read
// of 4 bytes"; without the size when it is not known.
[[nodiscard]] std::string describe_access(const RacingAccess& access);

// "thread 2 (teller)" or "thread 2".
[[nodiscard]] std::string describe_thread(ThreadId thread, const Dictionary& dictionary);

// "accounts_lock", "rw (shared)"; "lock 0x7f01" when it has no name.
[[nodiscard]] std::string describe_lock(const HeldLock& held, const Dictionary& dictionary);

// The function, or "module+0x1f" without one, or "(unknown function)".
[[nodiscard]] std::string describe_function(const Site& site);
// How names of the standard library's types are written, by all that is said from then on: as people write
// them, or whole.
enum class NameStyle : std::uint8_t { kShort, kWhole };
void set_name_style(NameStyle style);
// "bank.cpp:42", "bank.cpp", or empty.
[[nodiscard]] std::string describe_place(const Site& site);
// The same with the column, where it is known: "bank.cpp:42:7".
[[nodiscard]] std::string describe_position(const Site& site);

// The named range that an address lies in.
struct NamedPlace {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // of the whole
};
[[nodiscard]] std::optional<NamedPlace> name_of(Address address, const Dictionary& dictionary);

// "balance", "accounts + 8", or "0x7f01" without a name.
[[nodiscard]] std::string describe_address(Address address, const Dictionary& dictionary);

// The call stack of an access, innermost first: the place of the access itself,
// then the call sites. Never empty.
[[nodiscard]] std::vector<SiteId> stack_of(const RacingAccess& access);

// The function and the place of the access itself: "audit() bank.cpp:21".
[[nodiscard]] std::string innermost_place(const RacingAccess& access, const Dictionary& dictionary);

// One sentence: why this pair is a race, and what would have ordered it.
[[nodiscard]] std::string explain(const Finding& finding, const Dictionary& dictionary);

// What follows the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

// 1204113 -> "1,204,113".
[[nodiscard]] std::string grouped(std::uint64_t number);
// "1 race", "2 races", "1,204,113 events". The plural is the singular + "s".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view singular);
// 0.0302 -> "3.02%". Three digits are enough for the rates that people ask for.
[[nodiscard]] std::string describe_share(double share);

// The text with control characters and broken UTF-8 replaced by "\xNN".
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace deadheat
