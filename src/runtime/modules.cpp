// SPDX-License-Identifier: Apache-2.0
#include "runtime/modules.h"

#include <link.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "runtime/hand_off.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

using raw_report::PacketHeader;
using raw_report::PacketKind;

constexpr std::size_t kModulesPacket = raw_report::kMaxPacket;

struct ModulesBuilder {
  char* buffer = nullptr;
  std::uint32_t count = 0;
  std::uint32_t path_bytes = 0;
  const char* paths[512];
  std::uint64_t hash = 0;
};

raw_report::Module* modules_of(char* buffer) {
  return reinterpret_cast<raw_report::Module*>(buffer + sizeof(PacketHeader) + sizeof(raw_report::Modules));
}

int add_module(struct dl_phdr_info* info, std::size_t /*size*/, void* context) {
  auto& builder = *static_cast<ModulesBuilder*>(context);
  if (builder.count >= sizeof builder.paths / sizeof builder.paths[0]) return 1;
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    const auto& header = info->dlpi_phdr[index];
    if (header.p_type != PT_LOAD) continue;
    const std::uint64_t first = info->dlpi_addr + header.p_vaddr;
    if (first < begin) begin = first;
    if (first + header.p_memsz > end) end = first + header.p_memsz;
  }
  if (end <= begin) return 0;
  static char program[512];
  const char* path = info->dlpi_name;
  if (path == nullptr || path[0] == 0) {
    if (builder.count != 0) return 0;  // the vdso
    const long size = raw_call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"), reinterpret_cast<long>(program),
                               sizeof program - 1);
    program[size > 0 ? size : 0] = 0;
    path = program;
  }
  const std::uint32_t length = length_of(path);
  raw_report::Module& module = modules_of(builder.buffer)[builder.count];
  module.begin = begin;
  module.end = end;
  module.load_bias = info->dlpi_addr;
  module.path_offset = builder.path_bytes;
  module.path_size = length;
  builder.paths[builder.count++] = path;
  builder.path_bytes += length;
  builder.hash = (builder.hash + begin + length) * 0x9e3779b97f4a7c15ULL;
  return 0;
}

struct ModuleRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
constexpr std::uint32_t kKnownModules = 512;
ModuleRange known_modules[kKnownModules];
std::uint32_t known_module_count = 0;
char* known_packet = nullptr;  // of kModulesPacket bytes
SpinLock knowing_modules;      // protects the three

void finish_packet(ModulesBuilder& builder) {
  char* const buffer = builder.buffer;
  char* paths = reinterpret_cast<char*>(modules_of(buffer) + builder.count);
  const std::size_t room = static_cast<std::size_t>(buffer + kModulesPacket - paths);
  std::size_t used = 0;
  for (std::uint32_t index = 0; index < builder.count; ++index) {
    raw_report::Module& module = modules_of(buffer)[index];
    if (used + module.path_size > room) module.path_size = 0;
    module.path_offset = static_cast<std::uint32_t>(used);
    for (std::uint32_t at = 0; at < module.path_size; ++at) paths[used++] = builder.paths[index][at];
  }
  auto* header = reinterpret_cast<PacketHeader*>(buffer);
  auto* modules = reinterpret_cast<raw_report::Modules*>(buffer + sizeof(PacketHeader));
  modules->count = builder.count;
  modules->path_bytes = static_cast<std::uint32_t>(used);
  header->kind = PacketKind::kModules;
  header->size = static_cast<std::uint32_t>(paths + used - buffer);
}

}  // namespace

void note_modules(void (*visit_unloaded)(std::uint64_t begin, std::uint64_t end)) {
  char* buffer = static_cast<char*>(PageSource::try_allocate(kModulesPacket));
  if (buffer == nullptr) return;
  ModulesBuilder builder;
  builder.buffer = buffer;
  dl_iterate_phdr(add_module, &builder);
  finish_packet(builder);
  const raw_report::Module* now = modules_of(buffer);
  SpinHolder hold(knowing_modules);
  for (std::uint32_t index = 0; index < known_module_count; ++index) {
    bool is_there = false;
    for (std::uint32_t other = 0; other < builder.count; ++other) {
      is_there =
          is_there || (now[other].begin == known_modules[index].begin && now[other].end == known_modules[index].end);
    }
    if (!is_there) visit_unloaded(known_modules[index].begin, known_modules[index].end);
  }
  known_module_count = builder.count < kKnownModules ? builder.count : kKnownModules;
  for (std::uint32_t index = 0; index < known_module_count; ++index) {
    known_modules[index] = {now[index].begin, now[index].end};
  }
  char* const old = known_packet;
  known_packet = buffer;
  if (old != nullptr) PageSource::release(old, kModulesPacket);
}

void send_modules() {
  SpinHolder hold(knowing_modules);
  if (known_packet != nullptr) send_packet(reinterpret_cast<PacketHeader*>(known_packet));
}

void unlock_modules_in_child() { knowing_modules.reset(); }

}  // namespace deadheat::runtime
