// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

namespace deadheat {

nlohmann::ordered_json parse_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text.data(), text.data() + text.size(), nullptr, false);
}

std::string one_line_of(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string text_of_document(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string text_member(const nlohmann::ordered_json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace deadheat
