// SPDX-License-Identifier: Apache-2.0
// AccessRecord: one access as the histories keep it, in 16 bytes: its epoch (who
// and when), its site, and what a report will want to know of it (situation,
// size, whether it was a free).
#pragma once

#include <cstdint>

#include "core/epoch.h"
#include "core/situation.h"
#include "model/identity.h"

namespace deadheat {

enum class WriteFlavour : std::uint8_t { kStore, kFree };

class AccessRecord {
 public:
  constexpr AccessRecord() = default;
  constexpr AccessRecord(Epoch epoch, SiteId site, SituationId situation, std::uint64_t size, WriteFlavour flavour)
      : epoch_(epoch), site_(site), origin_((raw(situation) << 6U) | (size_code(size) << 1U) | raw(flavour)) {}

  [[nodiscard]] constexpr Epoch epoch() const { return epoch_; }
  [[nodiscard]] constexpr SiteId site() const { return site_; }
  [[nodiscard]] constexpr SituationId situation() const { return SituationId{origin_ >> 6U}; }
  [[nodiscard]] constexpr WriteFlavour flavour() const { return WriteFlavour{static_cast<std::uint8_t>(origin_ & 1U)}; }
  // 0 for sizes that five bits cannot tell: over 16 and not 32 or 64.
  [[nodiscard]] constexpr std::uint64_t size() const {
    const std::uint32_t code = (origin_ >> 1U) & 31U;
    return code <= 16 ? code : (code == 17 ? 32 : 64);
  }

  friend constexpr bool operator==(const AccessRecord&, const AccessRecord&) = default;

 private:
  static constexpr std::uint32_t size_code(std::uint64_t size) {
    if (size <= 16) return static_cast<std::uint32_t>(size);
    if (size == 32) return 17;
    return size == 64 ? 18 : 0;
  }

  Epoch epoch_;
  SiteId site_ = SiteId::kUnknown;
  std::uint32_t origin_ = 0;  // situation:26 size:5 free:1
};
static_assert(sizeof(AccessRecord) == 16);

}  // namespace deadheat
