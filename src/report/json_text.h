// SPDX-License-Identifier: Apache-2.0
// JSON documents from and to text. Include this instead of the library's header: parsing and writing take long to
// compile, and are compiled once, in json_text.cpp. All documents keep the order of their members; another kind of
// document would have to be compiled as well.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace deadheat {

// A value that is_discarded() when the text is not JSON.
[[nodiscard]] nlohmann::ordered_json parse_json(std::string_view text);

// Bytes that are not UTF-8 are replaced in both.
[[nodiscard]] std::string one_line_of(const nlohmann::ordered_json& document);
// Indented, ends with a newline.
[[nodiscard]] std::string text_of_document(const nlohmann::ordered_json& document);

// A member that is a text; empty when there is none.
[[nodiscard]] std::string text_member(const nlohmann::ordered_json& object, const char* name);

template <class Value>
[[nodiscard]] nlohmann::ordered_json value_or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace deadheat
