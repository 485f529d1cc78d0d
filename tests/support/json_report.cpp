// SPDX-License-Identifier: Apache-2.0
#include "support/json_report.h"

#include <regex.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace deadheat {

namespace {

using Json = nlohmann::json;

// Without exceptions: what cannot be parsed is "discarded".
Json parse_json(const std::string& text) { return Json::parse(text, nullptr, false); }

// By the C library: std::regex takes seconds to compile.
bool matches(const std::string& text, const std::string& pattern) {
  regex_t expression;
  if (regcomp(&expression, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&expression, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&expression);
  return found;
}

class SchemaCheck {
 public:
  explicit SchemaCheck(Json schema) : root_(std::move(schema)) {}

  std::vector<std::string> violations(const Json& document) {
    violations_.clear();
    check(document, root_, "");
    return violations_;
  }

 private:
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
      if (!matches(value.get<std::string>(), rule.get<std::string>())) {
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
           (name == "null" && value.is_null()) || (name == "integer" && value.is_number_integer()) ||
           (name == "number" && value.is_number());
  }

  Json root_;
  std::vector<std::string> violations_;
};

}  // namespace

std::string json_at(const std::string& document, const std::string& pointer) {
  const Json root = parse_json(document);
  const Json::json_pointer place(pointer);
  return !root.is_discarded() && root.contains(place) ? root.at(place).dump() : std::string();
}

std::vector<std::string> schema_violations(const std::string& document) {
  return schema_violations(document, "docs/report.schema.json");
}

std::vector<std::string> schema_violations(const std::string& document, const std::string& schema_path) {
  const Json schema = Json::parse(std::ifstream(DEADHEAT_SOURCE_DIR "/" + schema_path));
  const Json parsed = parse_json(document);
  if (parsed.is_discarded()) return {": is not JSON"};
  return SchemaCheck(schema).violations(parsed);
}

}  // namespace deadheat
