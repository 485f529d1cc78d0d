// SPDX-License-Identifier: Apache-2.0
#include "serve/race_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/html_page.h"
#include "report/json_text.h"
#include "report/store_json.h"

namespace deadheat {

namespace {

using Answer = nlohmann::ordered_json;

constexpr std::string_view kRacesPath = "/api/races";
constexpr std::string_view kStateEnding = "/state";
constexpr std::size_t kMostRuns = 2000;
constexpr std::size_t kLongestNote = 2000;

HttpResponse json_response(const Answer& answer) {
  HttpResponse response;
  response.body = one_line_of(answer);
  return response;
}

HttpResponse text_response(std::string_view type, std::string body) {
  HttpResponse response;
  response.type = type;
  response.body = std::move(body);
  return response;
}

HttpResponse failure(const Error& error) {
  return error_response(error.code == ErrorCode::kInvalid ? 404 : 500, error.message);
}

// The whole of it: the page never has less.
bool is_fingerprint(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 16 && std::ranges::all_of(text, is_digit);
}

// Of "/api/races/FP" + ending.
std::optional<std::string_view> fingerprint_in(std::string_view path, std::string_view ending) {
  if (!path.starts_with(kRacesPath) || !path.ends_with(ending)) return std::nullopt;
  path.remove_prefix(kRacesPath.size());
  if (!path.starts_with('/') || path.size() <= ending.size()) return std::nullopt;
  path = path.substr(1, path.size() - 1 - ending.size());
  return is_fingerprint(path) ? std::optional(path) : std::nullopt;
}

HttpResponse not_allowed(std::string_view allowed) {
  HttpResponse response = error_response(405, fmt::format("only {} here", allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace

HttpResponse RaceService::handle(const HttpRequest& request) {
  if (auto refusal = policy_.refuses(request)) return std::move(*refusal);
  if (const auto fingerprint = fingerprint_in(request.path, kStateEnding)) {
    return request.method == "POST" ? change_state(*fingerprint, request) : not_allowed("POST");
  }
  HttpResponse response = get(request);
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  return is_read || response.status == 404 ? response : not_allowed("GET, HEAD");
}

HttpResponse RaceService::get(const HttpRequest& request) {
  const std::string& path = request.path;
  if (request.method != "GET" && request.method != "HEAD") {
    const bool is_known = path == "/" || path == kStylePath || path == kScriptPath || path.starts_with("/api/");
    return error_response(is_known ? 405 : 404, "not found");
  }
  if (path == "/") return page(request);
  if (path == kStylePath) return text_response("text/css; charset=utf-8", std::string(served_style()));
  if (path == kScriptPath) return text_response("text/javascript; charset=utf-8", std::string(served_script()));
  if (path == kRacesPath) return races();
  if (const auto fingerprint = fingerprint_in(path, "")) return race(*fingerprint);
  if (path == "/api/runs") return runs();
  if (path == "/api/events") {
    HttpResponse response = text_response("text/event-stream", "retry: 3000\n\n");
    response.is_stream = true;
    return response;
  }
  return error_response(404, "there is nothing here");
}

HttpResponse RaceService::page(const HttpRequest& request) const {
  HttpResponse response = text_response("text/html; charset=utf-8", served_page());
  if (auto cookie = policy_.cookie_for(request)) response.headers.emplace_back("Set-Cookie", std::move(*cookie));
  return response;
}

HttpResponse RaceService::races() {
  const auto rows = source_.races();
  if (!rows.ok()) return failure(rows.error());
  Answer answer = {{"place", source_.place()}, {"may_write", source_.may_write()}, {"races", Answer::array()}};
  for (const RaceRow& row : rows.value()) answer["races"].push_back(race_row_json(row));
  return json_response(answer);
}

HttpResponse RaceService::race(std::string_view fingerprint) {
  const auto details = source_.race(fingerprint);
  return details.ok() ? json_response(race_details_json(details.value())) : failure(details.error());
}

HttpResponse RaceService::runs() {
  const auto rows = source_.runs(kMostRuns);
  if (!rows.ok()) return failure(rows.error());
  Answer answer = {{"runs", Answer::array()}};
  for (const RunRow& row : rows.value()) answer["runs"].push_back(run_row_json(row));
  return json_response(answer);
}

HttpResponse RaceService::change_state(std::string_view fingerprint, const HttpRequest& request) {
  if (auto refusal = AccessPolicy::refuses_change(request)) return std::move(*refusal);
  if (!source_.may_write()) return error_response(403, "this server only reads: it was started with --read-only");
  const Answer wish = Answer::parse(request.body, nullptr, false);
  if (!wish.is_object() || !wish.contains("state") || !wish.at("state").is_string()) {
    return error_response(400, "say {\"state\": \"open\", \"resolved\" or \"ignored\"}");
  }
  const auto state = state_of(wish.at("state").get<std::string>());
  const Answer note = wish.value("note", Answer(""));
  if (!state || !note.is_string()) return error_response(400, "say {\"state\": \"open\", \"resolved\" or \"ignored\"}");
  if (note.get_ref<const std::string&>().size() > kLongestNote) return error_response(400, "the note is too long");
  const Status status = source_.set_state(fingerprint, *state, note.get<std::string>());
  return status.ok() ? json_response({{"state", word_of(*state)}}) : failure(status.error());
}

std::optional<std::string> RaceService::news() {
  const auto count = source_.change_count();
  if (!count.ok() || count.value() == std::exchange(change_count_, count.value())) return std::nullopt;
  return std::to_string(count.value());
}

}  // namespace deadheat
