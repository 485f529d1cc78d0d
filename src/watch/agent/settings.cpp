// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/settings.h"

#include "watch/agent/breakpoints.h"
#include "watch/agent/system.h"

namespace deadheat::watch {
namespace {

bool parse_number(const char* text, std::uint64_t& number) {
  if (*text == 0) return false;
  std::uint64_t value = 0;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || value > 1'000'000'000'000) return false;
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  }
  number = value;
  return true;
}

bool parse_method(const char* text, Method& method) {
  if (same_text(text, "clock")) {
    method = Method::kClock;
  } else if (same_text(text, "collide")) {
    method = Method::kCollide;
  } else if (same_text(text, "confirm")) {
    method = Method::kConfirm;
  } else {
    return false;
  }
  return true;
}

struct NamedNumber {
  const char* name;
  std::uint64_t Settings::* number;
};
constexpr NamedNumber kNumbers[] = {
    {"rate", &Settings::rate},
    {"limit_us", &Settings::limit_us},
    {"stall_us", &Settings::stall_us},
    {"stall_share", &Settings::stall_share},
    {"cpu_share", &Settings::cpu_share},
    {"clock_us", &Settings::clock_us},
    {"seed", &Settings::seed},
    {"slots", &Settings::slots},
    {"patch", &Settings::patch},
    {"refuse", &Settings::refuse},
    {"refuse_write", &Settings::refuse_write},
};

bool set(Settings& settings, const char* name, const char* value) {
  if (same_text(name, "method")) return parse_method(value, settings.method);
  for (const NamedNumber& known : kNumbers) {
    if (same_text(name, known.name)) return parse_number(value, settings.*known.number);
  }
  return false;
}

std::uint64_t within(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  return value < least ? least : value > most ? most : value;
}

}  // namespace

Settings parse_settings(const char* text) {
  Settings settings;
  while (text != nullptr && *text != 0) {
    char option[64];
    std::size_t size = 0;
    for (; *text != 0 && *text != ':'; ++text) {
      if (size + 1 < sizeof option) option[size++] = *text;
    }
    if (*text == ':') ++text;
    option[size] = 0;
    std::size_t equals = 0;
    while (option[equals] != 0 && option[equals] != '=') ++equals;
    char name[64];
    copy_text(name, equals + 1, option);
    if (option[equals] == 0 || !set(settings, name, option + equals + 1)) {
      if (size != 0) say("watch: option not understood: ", option);
    }
  }
  settings.rate = within(settings.rate, 1, 1'000'000);
  settings.limit_us = within(settings.limit_us, 1, 60'000'000);
  settings.stall_us = within(settings.stall_us, 1, 1'000'000);
  settings.stall_share = within(settings.stall_share, 0, 1'000'000);
  settings.cpu_share = within(settings.cpu_share, 0, 1'000'000);
  if (settings.clock_us != 0) settings.clock_us = within(settings.clock_us, 100, 60'000'000);
  settings.slots = within(settings.slots, 1, kMostSlots);
  return settings;
}

}  // namespace deadheat::watch
