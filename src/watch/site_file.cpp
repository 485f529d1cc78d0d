// SPDX-License-Identifier: Apache-2.0
#include "watch/site_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace deadheat::watch {
namespace {

constexpr std::uint8_t kKnownFlags = kReads | kWrites | kAtomicSite | kStackSite;
constexpr std::uint8_t kStackPointer = 4;
constexpr std::uint8_t kLongestInstruction = 15;
constexpr std::uint8_t kLargestAccess = 64;

Error malformed(std::string message) { return {ErrorCode::kMalformed, std::move(message)}; }

// What is wrong with it; nothing for a good one.
std::optional<std::string_view> fault_of(const Site& site) {
  if (site.length == 0 || site.length > kLongestInstruction) return "an impossible length";
  if (site.size == 0 || site.size > kLargestAccess) return "an impossible size";
  if ((site.flags & ~kKnownFlags) != 0) return "unknown flags";
  if ((site.flags & (kReads | kWrites)) == 0) return "no access";
  if (site.base > 15 && site.base != kNoRegister && site.base != kInstructionPointer) return "no such base register";
  if ((site.index > 15 && site.index != kNoRegister) || site.index == kStackPointer) return "no such index register";
  if (site.scale != 1 && site.scale != 2 && site.scale != 4 && site.scale != 8) return "no such scale";
  if (site.reserved != 0) return "something in a reserved place";
  return std::nullopt;
}

Status check_sites(std::span<const Site> sites) {
  for (std::size_t index = 0; index < sites.size(); ++index) {
    if (const auto fault = fault_of(sites[index])) return malformed(fmt::format("its site {} has {}", index, *fault));
    if (index > 0 && sites[index].offset <= sites[index - 1].offset) {
      return malformed(fmt::format("its site {} is not in order", index));
    }
  }
  return {};
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

Status check_header(const SiteTableHeader& header, std::size_t size) {
  if (header.magic != kSiteTableMagic) return malformed("it is not a site table");
  if (header.version != kSiteTableVersion) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("version {}, this program knows {}", header.version, kSiteTableVersion)};
  }
  const std::uint64_t expected = sizeof header + std::uint64_t{header.module_count} * sizeof(SiteModule) +
                                 std::uint64_t{header.site_count} * sizeof(Site);
  if (expected != size) return malformed(fmt::format("it has {} bytes and should have {}", size, expected));
  return {};
}

Result<ModuleSites> parse_module(const SiteModule& module, std::span<const std::byte> sites) {
  const std::size_t length = ::strnlen(module.path, sizeof module.path);
  if (length == 0 || length == sizeof module.path) return malformed("a module has no path");
  ModuleSites parsed{{module.path, length}, module.file_size, std::vector<Site>(module.site_count)};
  if (!sites.empty()) std::memcpy(parsed.sites.data(), sites.data(), sites.size());
  if (Status status = check_sites(parsed.sites); !status.ok()) {
    return malformed(fmt::format("module '{}': {}", parsed.path, status.error().message));
  }
  return parsed;
}

Error failed(const char* action, const std::string& path) {
  return {ErrorCode::kIo, fmt::format("cannot {} site table '{}': {}", action, path, std::strerror(errno))};
}

}  // namespace

Result<std::vector<std::byte>> format_site_table(std::span<const ModuleSites> modules) {
  std::vector<SiteModule> heads;
  std::uint64_t count = 0;
  for (const ModuleSites& module : modules) {
    SiteModule head;
    if (module.path.empty() || module.path.size() >= sizeof head.path) {
      return Error{ErrorCode::kInvalid, fmt::format("the path '{}' has {} bytes; between 1 and {} can be watched",
                                                    module.path, module.path.size(), sizeof head.path - 1)};
    }
    if (Status status = check_sites(module.sites); !status.ok()) {
      return Error{ErrorCode::kInvalid, fmt::format("module '{}': {}", module.path, status.error().message)};
    }
    module.path.copy(head.path, module.path.size());
    head.file_size = module.file_size;
    head.first_site = static_cast<std::uint32_t>(count);
    head.site_count = static_cast<std::uint32_t>(module.sites.size());
    count += module.sites.size();
    if (count > std::numeric_limits<std::uint32_t>::max()) {
      return Error{ErrorCode::kInvalid, "the modules have more sites than a site table can hold: name fewer"};
    }
    heads.push_back(head);
  }
  SiteTableHeader header;
  header.module_count = static_cast<std::uint32_t>(heads.size());
  header.site_count = static_cast<std::uint32_t>(count);
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof header + heads.size() * sizeof(SiteModule) + count * sizeof(Site));
  append(bytes, std::span<const SiteTableHeader>(&header, 1));
  append(bytes, std::span<const SiteModule>(heads));
  for (const ModuleSites& module : modules) append(bytes, std::span<const Site>(module.sites));
  return bytes;
}

Status write_site_table(const std::string& path, std::span<const ModuleSites> modules) {
  const auto bytes = format_site_table(modules);
  if (!bytes.ok()) return bytes.error();
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.value().data()), static_cast<std::streamsize>(bytes.value().size()));
  file.close();
  if (!file) return failed("write", path);
  return {};
}

Result<std::vector<ModuleSites>> parse_site_table(std::span<const std::byte> bytes) {
  SiteTableHeader header;
  if (bytes.size() < sizeof header) return malformed(fmt::format("it ends after {} bytes", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (Status status = check_header(header, bytes.size()); !status.ok()) return status.error();
  const auto sites = bytes.subspan(sizeof header + header.module_count * sizeof(SiteModule));
  std::vector<ModuleSites> modules;
  std::uint32_t next = 0;
  for (std::uint32_t index = 0; index < header.module_count; ++index) {
    SiteModule head;
    std::memcpy(&head, bytes.data() + sizeof header + index * sizeof head, sizeof head);
    if (head.first_site != next || head.site_count > header.site_count - next) {
      return malformed(fmt::format("the sites of its module {} are not where they belong", index));
    }
    auto module = parse_module(head, sites.subspan(next * sizeof(Site), head.site_count * sizeof(Site)));
    if (!module.ok()) return module.error();
    next += head.site_count;
    modules.push_back(std::move(module).value());
  }
  if (next != header.site_count)
    return malformed(fmt::format("{} sites belong to no module", header.site_count - next));
  return modules;
}

Result<std::vector<ModuleSites>> read_site_table(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed("open", path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return failed("read", path);
  auto modules = parse_site_table(std::as_bytes(std::span(text)));
  if (!modules.ok()) {
    return Error{modules.error().code, fmt::format("cannot read site table '{}': {}", path, modules.error().message)};
  }
  return modules;
}

}  // namespace deadheat::watch
