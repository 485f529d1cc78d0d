// SPDX-License-Identifier: Apache-2.0
// The address of a store: a path, or how to reach a PostgreSQL server, which may have a password in it.
//
// The password goes to the server and nowhere else: no report, no message and no page has it. So whoever
// shows an address shows public_address(), and what the server's library says goes through
// without_secrets(), because it quotes what it could not read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace deadheat {

// "postgresql://...", "postgres://...", or libpq's words: "host=db.example dbname=races user=ci".
[[nodiscard]] bool is_postgres_url(std::string_view place);

// To be shown: without passwords. A path as it is; a server's address that is too odd to be taken apart
// is "postgresql://...".
[[nodiscard]] std::string public_address(std::string_view place);

// The text with every password of the address taken out.
[[nodiscard]] std::string without_secrets(std::string text, std::string_view place);

// Whether the library will read the address as it was meant. kInvalid: a password with '@', '/' or '?' as they are,
// part of which would be taken for the name of the server, and told to everybody.
[[nodiscard]] Status check_address(std::string_view place);

}  // namespace deadheat
