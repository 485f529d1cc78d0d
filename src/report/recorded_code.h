// SPDX-License-Identifier: Apache-2.0
// RecordedCode: the files whose code a recorded program ran, and what must be known of each:
// where its addresses are, whether its accesses are compared, which of its code is atomic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "image/atomic_code.h"
#include "model/dictionary.h"
#include "model/finding.h"
#include "report/sampled_stack.h"
#include "report/symbolizer.h"
#include "trace/recording.h"

namespace deadheat {

// How an access came to be known; sites are kept apart by it.
enum class AccessOrigin : std::uint8_t { kSampled, kRebuilt };

class RecordedCode {
 public:
  // Reads each file once. Files that are gone or have changed are the replay's to name.
  RecordedCode(const Recording& recording, std::shared_ptr<Symbolizer> symbolizer);

  // The mappings that may be replayed. Our agent is not among them, so no replay goes over a call
  // that was logged; nor are the C and C++ libraries, whose own synchronisation is not logged.
  [[nodiscard]] std::vector<CodeMapping> replayed() const;

  // Of an access: whether it may be compared with others at all.
  [[nodiscard]] bool is_compared(std::uint64_t code) const;
  [[nodiscard]] bool is_atomic(std::uint64_t code) const;
  // In a library that is not replayed, such as our agent.
  [[nodiscard]] bool is_library(std::uint64_t code) const;

  // Why threads of the program may be ordered by what no log shows; empty: nothing does.
  [[nodiscard]] const std::vector<std::string>& unlogged_order() const { return unlogged_; }

  // Sites are found as they are asked for; a dictionary has their words.
  [[nodiscard]] SiteId site_of(std::uint64_t code, AccessOrigin origin);
  // The functions that the compiler put into each other there, innermost first; never empty.
  [[nodiscard]] std::vector<SiteId> frames_of(std::uint64_t code);
  // Of a site that site_of() gave; 0: unknown.
  [[nodiscard]] std::uint64_t code_of(SiteId site) const;
  // For their unwind tables.
  [[nodiscard]] std::vector<UnwoundFile> files() const;
  [[nodiscard]] AccessTraits traits_of(SiteId site) const;
  [[nodiscard]] const Dictionary& dictionary() const { return dictionary_; }
  [[nodiscard]] Dictionary& dictionary() { return dictionary_; }
  // The variable at an address, if it is one of a file.
  [[nodiscard]] std::optional<NamedRange> global_at(Address address, Address& begin);

 private:
  struct Module {
    CodeMapping mapping;
    std::uint64_t bias = 0;
    bool is_library = false;
    std::vector<AddressRange> atomic;  // as the file says them
    std::vector<std::uint64_t> atomic_instructions;
  };

  [[nodiscard]] const Module* module_at(std::uint64_t code) const;
  SiteId add_site(std::uint64_t code);

  std::map<std::uint64_t, Module> modules_;  // by first address
  std::vector<std::string> unlogged_;
  std::shared_ptr<Symbolizer> symbolizer_;
  Dictionary dictionary_;
  std::map<std::pair<std::uint64_t, AccessOrigin>, SiteId> sites_;
  std::map<std::uint64_t, std::vector<SiteId>> frames_;
  std::map<SiteId, std::pair<std::uint64_t, AccessOrigin>> known_;  // of sites_, the other way round
};

}  // namespace deadheat
