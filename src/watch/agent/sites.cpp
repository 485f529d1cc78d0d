// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/sites.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "watch/agent/signals.h"
#include "watch/agent/system.h"

namespace deadheat::watch {

constinit Sites sites;

namespace {

constexpr std::uint8_t kInt3 = 0xcc;

bool begins_with(const char* text, const char* prefix) {
  while (*prefix != 0 && *text == *prefix) {
    ++text;
    ++prefix;
  }
  return *prefix == 0;
}

bool is_below_the_agent(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != 0; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* low : {"libc.so", "libc-", "ld-linux", "ld-", "libpthread", "libdl.", "librt.", "libdeadheat_"}) {
    if (begins_with(name, low)) return true;
  }
  return false;
}

std::uint64_t size_of_file(const char* path) {
  struct stat status = {};
  return raw_call(SYS_stat, as_argument(path), as_argument(&status)) == 0 ? static_cast<std::uint64_t>(status.st_size)
                                                                          : ~std::uint64_t{0};
}

int open_own_memory() {
  return static_cast<int>(raw_call(SYS_openat, AT_FDCWD, as_argument("/proc/self/mem"), O_RDWR | O_CLOEXEC));
}

}  // namespace

const char* Sites::load(const char* path, Writing writing) {
  if (const char* const problem = map_table(path)) return problem;
  find_modules(writing);
  if (sampleable_ == 0) return "no sites in the modules of this program";
  return nullptr;
}

const char* Sites::map_table(const char* path) {
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "cannot open the table of sites";
  struct stat status = {};
  raw_call(SYS_fstat, file, as_argument(&status));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const long memory = size == 0 ? -1 : raw_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ, MAP_PRIVATE, file, 0);
  raw_call(SYS_close, file);
  if (memory < 0 && memory > -4096) return "cannot map the table of sites";
  if (const char* const problem = take_table(reinterpret_cast<const void*>(memory), size)) return problem;
  states_ = static_cast<SiteState*>(map_memory(std::uint64_t{site_count_} * sizeof(SiteState) + 1));
  return states_ == nullptr ? "no memory for the states of sites" : nullptr;
}

const char* Sites::load(const void* table, std::uint64_t size, SiteState* states, Writing writing) {
  if (const char* const problem = take_table(table, size)) return problem;
  states_ = states;
  find_modules(writing);
  return sampleable_ == 0 ? "no sites in the modules of this program" : nullptr;
}

void Sites::close() {
  for (std::uint32_t number = 0; number < loaded_count_; ++number) {
    const LoadedModule& module = loaded_[number];
    if (!module.is_writable) continue;
    raw_call(SYS_mprotect, static_cast<long>(module.text_begin), static_cast<long>(module.text_end - module.text_begin),
             PROT_READ | PROT_EXEC);
  }
}

const char* Sites::take_table(const void* table, std::uint64_t size) {
  const auto* const header = static_cast<const SiteTableHeader*>(table);
  if (size < sizeof *header || header->magic != kSiteTableMagic || header->version != kSiteTableVersion) {
    return "the table of sites is of another version";
  }
  modules_ = reinterpret_cast<const SiteModule*>(header + 1);
  module_count_ = header->module_count;
  site_count_ = header->site_count;
  sites_ = reinterpret_cast<const Site*>(modules_ + module_count_);
  if (size <
      sizeof *header + std::uint64_t{module_count_} * sizeof(SiteModule) + std::uint64_t{site_count_} * sizeof(Site)) {
    return "the table of sites is cut off";
  }
  return nullptr;
}

void Sites::find_modules(Writing writing) {
  for (std::uint32_t number = 0; number < module_count_ && loaded_count_ < kMostModules; ++number) {
    const SiteModule& module = modules_[number];
    if (std::uint64_t{module.first_site} + module.site_count > site_count_ || is_below_the_agent(module.path) ||
        size_of_file(module.path) != module.file_size) {
      continue;
    }
    struct Search {
      Sites& sites;
      const char* path;
      Writing writing;
      std::uint32_t last_offset;
      LoadedModule found;
    } search{*this, module.path, writing, 0, {0, 0, 0, module.first_site, module.site_count, true, false}};
    if (module.site_count != 0) search.last_offset = sites_[module.first_site + module.site_count - 1].offset;
    for_each_mapping(
        [](const Mapping& mapping, void* context) {
          auto& wanted = *static_cast<Search*>(context);
          if (!same_text(mapping.path, wanted.path)) return true;
          LoadedModule& found = wanted.found;
          if (found.base == 0) found.base = mapping.begin;
          // Some programs have their code a second time elsewhere, or change it themselves.
          const bool is_code = mapping.is_executable && !mapping.is_writable;
          if (!is_code || mapping.begin - found.base > wanted.last_offset) return true;
          found.text_begin = mapping.begin;
          found.text_end = mapping.end;
          wanted.sites.add_mapping(found, wanted.writing);
          found.is_first = false;
          return true;
        },
        &search);
    if (search.found.is_first) continue;
    ++loaded_modules_;
    loaded_sites_ += module.site_count;
    for (std::uint32_t at = 0; at < module.site_count; ++at) {
      if (may_be_sampled(sites_[module.first_site + at])) ++sampleable_;
    }
  }
}

void Sites::add_mapping(const LoadedModule& found, Writing writing) {
  if (loaded_count_ == kMostModules) return;
  loaded_[loaded_count_] = found;
  make_writable(loaded_[loaded_count_++], writing);
}

void Sites::make_writable(LoadedModule& module, Writing writing) {
  module.is_writable = writing == Writing::kDirect && raw_call(SYS_mprotect, static_cast<long>(module.text_begin),
                                                               static_cast<long>(module.text_end - module.text_begin),
                                                               PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
  if (module.is_writable || has_file_) return;
  const int memory = open_own_memory();
  has_file_ = memory >= 0;
  if (has_file_) raw_call(SYS_close, memory);
}

std::uint32_t Sites::index_at(std::uint32_t place) const {
  for (std::uint32_t number = 0; number < loaded_count_; ++number) {
    if (!loaded_[number].is_first) continue;
    if (place < loaded_[number].site_count) return loaded_[number].first_site + place;
    place -= loaded_[number].site_count;
  }
  return kNoSite;
}

const Sites::LoadedModule* Sites::module_of(Address code) const {
  for (std::uint32_t number = 0; number < loaded_count_; ++number) {
    if (code >= loaded_[number].text_begin && code < loaded_[number].text_end) return &loaded_[number];
  }
  return nullptr;
}

const Sites::LoadedModule* Sites::module_of_site(std::uint32_t index) const {
  for (std::uint32_t number = 0; number < loaded_count_; ++number) {
    const LoadedModule& module = loaded_[number];
    if (index - module.first_site >= module.site_count) continue;
    const Address code = module.base + sites_[index].offset;
    if (code >= module.text_begin && code < module.text_end) return &module;
  }
  return nullptr;
}

// Index of the module's first site at or after the address; one past its last if there is none.
std::uint32_t Sites::first_not_before(const LoadedModule& module, Address code) const {
  const std::uint64_t offset = code - module.base;
  std::uint32_t low = module.first_site;
  std::uint32_t high = module.first_site + module.site_count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (sites_[middle].offset < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint32_t Sites::site_at(Address code) const {
  const LoadedModule* const module = module_of(code);
  if (module == nullptr) return kNoSite;
  const std::uint32_t index = first_not_before(*module, code);
  if (index == module->first_site + module->site_count) return kNoSite;
  return module->base + sites_[index].offset == code ? index : kNoSite;
}

std::uint32_t Sites::site_ending_at(Address code) const {
  const LoadedModule* const module = module_of(code - 1);
  if (module == nullptr) return kNoSite;
  const std::uint32_t next = first_not_before(*module, code);
  if (next == module->first_site) return kNoSite;
  const Site& before = sites_[next - 1];
  return module->base + before.offset + before.length == code ? next - 1 : kNoSite;
}

Address Sites::address_of(std::uint32_t index) const {
  const LoadedModule* const module = module_of_site(index);
  return module != nullptr ? module->base + sites_[index].offset : 0;
}

bool Sites::is_patched(Address code) {
  return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(code), __ATOMIC_RELAXED) == kInt3;
}

void Sites::patch(const LoadedModule& module, Address code, std::uint8_t byte) const {
  if (module.is_writable) {
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(code), byte, __ATOMIC_RELAXED);
    return;
  }
  // Opened each time: the agent's thread and the program's have different descriptors, and what a child has
  // inherited reaches into its parent.
  const int memory = open_own_memory();
  if (memory < 0) return;
  raw_call(SYS_pwrite64, memory, as_argument(&byte), 1, static_cast<long>(code));
  raw_call(SYS_close, memory);
}

bool Sites::arm(std::uint32_t index) {
  const Site& site = sites_[index];
  const LoadedModule* const module = module_of_site(index);
  if (module == nullptr || !may_be_sampled(site)) return false;
  std::atomic<SitePhase>& phase = states_[index].phase;
  SitePhase seen = SitePhase::kIdle;
  if (!phase.compare_exchange_strong(seen, SitePhase::kArming, std::memory_order_acquire)) return false;  // disarm()
  const Address code = module->base + site.offset;
  const bool is_text = code >= module->text_begin && code + site.length <= module->text_end;
  if (!is_text || *reinterpret_cast<const std::uint8_t*>(code) != site.first_byte ||
      (!module->is_writable && !has_file_)) {
    phase.store(SitePhase::kUnusable, std::memory_order_relaxed);
    return false;
  }
  patch(*module, code, kInt3);
  phase.store(SitePhase::kArmed, std::memory_order_release);  // pairs with disarm()
  return true;
}

bool Sites::disarm(std::uint32_t index) {
  std::atomic<SitePhase>& phase = states_[index].phase;
  SitePhase seen = SitePhase::kArmed;
  if (!phase.compare_exchange_strong(seen, SitePhase::kRestoring, std::memory_order_acquire)) return false;  // arm()
  repair(index);
  phase.store(SitePhase::kIdle, std::memory_order_release);  // pairs with arm()
  return true;
}

void Sites::repair(std::uint32_t index) {
  const LoadedModule* const module = module_of_site(index);
  if (module != nullptr) patch(*module, module->base + sites_[index].offset, sites_[index].first_byte);
}

void Sites::repair_all() {
  for (std::uint32_t index = 0; index < site_count_; ++index) {
    const SitePhase phase = states_[index].phase.load(std::memory_order_relaxed);
    if (phase == SitePhase::kIdle || phase == SitePhase::kUnusable) continue;
    repair(index);
    states_[index].phase.store(SitePhase::kIdle, std::memory_order_relaxed);
  }
}

}  // namespace deadheat::watch
