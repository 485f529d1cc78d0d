// SPDX-License-Identifier: Apache-2.0
#include "watch/find_sites.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "image/atomic_code.h"
#include "image/atomic_data.h"
#include "image/atomic_source.h"
#include "watch/decode_site.h"
#include "watch/site_address.h"

namespace deadheat::watch {
namespace {

// A stretch of a section, to be decoded from its beginning.
struct Piece {
  PlacedBytes code;
  bool is_function = false;
};

std::uint64_t end_of(const PlacedBytes& code) { return code.address + code.bytes.size(); }

PlacedBytes part_of(const PlacedBytes& code, std::uint64_t begin, std::uint64_t end) {
  return {begin, code.bytes.subspan(begin - code.address, end - begin)};
}

// The functions in a section, and what lies between them.
std::vector<Piece> split(const PlacedBytes& section, const std::vector<AddressRange>& functions) {
  std::vector<Piece> pieces;
  std::uint64_t done = section.address;
  auto next = std::upper_bound(functions.begin(), functions.end(), section.address,
                               [](std::uint64_t address, const AddressRange& range) { return address < range.end; });
  for (; next != functions.end() && next->begin < end_of(section); ++next) {
    const std::uint64_t begin = std::max(next->begin, done);
    const std::uint64_t end = std::min(next->end, end_of(section));
    if (begin > done) pieces.push_back({part_of(section, done, begin), false});
    pieces.push_back({part_of(section, begin, end), true});
    done = end;
  }
  if (done < end_of(section)) pieces.push_back({part_of(section, done, end_of(section)), false});
  return pieces;
}

std::uint64_t bytes_between_functions(const std::vector<Piece>& pieces) {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.is_function ? 0 : piece.code.bytes.size();
  return sum;
}

class Sweep {
 public:
  explicit Sweep(const ElfImage& image) : image_(image), functions_(image.functions()) {
    found_.module.file_size = image.file_size();
  }

  FoundSites run() && {
    for (const PlacedBytes& section : image_.code()) sweep_section(section);
    // Sections that overlap are damage; the agent wants one site per place.
    auto& sites = found_.module.sites;
    std::sort(sites.begin(), sites.end(), [](const Site& one, const Site& other) { return one.offset < other.offset; });
    sites.erase(std::unique(sites.begin(), sites.end(),
                            [](const Site& one, const Site& other) { return one.offset == other.offset; }),
                sites.end());
    return std::move(found_);
  }

 private:
  void sweep_section(const PlacedBytes& section) {
    found_.counts.code_bytes += section.bytes.size();
    if (section.address + section.bytes.size() < section.address) return;  // damage
    const std::vector<Piece> pieces = split(section, functions_);
    const std::uint64_t between = bytes_between_functions(pieces);
    const bool is_well_named = between <= section.bytes.size() / 2;
    if (is_well_named) found_.counts.unnamed_bytes += between;
    for (const Piece& piece : pieces) {
      if (piece.is_function || !is_well_named) sweep_piece(piece);
    }
  }

  void sweep_piece(const Piece& piece) {
    const std::size_t sites_before = found_.module.sites.size();
    const std::uint64_t skipped_before = found_.counts.undecodable_bytes;
    for (std::size_t at = 0; at < piece.code.bytes.size();) {
      const auto instruction = decode_instruction(piece.code.bytes.subspan(at));
      if (!instruction) {
        ++found_.counts.undecodable_bytes;
        ++at;
        continue;
      }
      ++found_.counts.instructions;
      if (instruction->site) add(*instruction->site, piece.code.address + at);
      at += instruction->length;
    }
    if (!piece.is_function || found_.counts.undecodable_bytes == skipped_before) return;
    ++found_.counts.distrusted_functions;
    found_.module.sites.resize(sites_before);
  }

  void add(Site site, std::uint64_t address) {
    const bool is_known_address =
        site.index == kNoRegister && (site.base == kNoRegister || site.base == kInstructionPointer);
    if (is_known_address) {
      auto target = static_cast<std::uint64_t>(std::int64_t{site.displacement});
      if (site.base == kInstructionPointer) target += address + site.length;
      if (!image_.is_writable(target)) {
        ++found_.counts.constants;
        return;
      }
    }
    const std::uint64_t offset = address - image_.lowest_address();
    if (offset > std::numeric_limits<std::uint32_t>::max()) return;
    site.offset = static_cast<std::uint32_t>(offset);
    found_.module.sites.push_back(site);
  }

  const ElfImage& image_;
  std::vector<AddressRange> functions_;
  FoundSites found_;
};

void mark_atomic(std::vector<Site>& sites, std::uint64_t lowest, const std::vector<AddressRange>& code) {
  auto range = code.begin();
  for (Site& site : sites) {
    const std::uint64_t address = lowest + site.offset;
    while (range != code.end() && range->end <= address) ++range;
    if (range != code.end() && range->begin <= address) site.flags |= kAtomicSite;
  }
}

void mark_atomic(std::vector<Site>& sites, std::uint64_t lowest, const std::vector<std::uint64_t>& instructions) {
  for (Site& site : sites) {
    if (std::binary_search(instructions.begin(), instructions.end(), lowest + site.offset)) site.flags |= kAtomicSite;
  }
}

// Those that access a variable by its address which is atomic by its type.
void mark_atomic_targets(std::vector<Site>& sites, std::uint64_t lowest, const std::vector<AddressRange>& data) {
  for (Site& site : sites) {
    if (site.base != kInstructionPointer || site.index != kNoRegister) continue;
    const Registers registers{.instruction_pointer = lowest + site.offset};
    if (is_in_ranges(data, address_of(site, registers))) site.flags |= kAtomicSite;
  }
}

// Where nobody says what the source is: a variable that some instruction accesses with a lock prefix, by its address,
// is an atomic one, and its plain loads and stores are atomic operations as well.
void mark_targets_of_atomic(std::vector<Site>& sites, std::uint64_t lowest, const std::vector<AddressRange>& known) {
  std::vector<AddressRange> targets;
  for (const Site& site : sites) {
    const bool is_variable = site.base == kInstructionPointer && site.index == kNoRegister;
    const std::uint64_t at = lowest + site.offset;
    if (!is_variable || (site.flags & kAtomicSite) == 0) continue;
    const std::uint64_t target = address_of(site, {.instruction_pointer = at});
    targets.push_back({target, target + site.size});
  }
  targets = merge_ranges(std::move(targets));
  for (Site& site : sites) {
    const std::uint64_t at = lowest + site.offset;
    if (site.base != kInstructionPointer || site.index != kNoRegister || is_in_ranges(known, at)) continue;
    if (is_in_ranges(targets, address_of(site, {.instruction_pointer = at}))) site.flags |= kAtomicSite;
  }
}

}  // namespace

FoundSites find_sites_in(const ElfImage& image) {
  FoundSites found = Sweep(image).run();
  mark_atomic(found.module.sites, image.lowest_address(), atomic_instructions_by_metadata(image));
  return found;
}

Result<FoundSites> find_sites(const std::string& path) {
  const auto image = ElfImage::open(path);
  if (!image.ok()) return image.error();
  FoundSites found = find_sites_in(image.value());
  mark_atomic(found.module.sites, image.value().lowest_address(), atomic_code_by_debug_information(path));
  mark_atomic_targets(found.module.sites, image.value().lowest_address(), atomic_data_by_debug_information(path));
  const AtomicSource source = atomic_code_by_source(path);
  mark_atomic(found.module.sites, image.value().lowest_address(), source.atomic);
  mark_targets_of_atomic(found.module.sites, image.value().lowest_address(), source.read);
  // Links of /proc lead into the views of other processes, and their texts do not.
  found.module.path = path;
  if (path.starts_with("/proc/")) return found;
  std::error_code error;
  found.module.path = std::filesystem::canonical(path, error).string();
  if (error) return Error{ErrorCode::kIo, "cannot read '" + path + "': " + error.message()};
  return found;
}

}  // namespace deadheat::watch
