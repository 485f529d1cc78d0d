// SPDX-License-Identifier: Apache-2.0
// Values of rows, as the types of records.h. For the store's own sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/sql_connection.h"

namespace deadheat {

template <class Number>
[[nodiscard]] SqlValue sql_value(const std::optional<Number>& value) {
  return value ? SqlValue(*value) : SqlValue();
}

[[nodiscard]] inline std::string text_of(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

[[nodiscard]] inline std::optional<std::int64_t> integer_of(const SqlValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

[[nodiscard]] inline std::uint64_t count_of(const SqlValue& value) {
  return static_cast<std::uint64_t>(integer_of(value).value_or(0));
}

[[nodiscard]] inline std::optional<double> fraction_of(const SqlValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto number = integer_of(value)) return static_cast<double>(*number);
  return std::nullopt;
}

}  // namespace deadheat
