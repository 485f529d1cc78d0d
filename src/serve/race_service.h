// SPDX-License-Identifier: Apache-2.0
// RaceService: what `deadheat serve` answers.
//
//   GET  /                      the page; /page.css, /page.js
//   GET  /api/races             all races, without their documents
//   GET  /api/races/FP          one race with its document and history
//   GET  /api/runs              the newest runs
//   GET  /api/events            server-sent events: one whenever the store has changed
//   POST /api/races/FP/state    {"state": "open" | "resolved" | "ignored", "note": "..."}
//
// Nothing is looked up in the file system: a path is one of these or it is not found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/access_policy.h"
#include "serve/http_server.h"
#include "store/records.h"

namespace deadheat {

// Where the races come from: the store, or a table in a test.
class RaceSource {
 public:
  RaceSource() = default;
  RaceSource(const RaceSource&) = delete;
  RaceSource& operator=(const RaceSource&) = delete;
  virtual ~RaceSource() = default;

  [[nodiscard]] virtual std::string place() const = 0;
  virtual Result<std::vector<RaceRow>> races() = 0;
  virtual Result<RaceDetails> race(std::string_view fingerprint) = 0;
  virtual Result<std::vector<RunRow>> runs(std::size_t limit) = 0;
  virtual Result<std::uint64_t> change_count() = 0;
  [[nodiscard]] virtual bool may_write() const = 0;
  virtual Status set_state(std::string_view fingerprint, RaceState state, const std::string& note) = 0;
};

class RaceService : public HttpHandler {
 public:
  RaceService(RaceSource& source, AccessPolicy policy) : source_(source), policy_(std::move(policy)) {}

  HttpResponse handle(const HttpRequest& request) override;
  std::optional<std::string> news() override;

 private:
  HttpResponse get(const HttpRequest& request);
  HttpResponse page(const HttpRequest& request) const;
  HttpResponse races();
  HttpResponse race(std::string_view fingerprint);
  HttpResponse runs();
  HttpResponse change_state(std::string_view fingerprint, const HttpRequest& request);

  RaceSource& source_;
  AccessPolicy policy_;
  std::uint64_t change_count_ = 0;
};

}  // namespace deadheat
