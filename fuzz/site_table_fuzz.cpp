// SPDX-License-Identifier: Apache-2.0
// Any bytes as a site table, and as the code that site tables are made of. A table that is
// accepted must be written again as it was, and every address in it can be computed. Code
// must give a table that is accepted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "watch/decode_site.h"
#include "watch/find_sites.h"
#include "watch/site_address.h"
#include "watch/site_file.h"

using namespace deadheat;
using namespace deadheat::watch;

namespace {

void read_table(std::span<const std::byte> bytes) {
  const auto modules = parse_site_table(bytes);
  if (!modules.ok()) {
    DEADHEAT_CHECK(!modules.error().message.empty());
    return;
  }
  const auto again = format_site_table(modules.value());
  DEADHEAT_CHECK(again.ok() && again.value().size() == bytes.size());
  const auto reread = parse_site_table(again.value());
  DEADHEAT_CHECK(reread.ok() && reread.value().size() == modules.value().size());
  for (const ModuleSites& module : modules.value()) {
    for (const Site& site : module.sites) (void)address_of(site, Registers{});
  }
}

void write_table(std::vector<ModuleSites> modules) {
  modules.front().path = "/program";
  const auto table = format_site_table(modules);
  DEADHEAT_CHECK(table.ok() && parse_site_table(table.value()).ok());
}

void decode(std::span<const std::byte> code) {
  ModuleSites module;
  for (std::size_t at = 0; at < code.size();) {
    const auto instruction = decode_instruction(code.subspan(at));
    if (instruction && instruction->site) {
      module.sites.push_back(*instruction->site);
      module.sites.back().offset = static_cast<std::uint32_t>(at);
    }
    at += instruction ? instruction->length : 1;
  }
  write_table({module});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_table(bytes);
  decode(bytes);
  if (const auto image = ElfImage::parse(bytes, "input"); image.ok()) {
    (void)image.value().needs();
    write_table({find_sites_in(image.value()).module});
  }
  return 0;
}
