// SPDX-License-Identifier: Apache-2.0
#include "report/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "report/describe.h"
#include "report/function_names.h"

namespace deadheat {

namespace {

constexpr std::size_t kPlaceDigits = 7;
constexpr std::size_t kLineDigits = 4;
constexpr std::string_view kNoLines = "0000";

// FNV-1a over the bytes; the final mix spreads the last bytes over all digits.
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 32U)) * 0xd6e8feb86659fd93ULL;
  return hash ^ (hash >> 32U);
}

// Two sides in whatever order. Fields are separated by a byte that names do not contain, so that
// "ab" + "c" and "a" + "bc" differ.
std::string both(std::string one, std::string other) {
  if (other < one) std::swap(one, other);
  return one + "\n\n" + other;
}

// The part of a place that symbols tell.
std::string place_of(const Site& site) {
  if (!site.function.empty()) return short_identity(site.function);
  if (!site.module.empty()) return fmt::format("{}\n{:x}", base_name(site.module), site.offset);
  return std::string(base_name(site.file));
}

// The part that debug information adds; empty: nothing.
std::string line_of(const Site& site) {
  if (site.line == 0) return {};
  if (site.function_line != 0 && site.line >= site.function_line) {
    return fmt::format("{}\n+{}", base_name(site.file), site.line - site.function_line);
  }
  return site.module.empty() ? fmt::format("{}\n{}", base_name(site.file), site.line) : std::string();
}

// Allocates on behalf of its caller: "xmalloc", "make_node", "list_new".
bool is_allocator(const Site& site) {
  std::string name = short_identity(site.function);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return name.find("alloc") != std::string::npos || name.find("strdup") != std::string::npos ||
         name.starts_with("make_") || name.starts_with("new_") || name.starts_with("create_") ||
         name.ends_with("_new") || name.ends_with("_create");
}

using Stack = std::vector<SiteId>;  // innermost first

// The first frame that is the program's own, the innermost if none is.
Stack::const_iterator own_frame(const Stack& stack, const SiteTable& sites) {
  const auto own = std::find_if(stack.begin(), stack.end(), [&](SiteId site) { return is_own_frame(sites[site]); });
  return own == stack.end() ? stack.begin() : own;
}

// The facts that identify a race, as texts.
class Identity {
 public:
  Identity(const Finding& finding, const Dictionary& dictionary) : finding_(finding), dictionary_(dictionary) {
    add_side(finding.earlier);
    add_side(finding.later);
    add_object();
  }

  [[nodiscard]] std::string fingerprint() const {
    const std::uint64_t places = hash_of(both(places_[0], places_[1]));
    const std::uint64_t object = hash_of(object_);
    std::uint64_t lines = 0;
    const bool has_lines = !side_lines_[0].empty() || !side_lines_[1].empty() || !object_lines_.empty();
    if (has_lines) lines = hash_of(both(side_lines_[0], side_lines_[1]) + "\n\n" + object_lines_) >> 48U;
    if (has_lines && lines == 0) lines = 1;
    return fmt::format("{:07x}{:05x}{:04x}", places >> 36U, object >> 44U, lines);
  }

 private:
  // A line is told with its place, so that sides do not change places with each other's lines.
  [[nodiscard]] static std::string line_at(const std::string& place, const Site& site) {
    const std::string line = line_of(site);
    return line.empty() ? line : place + "\n" + line;
  }

  void add_side(const RacingAccess& access) {
    const Stack stack = deadheat::stack_of(access);
    const auto own = own_frame(stack, dictionary_.sites);
    const Site& site = dictionary_.sites[*own];
    const std::string kind(identifier_of(access.kind));
    places_.push_back(kind + "\n" + place_of(site));
    side_lines_.push_back(line_at(places_.back(), site));
    // The nearest other function of the program's own.
    const auto caller = std::find_if(own + 1, stack.end(), [&](SiteId id) {
      const Site& frame = dictionary_.sites[id];
      return !is_library_frame(frame) && place_of(frame) != place_of(site);
    });
    const Site unknown;
    const Site& calling = caller == stack.end() ? unknown : dictionary_.sites[*caller];
    callers_.push_back(places_.back() + "\n" + place_of(calling));
    caller_lines_.push_back(line_at(callers_.back(), calling));
  }

  void add_object() {
    const auto place = name_of(finding_.address, dictionary_);
    if (place && finding_.block.allocated.empty()) {
      object_ = "named\n" + place->name + member_of(finding_.address - place->offset, place->size);
    } else if (!finding_.block.allocated.empty()) {
      const Stack& stack = finding_.block.allocated;
      auto own = own_frame(stack, dictionary_.sites);
      const bool is_container = own != stack.begin();
      while (own + 1 != stack.end() && is_allocator(dictionary_.sites[*own])) ++own;
      const Site& site = dictionary_.sites[*own];
      object_ = "heap\n" + place_of(site);
      if (!is_container) object_ += member_of(finding_.block.begin, finding_.block.size);
      object_lines_ = line_of(site);
    } else {
      object_ = "callers\n" + both(callers_[0], callers_[1]);
      if (!caller_lines_[0].empty() || !caller_lines_[1].empty())
        object_lines_ = both(caller_lines_[0], caller_lines_[1]);
    }
  }

  [[nodiscard]] std::string member_of(Address begin, std::uint64_t size) const {
    if (!has_members(size, finding_.size) || finding_.address < begin) return {};
    return fmt::format("\n{}", finding_.address - begin);
  }

  const Finding& finding_;
  const Dictionary& dictionary_;
  // By side, earlier first.
  std::vector<std::string> places_;
  std::vector<std::string> side_lines_;
  std::vector<std::string> callers_;
  std::vector<std::string> caller_lines_;
  std::string object_;
  std::string object_lines_;
};

}  // namespace

std::string fingerprint_of(const Finding& finding, const Dictionary& dictionary) {
  return Identity(finding, dictionary).fingerprint();
}

std::string fingerprint_of(std::string_view identity) { return fmt::format("{:016x}", hash_of(identity)); }

bool have_same_places(std::string_view one, std::string_view other) {
  return one.substr(0, kPlaceDigits) == other.substr(0, kPlaceDigits);
}

bool KnownFingerprints::contains(const std::string& fingerprint) const {
  if (known_.contains(fingerprint)) return true;
  if (fingerprint.size() <= kLineDigits) return false;
  const std::string front = fingerprint.substr(0, fingerprint.size() - kLineDigits);
  if (known_.contains(front + std::string(kNoLines))) return true;
  const auto next = known_.lower_bound(front);
  return fingerprint.ends_with(kNoLines) && next != known_.end() && next->starts_with(front);
}

}  // namespace deadheat
