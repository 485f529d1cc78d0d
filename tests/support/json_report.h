// SPDX-License-Identifier: Apache-2.0
// JSON documents in tests: read through JSON pointers, compared as text. One
// source compiles the JSON library for all tests; to include it in each would
// cost more than compiling the rest of them.
#pragma once

#include <string>
#include <vector>

namespace deadheat {

// What the pointer ("/findings/0/kind") leads to, without blanks and with its
// members sorted: "\"write-write\"", "{\"occurrences\":2,\"races\":1}". Empty if the
// document is not JSON or has nothing there.
[[nodiscard]] std::string json_at(const std::string& document, const std::string& pointer);

// Checks a report against docs/report.schema.json; one line per violation, which
// begins with its place: "/findings/0/kind: ...". Stricter than JSON Schema in two
// ways: a member that the schema does not list is a violation, so that no field is
// written without being documented; and so is a keyword that this checker does not
// know, because it would go unchecked.
[[nodiscard]] std::vector<std::string> schema_violations(const std::string& document);
// The same with another schema, named from the root of the sources.
[[nodiscard]] std::vector<std::string> schema_violations(const std::string& document, const std::string& schema_path);

}  // namespace deadheat
