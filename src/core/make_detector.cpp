// SPDX-License-Identifier: Apache-2.0
#include "core/detector.h"
#include "core/detector_engine.h"
#include "core/djit.h"
#include "core/fasttrack.h"
#include "core/literace.h"
#include "core/pacer.h"
#include "core/reference_detector.h"
#include "core/slim_state.h"

namespace deadheat {

std::unique_ptr<Detector> make_detector(DetectorKind kind, const DetectorOptions& options) {
  switch (kind) {
    case DetectorKind::kFastTrack:
      return std::make_unique<DetectorEngine<FastTrack>>(options);
    case DetectorKind::kSlimState:
      return std::make_unique<DetectorEngine<SlimCells, SlimShadow<SlimCells>>>(options);
    case DetectorKind::kDjit:
      return std::make_unique<DetectorEngine<Djit>>(options);
    case DetectorKind::kReference:
      return std::make_unique<ReferenceDetector>(options);
    case DetectorKind::kPacer:
      return std::make_unique<DetectorEngine<FastTrack, ByteShadow<FastTrack>, PacerSampling>>(options);
    case DetectorKind::kLiteRace:
      return std::make_unique<LiteRace>(std::make_unique<DetectorEngine<FastTrack>>(options));
  }
  DEADHEAT_CHECK(false);
}

}  // namespace deadheat
