// SPDX-License-Identifier: Apache-2.0
// Described functions: streams, as far as they touch memory of the caller's. (described.h)
// Their work on the stream itself happens under its lock.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cwchar>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kWide = sizeof(wchar_t);

// fread(buffer, size, count, stream) and the form with the buffer's room as second parameter.
void reads_items(const DescribedCall& call) {
  on_write(call.pointer<const void>(1), call.result * call.value(2), call.code);
}
void reads_checked_items(const DescribedCall& call) {
  on_write(call.pointer<const void>(1), call.result * call.value(3), call.code);
}
void writes_items(const DescribedCall& call) {
  on_read(call.pointer<const void>(1), call.value(2) * call.value(3), call.code);
}
// open_memstream(buffer, size): both are filled when the stream is flushed or closed.
void opens(const DescribedCall& call) {
  on_write(call.pointer<const void>(1), sizeof(void*), call.code);
  on_write(call.pointer<const void>(2), sizeof(std::size_t), call.code);
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_DESCRIBE(_IO_fread, kNotNull, after(reads_items))
DEADHEAT_DESCRIBE(_IO_sgetn, kNotNull, writes_result(2))
DEADHEAT_DESCRIBE(_IO_fwrite, kAlways, before(writes_items))
DEADHEAT_DESCRIBE(_IO_fgets, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(_IO_gets, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(_IO_fputs, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(_IO_puts, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(_IO_fgetpos, kZero, writes(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(_IO_fgetpos64, kZero, writes(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(_IO_fsetpos, kAlways, reads(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(_IO_fsetpos64, kAlways, reads(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(__fread_unlocked_chk, kNotNull, after(reads_checked_items))
DEADHEAT_DESCRIBE(__fgets_unlocked_chk, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(gets, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(__gets_chk, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(fgetws, kNotNull, writes_wide(1))
DEADHEAT_DESCRIBE(fgetws_unlocked, kNotNull, writes_wide(1))
DEADHEAT_DESCRIBE(__fgetws_chk, kNotNull, writes_wide(1))
DEADHEAT_DESCRIBE(__fgetws_unlocked_chk, kNotNull, writes_wide(1))
DEADHEAT_DESCRIBE(fputws, kAlways, reads_wide(1))
DEADHEAT_DESCRIBE(fputws_unlocked, kAlways, reads_wide(1))
DEADHEAT_DESCRIBE(fgetpos, kZero, writes(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(fgetpos64, kZero, writes(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(fsetpos, kAlways, reads(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(fsetpos64, kAlways, reads(2, sizeof(fpos_t)))
DEADHEAT_DESCRIBE(fopen, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(fopen64, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(_IO_fopen, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(fdopen, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(_IO_fdopen, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(freopen, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(freopen64, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(fmemopen, kAlways, reads_text(3))
DEADHEAT_DESCRIBE(open_memstream, kNotNull, after(opens))
DEADHEAT_DESCRIBE(open_wmemstream, kNotNull, after(opens))
DEADHEAT_DESCRIBE(psignal, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(psiginfo, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(herror, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(openlog, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fmtmsg, kAlways, reads_text(2), reads_text(4), reads_text(5), reads_text(6))
DEADHEAT_DESCRIBE(addseverity, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(parse_printf_format, kAlways, reads_text(1))
