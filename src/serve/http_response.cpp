// SPDX-License-Identifier: Apache-2.0
#include "serve/http_response.h"

#include <fmt/format.h>

#include "report/json_text.h"

namespace deadheat {

namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

constexpr std::string_view kProtection =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

}  // namespace

std::string wire_format(const HttpResponse& response, AfterResponse after, WithBody body) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status, reason_of(response.status), response.type);
  if (!response.is_stream) out += fmt::format("Content-Length: {}\r\n", response.body.size());
  const bool closes = after == AfterResponse::kClose || response.is_stream;
  out += closes ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
  out += kProtection;
  for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
  out += "\r\n";
  if (body == WithBody::kYes) out += response.body;
  return out;
}

HttpResponse error_response(int status, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = one_line_of({{"error", message}});
  return response;
}

}  // namespace deadheat
