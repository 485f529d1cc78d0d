// SPDX-License-Identifier: Apache-2.0
#include "report/recorded_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "image/elf_image.h"
#include "image/unlogged_order.h"
#include "report/describe.h"
#include "report/function_names.h"

namespace deadheat {

namespace {

// Code that synchronises for itself and offers its synchronisation by calls that are logged.
bool is_known_library(std::string_view path) {
  return is_system_library(path) || base_name(path).starts_with("libdeadheat_record");
}

// From addresses of the file to those of the process.
std::uint64_t bias_of(const ElfImage& image, const CodeMapping& mapping) {
  const auto bytes = image.slice(0, sizeof(Elf64_Ehdr));
  if (!bytes) return mapping.begin;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes->data(), sizeof header);
  for (std::uint64_t at = 0; at < header.e_phnum; ++at) {
    const auto entry = image.slice(header.e_phoff + at * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
    if (!entry) break;
    Elf64_Phdr segment;
    std::memcpy(&segment, entry->data(), sizeof segment);
    const std::uint64_t first = segment.p_offset & ~std::uint64_t{4095};
    if (segment.p_type != PT_LOAD || mapping.file_offset < first ||
        mapping.file_offset >= segment.p_offset + segment.p_filesz) {
      continue;
    }
    return mapping.begin - (segment.p_vaddr + (mapping.file_offset - segment.p_offset));
  }
  return mapping.begin - image.lowest_address();
}

}  // namespace

RecordedCode::RecordedCode(const Recording& recording, std::shared_ptr<Symbolizer> symbolizer)
    : symbolizer_(std::move(symbolizer)) {
  std::map<std::string, bool> looked_at;
  for (const CodeMapping& mapping : recording.mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/') continue;
    Module module;
    module.mapping = mapping;
    module.is_library = is_known_library(mapping.path);
    if (const auto image = ElfImage::open(mapping.path); image.ok()) {
      module.bias = bias_of(image.value(), mapping);
      if (!module.is_library) {
        module.atomic = atomic_code_by_debug_information(mapping.path);
        module.atomic_instructions = atomic_instructions_by_metadata(image.value());
      }
    }
    if (!module.is_library && looked_at.emplace(mapping.path, true).second) {
      const auto order = find_unlogged_order(mapping.path);
      if (!order.ok()) {
        unlogged_.push_back(fmt::format("{} cannot be read", mapping.path));
      } else if (order.value().is_possible) {
        unlogged_.push_back(fmt::format("{} has {}", base_name(mapping.path), order.value().why));
      }
    }
    modules_[mapping.begin] = std::move(module);
  }
  if (recording.has_unlogged_order) unlogged_.emplace_back("the program waited by futexes of its own");
  for (const RecordedThread& thread : recording.threads) {
    dictionary_.threads[thread.id] = raw(thread.id) == 0 ? "main" : thread.name;
  }
}

std::vector<CodeMapping> RecordedCode::replayed() const {
  std::vector<CodeMapping> mappings;
  for (const auto& [begin, module] : modules_) {
    if (!module.is_library) mappings.push_back(module.mapping);
  }
  return mappings;
}

const RecordedCode::Module* RecordedCode::module_at(std::uint64_t code) const {
  auto found = modules_.upper_bound(code);
  if (found == modules_.begin()) return nullptr;
  --found;
  return code < found->second.mapping.end ? &found->second : nullptr;
}

bool RecordedCode::is_compared(std::uint64_t code) const {
  const Module* const module = module_at(code);
  return module != nullptr && !module->is_library;
}

bool RecordedCode::is_library(std::uint64_t code) const {
  const Module* const module = module_at(code);
  return module == nullptr || module->is_library;
}

bool RecordedCode::is_atomic(std::uint64_t code) const {
  const Module* const module = module_at(code);
  if (module == nullptr) return false;
  const std::uint64_t address = code - module->bias;
  if (std::binary_search(module->atomic_instructions.begin(), module->atomic_instructions.end(), address)) return true;
  auto range = std::upper_bound(module->atomic.begin(), module->atomic.end(), address,
                                [](std::uint64_t at, const AddressRange& one) { return at < one.begin; });
  return range != module->atomic.begin() && address < (--range)->end;
}

SiteId RecordedCode::site_of(std::uint64_t code, AccessOrigin origin) {
  const auto [found, is_new] = sites_.try_emplace({code, origin}, SiteId::kUnknown);
  if (is_new) {
    found->second = add_site(code);
    known_.emplace(found->second, std::pair(code, origin));
  }
  return found->second;
}

SiteId RecordedCode::add_site(std::uint64_t code) {
  Site site;
  if (const Module* const module = module_at(code)) {
    site = symbolizer_->frames({module->mapping.path, code - module->bias}).front();
  } else {
    site.offset = code;
  }
  return dictionary_.sites.add(std::move(site));
}

AccessTraits RecordedCode::traits_of(SiteId site) const {
  const auto found = known_.find(site);
  if (found == known_.end()) return AccessTraits::kNone;
  return found->second.second == AccessOrigin::kSampled ? AccessTraits::kSampled : AccessTraits::kRebuilt;
}

std::uint64_t RecordedCode::code_of(SiteId site) const {
  const auto found = known_.find(site);
  return found == known_.end() ? 0 : found->second.first;
}

std::vector<SiteId> RecordedCode::frames_of(std::uint64_t code) {
  const auto [found, is_new] = frames_.try_emplace(code);
  if (is_new) {
    if (const Module* const module = module_at(code)) {
      for (const Site& site : symbolizer_->frames({module->mapping.path, code - module->bias})) {
        found->second.push_back(dictionary_.sites.add(site));
      }
    } else {
      Site site;
      site.offset = code;
      found->second.push_back(dictionary_.sites.add(std::move(site)));
    }
  }
  return found->second;
}

std::vector<UnwoundFile> RecordedCode::files() const {
  std::map<std::string, std::uint64_t> files;
  for (const auto& [begin, module] : modules_) files.emplace(module.mapping.path, module.bias);
  std::vector<UnwoundFile> result;
  for (const auto& [path, bias] : files) result.push_back({path, bias});
  return result;
}

std::optional<NamedRange> RecordedCode::global_at(Address address, Address& begin) {
  // Data lies above its file's code, and below the next file.
  auto found = modules_.upper_bound(address);
  if (found == modules_.begin()) return std::nullopt;
  const Module& module = (--found)->second;
  const auto symbol = symbolizer_->global({module.mapping.path, address - module.bias});
  if (!symbol || symbol->size == 0 || address - module.bias >= symbol->address + symbol->size) return std::nullopt;
  begin = symbol->address + module.bias;
  return NamedRange{symbol->size, symbol->name};
}

}  // namespace deadheat
