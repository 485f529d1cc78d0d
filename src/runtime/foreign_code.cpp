// SPDX-License-Identifier: Apache-2.0
#include "runtime/foreign_code.h"

#include <link.h>

#include <atomic>

#include "runtime/elf_module.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {

constinit ForeignBounds foreign_bounds;

namespace {

// By what libraries are called that order threads by means of their own. A name may go on behind these.
constexpr const char* kOrderingLibraries[] = {"libgomp", "libomp",   "libiomp", "libglib-", "libgobject-",
                                              "libgio-", "libQt5",   "libQt6",  "libtbb",   "libuv",
                                              "libabsl", "libboost", "libevent"};

struct ForeignModule {
  Address begin;
  Address end;
  Address data_begin;
  Address data_end;
  bool orders;
};

// A list that is replaced as a whole when modules come or go; readers may still be in the one before, which
// is kept. Lists grow with every dlopen(), so only those that differ are made.
struct ForeignModules {
  std::uint32_t count;
  ForeignModule of[1];
};
constexpr std::uint32_t kMostModules = 512;
constinit std::atomic<const ForeignModules*> known{nullptr};

struct Collection {
  ForeignModule of[kMostModules];
  std::uint32_t count;
  bool is_first;
};

void look_for_hooks(const char* name, Address* /*slot*/, void* context) {
  for (const char* hook : {"__tsan_", "__deadheat_"}) {
    const char* at = name;
    while (*hook != 0 && *at == *hook) {
      ++at;
      ++hook;
    }
    if (*hook == 0) *static_cast<bool*>(context) = true;
  }
}

int collect(dl_phdr_info* info, std::size_t /*size*/, void* context) {
  auto& collection = *static_cast<Collection*>(context);
  const ElfModule module(*info);
  const bool is_program = collection.is_first;
  collection.is_first = false;
  if (is_program || collection.count == kMostModules) return 0;
  if (module.holds(reinterpret_cast<Address>(&collect))) return 0;  // ours
  bool has_hooks = false;
  module.for_each_import(ElfModule::Symbols::kOfOthers, look_for_hooks, &has_hooks);
  if (has_hooks) return 0;
  ForeignModule foreign{};
  foreign.data_begin = ~Address{0};
  foreign.begin = ~Address{0};
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    const auto& header = info->dlpi_phdr[index];
    if (header.p_type != PT_LOAD) continue;
    const Address first = info->dlpi_addr + header.p_vaddr;
    const Address last = first + header.p_memsz;
    if (first < foreign.begin) foreign.begin = first;
    if (last > foreign.end) foreign.end = last;
    if ((header.p_flags & PF_W) == 0) continue;
    if (first < foreign.data_begin) foreign.data_begin = first;
    if (last > foreign.data_end) foreign.data_end = last;
  }
  for (const char* name : kOrderingLibraries) foreign.orders = foreign.orders || module.name_begins_with(name);
  collection.of[collection.count++] = foreign;
  return 0;
}

bool is_known_already(const Collection& collection) {
  const ForeignModules* const old = known.load(std::memory_order_relaxed);
  if (old == nullptr || old->count != collection.count) return false;
  for (std::uint32_t index = 0; index < old->count; ++index) {
    if (old->of[index].begin != collection.of[index].begin || old->of[index].end != collection.of[index].end)
      return false;
  }
  return true;
}

const ForeignModule* module_of(Address code) {
  const ForeignModules* const modules = known.load(std::memory_order_acquire);  // pairs with note_foreign_code()
  if (modules == nullptr) return nullptr;
  for (std::uint32_t index = 0; index < modules->count; ++index) {
    if (code >= modules->of[index].begin && code < modules->of[index].end) return &modules->of[index];
  }
  return nullptr;
}

}  // namespace

void note_foreign_code() {
  auto* const collection = static_cast<Collection*>(PageSource::try_allocate(sizeof(Collection)));
  if (collection == nullptr) return;
  collection->count = 0;
  collection->is_first = true;
  dl_iterate_phdr(collect, collection);
  if (!is_known_already(*collection)) {
    void* const memory = PageSource::try_allocate(sizeof(ForeignModules) + collection->count * sizeof(ForeignModule));
    if (auto* const modules = static_cast<ForeignModules*>(memory)) {
      ForeignBounds bounds;
      modules->count = collection->count;
      for (std::uint32_t index = 0; index < collection->count; ++index) {
        const ForeignModule& foreign = collection->of[index];
        modules->of[index] = foreign;
        if (foreign.begin < bounds.begin) bounds.begin = foreign.begin;
        if (foreign.end > bounds.end) bounds.end = foreign.end;
      }
      known.store(modules, std::memory_order_release);
      __atomic_store_n(&foreign_bounds.begin, bounds.begin, __ATOMIC_RELAXED);
      __atomic_store_n(&foreign_bounds.end, bounds.end, __ATOMIC_RELAXED);
    }
  }
  PageSource::release(collection, sizeof(Collection));
}

bool is_affair_of_foreign_code(Address code, Address begin) {
  const ForeignModule* const foreign = module_of(code);
  return foreign != nullptr && (foreign->orders || (begin >= foreign->data_begin && begin < foreign->data_end));
}

bool is_in_ordering_library(Address code) {
  const ForeignModule* const foreign = module_of(code);
  return foreign != nullptr && foreign->orders;
}

}  // namespace deadheat::runtime
