// SPDX-License-Identifier: Apache-2.0
// The sites of the program: where its instructions are, and which of them are patched.
//
// A site is sampled by an int3 in place of its first byte. One byte changes at once for
// every processor, so nothing has to stop for it; whoever executes the int3 restores the
// byte, moves back by one and goes on. Only a stale trap is possible: a thread that had
// executed the int3 just before another one restored it, which moves back as well.
//
//   idle -> arming -> armed      by the agent's thread alone
//   armed -> restoring -> idle   by whoever is first
//
// Never patched: libc, the dynamic linker and the agent itself, as the handler and what
// runs with SIGTRAP blocked must not trap. Modules are those loaded when the agent starts: they stay.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/identity.h"
#include "watch/site_table.h"

namespace deadheat::watch {

enum class SitePhase : std::uint8_t { kIdle, kArming, kArmed, kRestoring, kUnusable };

// All zero at the beginning.
struct SiteState {
  std::atomic<SitePhase> phase;
  // Stalls that a suspect at this site still asks for, and how often there was one.
  std::atomic<std::uint8_t> nominated_stalls;
  std::atomic<std::uint8_t> nominations;
  std::atomic<std::uint16_t> watched;  // how often; stays at its greatest value
};

inline constexpr std::uint32_t kNoSite = ~0U;

class Sites {
 public:
  // Code is made writable, or written through /proc/self/mem where that is refused.
  enum class Writing : std::uint8_t { kDirect, kThroughFile };

  // Maps the table and finds its modules. Returns nullptr or what is wrong.
  [[nodiscard]] const char* load(const char* path, Writing writing);
  // The same with a table that is in memory, and zeroed memory for the states of its sites.
  [[nodiscard]] const char* load(const void* table, std::uint64_t size, SiteState* states, Writing writing);
  // Code is as the program was given it, and can be patched no more.
  void close();

  // Of all loaded modules; those that may be sampled.
  [[nodiscard]] std::uint32_t count() const { return loaded_sites_; }
  [[nodiscard]] std::uint32_t sampleable() const { return sampleable_; }
  [[nodiscard]] std::uint32_t module_count() const { return loaded_modules_; }
  // The site of that place, in [0, count()), of all loaded modules.
  [[nodiscard]] std::uint32_t index_at(std::uint32_t place) const;

  [[nodiscard]] const Site& site(std::uint32_t index) const { return sites_[index]; }
  [[nodiscard]] SiteState& state(std::uint32_t index) const { return states_[index]; }
  [[nodiscard]] static bool may_be_sampled(const Site& site) {
    return (site.flags & (kAtomicSite | kStackSite)) == 0 && (site.flags & (kReads | kWrites)) != 0 && site.size != 0;
  }

  // kNoSite if no loaded module has a site there.
  [[nodiscard]] std::uint32_t site_at(Address code) const;
  [[nodiscard]] std::uint32_t site_ending_at(Address code) const;
  [[nodiscard]] Address address_of(std::uint32_t index) const;

  // By the agent's thread alone. False if the site cannot be, or is already.
  bool arm(std::uint32_t index);
  // By any thread, also a child's that shares the memory. True for the one who did it.
  bool disarm(std::uint32_t index);
  // Whether int3 stands there now.
  [[nodiscard]] static bool is_patched(Address code);
  // In a child of fork: whatever the state says, puts the byte back.
  void repair(std::uint32_t index);
  void repair_all();

 private:
  // One of a module's mappings with code, of which there can be several, with something else in between.
  struct LoadedModule {
    Address base;  // of the module
    Address text_begin;
    Address text_end;
    std::uint32_t first_site;  // of the module
    std::uint32_t site_count;
    bool is_first;  // of the module's
    bool is_writable;
  };
  static constexpr std::uint32_t kMostModules = 256;

  [[nodiscard]] const char* map_table(const char* path);
  [[nodiscard]] const char* take_table(const void* table, std::uint64_t size);
  void find_modules(Writing writing);
  void add_mapping(const LoadedModule& found, Writing writing);
  void make_writable(LoadedModule& module, Writing writing);
  [[nodiscard]] const LoadedModule* module_of(Address code) const;
  [[nodiscard]] const LoadedModule* module_of_site(std::uint32_t index) const;
  [[nodiscard]] std::uint32_t first_not_before(const LoadedModule& module, Address code) const;
  void patch(const LoadedModule& module, Address code, std::uint8_t byte) const;

  const SiteModule* modules_ = nullptr;
  std::uint32_t module_count_ = 0;
  const Site* sites_ = nullptr;
  std::uint32_t site_count_ = 0;
  SiteState* states_ = nullptr;
  LoadedModule loaded_[kMostModules] = {};
  std::uint32_t loaded_count_ = 0;
  std::uint32_t loaded_modules_ = 0;
  std::uint32_t loaded_sites_ = 0;
  std::uint32_t sampleable_ = 0;
  bool has_file_ = false;  // /proc/self/mem can be written, for text that may not be made writable
};

extern Sites sites;

}  // namespace deadheat::watch
