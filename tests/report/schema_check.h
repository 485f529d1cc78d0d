// SPDX-License-Identifier: Apache-2.0
// Checks a JSON document against the part of JSON Schema that
// docs/report.schema.json uses. Stricter than JSON Schema in two ways: a member
// that the schema does not list is a violation, so that no field is written
// without being documented; and so is a keyword that this checker does not know,
// because it would go unchecked.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

namespace deadheat {

class SchemaCheck {
 public:
  explicit SchemaCheck(nlohmann::json schema) : root_(std::move(schema)) {}

  // One line per violation; each names its place: "/findings/0/kind: ...".
  std::vector<std::string> violations(const nlohmann::json& document) {
    violations_.clear();
    check(document, root_, "");
    return violations_;
  }

 private:
  using Json = nlohmann::json;

  void complain(const std::string& place, const std::string& what) { violations_.push_back(place + ": " + what); }

  void check(const Json& value, const Json& schema, const std::string& place) {
    for (const auto& [keyword, rule] : schema.items()) check_keyword(value, schema, keyword, rule, place);
  }

  void check_keyword(const Json& value, const Json& schema, const std::string& keyword, const Json& rule,
                     const std::string& place) {
    if (keyword == "$ref") {
      check(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), place);
    } else if (keyword == "type") {
      if (!has_type(value, rule)) complain(place, "is not " + rule.dump());
    } else if (keyword == "const") {
      if (value != rule) complain(place, "is not " + rule.dump());
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) complain(place, "is not in " + rule.dump());
    } else if (keyword == "pattern") {
      if (!std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))) {
        complain(place, value.dump() + " does not match " + rule.dump());
      }
    } else if (keyword == "minimum") {
      if (value < rule) complain(place, "is below " + rule.dump());
    } else if (keyword == "minItems") {
      if (value.size() < rule.get<std::size_t>()) complain(place, "has too few items");
    } else if (keyword == "items") {
      for (std::size_t i = 0; i < value.size(); ++i) check(value[i], rule, place + "/" + std::to_string(i));
    } else if (keyword == "required") {
      for (const auto& name : rule) {
        if (value.is_object() && !value.contains(name)) complain(place, "lacks " + name.dump());
      }
    } else if (keyword == "properties") {
      if (value.is_object()) check_members(value, schema, place);
    } else if (keyword == "additionalProperties") {
      for (const auto& [name, member] : value.items()) check(member, rule, place + "/" + name);
    } else if (keyword != "description" && keyword != "title" && keyword != "$schema" && keyword != "$defs") {
      complain(place, "the schema has a keyword that this checker does not know: " + keyword);
    }
  }

  void check_members(const Json& value, const Json& schema, const std::string& place) {
    const Json& properties = schema.at("properties");
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name)) {
        check(member, properties.at(name), place + "/" + name);
      } else {
        complain(place, "has an undocumented member " + name);
      }
    }
  }

  static bool has_type(const Json& value, const Json& rule) {
    if (rule.is_array()) {
      return std::any_of(rule.begin(), rule.end(), [&](const Json& one) { return has_type(value, one); });
    }
    const auto name = rule.get<std::string>();
    return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
           (name == "string" && value.is_string()) || (name == "boolean" && value.is_boolean()) ||
           (name == "null" && value.is_null()) || (name == "integer" && value.is_number_integer());
  }

  Json root_;
  std::vector<std::string> violations_;
};

}  // namespace deadheat
