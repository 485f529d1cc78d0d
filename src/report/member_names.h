// SPDX-License-Identifier: Apache-2.0
// Which member of a variable some bytes are, by the types in the DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>

namespace deadheat {

// The member of a variable of that type: "Counter::n", "Server::stats.hits", "[3]", "[3].n"; empty where
// the type is no aggregate or unknown.
[[nodiscard]] std::string member_at(Dwarf_Die& variable, std::uint64_t offset);

}  // namespace deadheat
