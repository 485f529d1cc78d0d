// SPDX-License-Identifier: Apache-2.0
// --memory-limit: bounds the shadow by forgetting.
//
// Every few megabytes of allocation the resident size of the process is looked
// at. Beyond the limit the whole history of accesses is dropped: races whose
// first access lies before that moment are missed from then on. Each time is
// counted and said in the summary.
#pragma once

#include <cstddef>

namespace deadheat::runtime {

void count_allocation(std::size_t size);

}  // namespace deadheat::runtime
