// SPDX-License-Identifier: Apache-2.0
// The entries of abi_cold.cpp, for who switches all hooks off.
#pragma once

namespace deadheat::runtime {

inline constexpr int kColdHooks = 36;
[[gnu::visibility("hidden")]] extern void* const cold_hooks[kColdHooks];

}  // namespace deadheat::runtime
