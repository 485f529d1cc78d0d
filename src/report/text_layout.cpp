// SPDX-License-Identifier: Apache-2.0
#include "report/text_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/raw.h"
#include "report/describe.h"

namespace deadheat {

namespace {

// Wide enough for "earlier"; the details stand to the right of it.
constexpr std::size_t kLabelWidth = 10;
// Places line up after the functions, unless a name is longer than this.
constexpr std::size_t kFunctionWidth = 44;

std::string_view escape_of(Paint paint) {
  switch (paint) {
    case Paint::kBad:
      return "\x1b[1;31m";
    case Paint::kLabel:
      return "\x1b[36m";
    case Paint::kFunction:
      return "\x1b[1m";
    case Paint::kGood:
      return "\x1b[1;32m";
  }
  return "";
}

// " (since deposit bank.cpp:40)".
std::string describe_acquisition(std::span<const SiteId> acquired, const Dictionary& dictionary) {
  if (acquired.empty()) return {};
  const Site& site = dictionary.sites[acquired.front()];
  const std::string place = describe_place(site);
  return fmt::format(" (since {}{}{})", describe_function(site), place.empty() ? "" : " ", place);
}

// A frame of the way from a new thread to the function that it was given.
bool starts_a_thread(const Site& site) {
  constexpr std::string_view kPlumbing[] = {
      "std::__invoke",      "std::thread::_Invoker",      "std::thread::_State_impl",
      "std::__1::__invoke", "std::__1::__thread_execute", "std::__1::__thread_proxy"};
  return std::ranges::any_of(kPlumbing,
                             [&](std::string_view part) { return site.function.find(part) != std::string::npos; });
}

// How many of the outermost frames only start the thread; those of the library that calls them included, the
// innermost frame never.
std::size_t count_starting_frames(std::span<const SiteId> stack, const SiteTable& sites) {
  std::size_t library = 0;
  while (library < stack.size() &&
         sites[stack[stack.size() - 1 - library]].module.find("libstdc++") != std::string::npos)
    ++library;
  std::size_t count = library;
  while (count < stack.size() && starts_a_thread(sites[stack[stack.size() - 1 - count]])) ++count;
  return count == library ? 0 : std::min(count, stack.size() - 1);
}

}  // namespace

std::string painted(std::string_view text, Paint paint, ColourMode colour) {
  if (colour == ColourMode::kPlain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_of(paint), text);
}

void add_line(std::string& out, std::string_view label, std::string_view text, ColourMode colour) {
  // Padding outside of the colour, or the escapes would count as width.
  out.append(kLabelWidth - std::min(label.size(), kLabelWidth), ' ');
  out += painted(label, Paint::kLabel, colour);
  out += "  ";
  out += text;
  out += '\n';
}

void add_stack(std::string& out, std::span<const SiteId> stack, const Dictionary& dictionary, ColourMode colour) {
  const std::size_t starting = count_starting_frames(stack, dictionary.sites);
  // One frame is as short as what would be said instead.
  if (starting > 1) stack = stack.first(stack.size() - starting);
  std::size_t width = 0;
  for (const SiteId site : stack) width = std::max(width, describe_function(dictionary.sites[site]).size());
  width = std::min(width, kFunctionWidth);
  for (const SiteId site : stack) {
    const std::string function = describe_function(dictionary.sites[site]);
    const std::string place = describe_position(dictionary.sites[site]);
    std::string line = painted(function, Paint::kFunction, colour);
    if (!place.empty()) {
      line.append(width > function.size() ? width - function.size() : 0, ' ');
      line += "  " + place;
    }
    add_line(out, "", line, colour);
  }
  if (starting > 1) add_line(out, "", fmt::format("({} of std::thread)", counted(starting, "frame")), colour);
}

void add_access(std::string& out, std::string_view label, const RacingAccess& access,
                std::span<const std::vector<SiteId>> acquired, const Dictionary& dictionary, ColourMode colour) {
  std::string line = fmt::format("{} by {}", describe_access(access), describe_thread(access.thread, dictionary));
  // Clocks begin with 1. A watched program has none, and nobody follows its locks.
  const bool has_clock = access.clock != 0;
  if (has_clock) line += fmt::format(", epoch {}@{}", access.clock, raw(access.thread));
  add_line(out, label, line, colour);
  add_stack(out, stack_of(access), dictionary, colour);
  if (includes(access.traits, AccessTraits::kCallersUnknown)) add_line(out, "", "callers not known", colour);
  if (!has_clock) return;
  if (includes(access.traits, AccessTraits::kLocksUnknown)) {
    // Of a recording that is so for all, and said once.
    if (includes(access.traits, AccessTraits::kSampled | AccessTraits::kRebuilt)) return;
    add_line(out, "", "which locks it held is not known any more", colour);
    return;
  }
  std::string locks;
  for (std::size_t index = 0; index < access.locks.size(); ++index) {
    if (index != 0) locks += ", ";
    locks += describe_lock(access.locks[index], dictionary);
    if (index < acquired.size()) locks += describe_acquisition(acquired[index], dictionary);
  }
  add_line(out, "", "holds " + (locks.empty() ? "no lock" : locks), colour);
}

}  // namespace deadheat
