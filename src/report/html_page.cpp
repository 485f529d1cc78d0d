// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdint>
#include <random>

#include "report/json_text.h"

namespace deadheat {

// Made by embed_files().
extern const std::string_view kPageTemplate;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

namespace {

struct PageParts {
  std::string policy;
  std::string style;
  std::string data;
  std::string script;
};

void replace_mark(std::string& page, std::string_view mark, std::string_view part) {
  const std::size_t at = page.find(mark);
  DEADHEAT_CHECK(at != std::string::npos);
  page.replace(at, mark.size(), part);
}

// From the last mark to the first, so that no part is searched for marks.
std::string assembled(const PageParts& parts) {
  std::string page(kPageTemplate);
  replace_mark(page, "<!--SCRIPT-->", parts.script);
  replace_mark(page, "<!--DATA-->", parts.data);
  replace_mark(page, "<!--STYLE-->", parts.style);
  replace_mark(page, "<!--POLICY-->", parts.policy);
  return page;
}

// Nobody who wrote a name into the report can have known it.
std::string random_word() {
  std::array<std::uint32_t, 4> words{};
  if (getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    std::random_device device;
    for (std::uint32_t& word : words) word = device();
  }
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", words[0], words[1], words[2], words[3]);
}

// These three occur in strings only.
std::string inert(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::string> format_html_page(std::string_view report) {
  const nlohmann::ordered_json document = parse_json(report);
  if (document.is_discarded()) return Error{ErrorCode::kMalformed, "the report is no JSON document"};
  if (!document.is_object() || !document.contains("findings") || !document.at("findings").is_array()) {
    return Error{ErrorCode::kInvalid, "the JSON document is no report: it has no list \"findings\""};
  }
  const std::string nonce = random_word();
  PageParts parts;
  parts.policy = fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{0}'; style-src "
      "'nonce-{0}'; img-src data:; base-uri 'none'; form-action 'none'\">",
      nonce);
  parts.style = fmt::format("<style nonce=\"{}\">\n{}</style>", nonce, kPageStyle);
  parts.data = fmt::format("<script type=\"application/json\" id=\"report\">{}</script>", inert(one_line_of(document)));
  parts.script = fmt::format("<script nonce=\"{}\">\n{}</script>", nonce, kPageScript);
  return assembled(parts);
}

std::string served_page() {
  PageParts parts;  // the policy is a header of the answer
  parts.style = fmt::format("<link rel=\"stylesheet\" href=\"{}\">", kStylePath);
  parts.script = fmt::format("<script src=\"{}\"></script>", kScriptPath);
  return assembled(parts);
}

std::string_view served_style() { return kPageStyle; }
std::string_view served_script() { return kPageScript; }

}  // namespace deadheat
