// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error that says in one sentence what is wrong.
//
// Offline libraries return it for everything that depends on input or on the
// machine; the caller must look at it. The sentence is written for the person
// who reads it after "deadheat: error: ", and names the place (file, byte,
// line, event number) where the problem is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace deadheat {

enum class ErrorCode {
  kIo,           // the operating system refused: open, read, write
  kMalformed,    // the bytes are not what the format says
  kUnsupported,  // well formed, but a version or feature we do not know
  kInvalid,      // well formed, but breaks a rule every trace must satisfy
};

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Error{...};` both read well.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  [[nodiscard]] T& value() & {
    DEADHEAT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    DEADHEAT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    DEADHEAT_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  // Only when not ok().
  [[nodiscard]] const Error& error() const {
    DEADHEAT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// For operations that yield nothing but success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    DEADHEAT_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace deadheat
