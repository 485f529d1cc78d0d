// SPDX-License-Identifier: Apache-2.0
// The perf.data container and the PT data in it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "replay/code_space.h"
#include "replay/perf_data.h"
#include "replay/pt_decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto parsed = deadheat::replay::parse_perf_data(bytes, "fuzz");
  if (parsed) {
    for (const auto& block : parsed.value().aux) (void)deadheat::replay::count_packets(block.bytes);
  }
  deadheat::replay::CodeSpace code;
  code.add(0x1000, bytes.subspan(0, size / 2));
  (void)deadheat::replay::decode_pt(bytes.subspan(size / 2), code);
  return 0;
}
