// SPDX-License-Identifier: Apache-2.0
// The tables, and how those of earlier versions become those of today.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/sql_connection.h"

namespace deadheat {

inline constexpr std::int64_t kSchemaVersion = 3;

// Before reading: whether there are any. Errors: kIo, in the database's words.
Status check_is_store(SqlConnection& connection);

// Before reading: whether this version knows them. Those of older versions stay as they are. Errors: kIo,
// kUnsupported.
Status check_is_readable(SqlConnection& connection);

// Makes the tables, or changes them, step by step, up to `version`; several processes may do it
// at once. Errors: kIo; kUnsupported when they are newer than that.
Status bring_up_to_date(SqlConnection& connection, std::int64_t version = kSchemaVersion);

}  // namespace deadheat
