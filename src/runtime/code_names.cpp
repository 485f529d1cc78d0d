// SPDX-License-Identifier: Apache-2.0
#include "runtime/code_names.h"

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "base/immortal.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

struct Module {
  Address begin = 0;
  Address end = 0;
  std::uint64_t name = 0;
};

struct Names {
  SpinLock lock;
  GrowableArray<Module, PageSource> modules;
  FlatMap<std::uint64_t, PageSource> known;
};

constinit Immortal<Names> names;

std::uint64_t name_of_path(const char* path) {
  std::uint64_t name = 0xcbf29ce484222325ULL;
  for (; *path != 0; ++path) name = (name ^ static_cast<unsigned char>(*path)) * 0x100000001b3ULL;
  return name | 1;
}

bool note_mapping(const Mapping& mapping, void* context) {
  auto& modules = *static_cast<GrowableArray<Module, PageSource>*>(context);
  Module* const last = modules.empty() ? nullptr : &modules[modules.size() - 1];
  const bool is_file = mapping.path[0] == '/';
  const std::uint64_t name = is_file ? name_of_path(mapping.path) : 0;
  if (last != nullptr && (is_file ? last->name == name : mapping.path[0] == 0 && last->end == mapping.begin)) {
    last->end = mapping.end;
  } else if (is_file) {
    modules.push_back({mapping.begin, mapping.end, name});
  }
  return true;
}

std::uint64_t look_up(const GrowableArray<Module, PageSource>& modules, Address address) {
  for (const Module& module : modules) {
    if (address >= module.begin && address < module.end) return name_of_pair(module.name, address - module.begin);
  }
  return 0;
}

}  // namespace

std::uint64_t name_of_address(Address address) {
  SpinHolder hold(names->lock);
  if (const std::uint64_t* known = names->known.find(address)) return *known;
  std::uint64_t name = look_up(names->modules, address);
  if (name == 0) {
    names->modules.clear();
    static_cast<void>(for_each_mapping(note_mapping, &names->modules));
    name = look_up(names->modules, address);
  }
  if (name != 0) names->known[address] = name;
  return name;
}

void reset_code_names() { names->lock.reset(); }

}  // namespace deadheat::runtime
