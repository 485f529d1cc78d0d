// SPDX-License-Identifier: Apache-2.0
// The number behind an identity. Identities are distinct enum types so that a
// thread cannot be passed where a lock is meant; raw() is the one way out.
#pragma once

#include <type_traits>

namespace deadheat {

template <class Enum>
  requires std::is_enum_v<Enum>
[[nodiscard]] constexpr std::underlying_type_t<Enum> raw(Enum value) {
  return static_cast<std::underlying_type_t<Enum>>(value);
}

}  // namespace deadheat
