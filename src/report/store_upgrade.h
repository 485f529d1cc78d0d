// SPDX-License-Identifier: Apache-2.0
// Races that were stored under fingerprints of older versions, under the present ones. All that the
// user said of them (ignored, resolved, notes) and which runs saw them stay.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace deadheat {

// The document with its present fingerprint; nothing if it has it already or cannot be read.
[[nodiscard]] std::optional<RenewedRace> renewed(const std::string& document);

// Upgrades a store that is open for writing. Errors: those of Store.
Status upgrade(Store& store);
// Upgrades an export, or another store's content.
void upgrade(StoreContent& content);

}  // namespace deadheat
