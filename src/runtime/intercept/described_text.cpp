// SPDX-License-Identifier: Apache-2.0
// Described functions: texts, characters of many bytes, vectors of arguments, patterns. (described.h)
//
// Comparisons read up to the first difference; what a collation does with the rest is libc's
// business. Conversions that remember a state between calls write it: the caller's, or libc's own
// for those that were given none.
#include <iconv.h>
#include <regex.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cwchar>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kWide = sizeof(wchar_t);
constexpr std::size_t kNoLimit = SIZE_MAX;

std::uint32_t folded(unsigned char letter) { return letter >= 'A' && letter <= 'Z' ? letter + 32U : letter; }
std::uint32_t folded(wchar_t letter) {
  return static_cast<std::uint32_t>(letter >= L'A' && letter <= L'Z' ? letter + 32 : letter);
}

template <class Letter>
void report_comparison(const DescribedCall& call, std::size_t limit) {
  const Letter* const left = call.pointer<const Letter>(1);
  const Letter* const right = call.pointer<const Letter>(2);
  std::size_t count = 0;
  while (count < limit) {
    const Letter letter = left[count];
    const Letter other = right[count];
    ++count;
    if (letter == 0 || folded(letter) != folded(other)) break;
  }
  on_read(left, count * sizeof(Letter), call.code);
  on_read(right, count * sizeof(Letter), call.code);
}
void compares(const DescribedCall& call) { report_comparison<unsigned char>(call, kNoLimit); }
void compares_some(const DescribedCall& call) { report_comparison<unsigned char>(call, call.value(3)); }
void compares_wide(const DescribedCall& call) { report_comparison<wchar_t>(call, kNoLimit); }
void compares_some_wide(const DescribedCall& call) { report_comparison<wchar_t>(call, call.value(3)); }

// The text is read up to where something was found in it, which is `size` bytes long; or all.
void report_searched(const DescribedCall& call, std::size_t whole, std::size_t size) {
  const auto* const found = call.pointer<const char>(0);
  const auto* const text = call.pointer<const char>(1);
  on_read(text, found != nullptr ? static_cast<std::size_t>(found - text) + size : whole, call.code);
}
void searches_part(const DescribedCall& call) {
  report_searched(call, size_of_text(call.pointer<const char>(1)), size_of_text(call.pointer<const char>(2)) - 1);
}
void searches_byte(const DescribedCall& call) { report_searched(call, 0, 1); }
void searches_wide_letter(const DescribedCall& call) {
  report_searched(call, size_of_wide_text(call.pointer<const wchar_t>(1)), kWide);
}
void searches_wide_part(const DescribedCall& call) {
  report_searched(call, size_of_wide_text(call.pointer<const wchar_t>(1)),
                  size_of_wide_text(call.pointer<const wchar_t>(2)) - kWide);
}
// The result is how far it went; the letter there was looked at.
void spans_wide(const DescribedCall& call) {
  on_read(call.pointer<const wchar_t>(1), (call.result + 1) * kWide, call.code);
}

// The text that is returned lies on the heap unless it is a constant.
void appends_wide(const DescribedCall& call) {
  const auto* const to = call.pointer<const wchar_t>(1);
  const auto* const from = call.pointer<const wchar_t>(2);
  const std::size_t old = size_of_wide_text(to);
  const std::size_t added = size_of_wide_text(from);
  on_read(to, old, call.code);
  on_read(from, added, call.code);
  on_write(reinterpret_cast<const char*>(to) + old - kWide, added, call.code);
}
void appends_some_wide(const DescribedCall& call) {
  const auto* const to = call.pointer<const wchar_t>(1);
  const auto* const from = call.pointer<const wchar_t>(2);
  std::size_t added = 0;
  while (added < call.value(3) && from[added] != 0) ++added;
  const std::size_t old = size_of_wide_text(to);
  on_read(to, old, call.code);
  on_read(from, (added < call.value(3) ? added + 1 : added) * kWide, call.code);
  on_write(reinterpret_cast<const char*>(to) + old - kWide, (added + 1) * kWide, call.code);
}
// Pads, so that `count` letters are written.
void copies_some_wide(const DescribedCall& call) {
  const auto* const from = call.pointer<const wchar_t>(2);
  const std::size_t count = call.value(3);
  std::size_t length = 0;
  while (length < count && from[length] != 0) ++length;
  on_read(from, (length < count ? length + 1 : count) * kWide, call.code);
  on_write(call.pointer<const void>(1), count * kWide, call.code);
}

// A token is cut out of a text; `rest` remembers where to go on.
void cuts_wide_token(const DescribedCall& call) {
  const auto* const token = call.pointer<const wchar_t>(0);
  const wchar_t* const* const rest = call.pointer<const wchar_t* const>(3);
  on_write(rest, sizeof(*rest), call.code);
  if (token == nullptr) return;
  const std::size_t size = size_of_wide_text(token);
  on_read(token, size, call.code);
  if (*rest != nullptr) on_write(reinterpret_cast<const char*>(token) + size - kWide, kWide, call.code);
}
// strsep(text, delimiters)
void cuts_token(const DescribedCall& call) {
  const char* const* const rest = call.pointer<const char* const>(1);
  on_write(rest, sizeof(*rest), call.code);
  const auto* const token = call.pointer<const char>(0);
  const std::size_t size = size_of_text(token);
  on_read(token, size, call.code);
  if (*rest != nullptr) on_write(token + size - 1, 1, call.code);
}

void swaps(const DescribedCall& call) {
  const auto size = static_cast<std::int64_t>(call.value(3)) & ~std::int64_t{1};
  if (size <= 0) return;
  on_read(call.pointer<const void>(1), static_cast<std::size_t>(size), call.code);
  on_write(call.pointer<const void>(2), static_cast<std::size_t>(size), call.code);
}

// Conversions of characters. The place of libc's own states stands for all of them.
constinit char hidden_state;
template <unsigned kState>
void keeps_state(const DescribedCall& call) {
  const void* const state = call.pointer<const void>(kState);
  state != nullptr ? on_write(state, sizeof(mbstate_t), call.code) : on_write(&hidden_state, 1, call.code);
}
// The call has read as many of the offered bytes as made a character.
void takes_character(const DescribedCall& call, unsigned text, unsigned limit) {
  const auto taken = static_cast<std::int64_t>(call.result);
  const std::size_t room = call.value(limit);
  const auto* const begin = call.pointer<const void>(text);
  if (begin == nullptr) return;
  on_read(begin, taken > 0 ? static_cast<std::size_t>(taken) : taken == -2 ? room : room != 0 ? 1 : 0, call.code);
}
void takes_first(const DescribedCall& call) { takes_character(call, 1, 2); }
void takes_second(const DescribedCall& call) { takes_character(call, 2, 3); }
void takes_first_int(const DescribedCall& call) {
  if (const auto* const text = call.pointer<const void>(1))
    on_read(text, call.integer(0) > 0 ? static_cast<std::size_t>(call.integer(0)) : 1, call.code);
}
void takes_second_int(const DescribedCall& call) {
  if (const auto* const text = call.pointer<const void>(2))
    on_read(text, call.integer(0) > 0 ? static_cast<std::size_t>(call.integer(0)) : 1, call.code);
}
// A character is stored unless the call failed.
template <class Letter>
void stores_character(const DescribedCall& call) {
  const auto* const to = call.pointer<const void>(1);
  if (to != nullptr && static_cast<std::int64_t>(call.result) >= 0) on_write(to, sizeof(Letter), call.code);
}
void stores_bytes(const DescribedCall& call) {
  const auto* const to = call.pointer<const void>(1);
  const auto size = static_cast<std::int64_t>(call.result);
  if (to != nullptr && size > 0) on_write(to, static_cast<std::size_t>(size), call.code);
}
void stores_some_bytes(const DescribedCall& call) {
  const auto* const to = call.pointer<const void>(1);
  if (to != nullptr && call.integer(0) > 0) on_write(to, static_cast<std::size_t>(call.integer(0)), call.code);
}
// to, from, ...: the pointer `*from` moves; as many letters as the result says, and the
// terminator where it was met.
template <class To>
void converts(const DescribedCall& call, std::size_t room) {
  const auto* const to = call.pointer<const To>(1);
  const void* const* const from = call.pointer<const void* const>(2);
  const std::size_t count = call.result;
  if (to == nullptr || count == SIZE_MAX) return;
  on_write(from, sizeof(*from), call.code);
  on_write(to, (*from == nullptr && count < room ? count + 1 : count) * sizeof(To), call.code);
}
void converts_to_wide(const DescribedCall& call) { converts<wchar_t>(call, call.value(3)); }
void converts_to_bytes(const DescribedCall& call) { converts<char>(call, call.value(3)); }
void converts_some_to_wide(const DescribedCall& call) { converts<wchar_t>(call, call.value(4)); }
void converts_some_to_bytes(const DescribedCall& call) { converts<char>(call, call.value(4)); }
template <class To>
void converts_all(const DescribedCall& call) {
  const std::size_t count = call.result;
  if (call.value(1) == 0 || count == SIZE_MAX) return;
  on_write(call.pointer<const void>(1), (count < call.value(3) ? count + 1 : count) * sizeof(To), call.code);
}

// iconv(conversion, from, from_size, to, to_size) moves both pointers.
void begins_conversion(const DescribedCall& call) {
  const char* const* const from = call.pointer<const char* const>(2);
  const char* const* const to = call.pointer<const char* const>(4);
  call.notes[0] = from != nullptr ? address_of(*from) : 0;
  call.notes[1] = to != nullptr ? address_of(*to) : 0;
  constexpr std::uint64_t kFailed = ~std::uint64_t{0};
  if (call.value(1) != kFailed) on_write(call.pointer<const void>(1), sizeof(std::size_t), call.code);
}
void ends_conversion(const DescribedCall& call) {
  const char* const* const from = call.pointer<const char* const>(2);
  const char* const* const to = call.pointer<const char* const>(4);
  if (from != nullptr && *from != nullptr && call.notes[0] != 0) {
    on_write(from, sizeof(*from), call.code);
    on_write(call.pointer<const void>(3), sizeof(std::size_t), call.code);
    on_read(reinterpret_cast<const void*>(call.notes[0]), address_of(*from) - call.notes[0], call.code);
  }
  if (to != nullptr && *to != nullptr && call.notes[1] != 0) {
    on_write(to, sizeof(*to), call.code);
    on_write(call.pointer<const void>(5), sizeof(std::size_t), call.code);
    on_write(reinterpret_cast<const void*>(call.notes[1]), address_of(*to) - call.notes[1], call.code);
  }
}

// Vectors of texts, one behind the other (argz.h). Here: the pointer to the block and its size.
void changes_vector(const DescribedCall& call) {
  const char* const* const vector = call.pointer<const char* const>(1);
  const std::size_t* const size = call.pointer<const std::size_t>(2);
  on_write(vector, sizeof(*vector), call.code);
  on_write(size, sizeof(*size), call.code);
  if (*vector != nullptr) on_write(*vector, *size, call.code);
}
void reads_texts(const DescribedCall& call) {
  const char* const* const texts = call.pointer<const char* const>(1);
  std::size_t count = 0;
  for (; texts[count] != nullptr; ++count) report_text_read(texts[count], call.code);
  on_read(texts, (count + 1) * sizeof(char*), call.code);
}
void makes_vector(const DescribedCall& call, unsigned vector, unsigned size) {
  const char* const* const begin = call.pointer<const char* const>(vector);
  on_write(begin, sizeof(*begin), call.code);
  on_write(call.pointer<const void>(size), sizeof(std::size_t), call.code);
  if (*begin != nullptr) on_write(*begin, *call.pointer<const std::size_t>(size), call.code);
}
void makes_second_vector(const DescribedCall& call) { makes_vector(call, 2, 3); }
void makes_third_vector(const DescribedCall& call) { makes_vector(call, 3, 4); }
void extracts(const DescribedCall& call) {
  const char* const* const texts = call.pointer<const char* const>(3);
  std::size_t count = 0;
  while (texts[count] != nullptr) ++count;
  on_write(texts, (count + 1) * sizeof(char*), call.code);
}

// getopt and its relatives keep what they know in variables that programs read.
void takes_option(const DescribedCall& call) {
  on_write(&optind, sizeof(optind), call.code);
  on_write(&optarg, sizeof(optarg), call.code);
  on_read(&opterr, sizeof(opterr), call.code);
  const int count = call.integer(1);
  if (count > 0) on_read(call.pointer<const void>(2), static_cast<std::size_t>(count) * sizeof(char*), call.code);
}
void takes_suboption(const DescribedCall& call) {
  const void* const* const text = call.pointer<const void* const>(1);
  on_write(text, sizeof(*text), call.code);
  on_write(call.pointer<const void>(3), sizeof(char*), call.code);
}

// regexec(pattern, text, count, matches, flags)
void matches(const DescribedCall& call) {
  const auto* const pattern = call.pointer<const regex_t>(1);
  if (pattern->no_sub == 0) on_write(call.pointer<const void>(4), call.value(3) * sizeof(regmatch_t), call.code);
}
void reads_subject(const DescribedCall& call) {
  constexpr int kStartEnd = REG_STARTEND;
  const auto* const text = call.pointer<const char>(2);
  if ((call.integer(5) & kStartEnd) == 0) return report_text_read(text, call.code);
  const auto* const range = call.pointer<const regmatch_t>(4);
  on_read(range, sizeof(*range), call.code);
  on_read(text + range->rm_so, static_cast<std::size_t>(range->rm_eo - range->rm_so), call.code);
}

}  // namespace
}  // namespace deadheat::runtime

// Comparisons.
DEADHEAT_DESCRIBE(__strcasecmp, kAlways, before(compares))
DEADHEAT_DESCRIBE(strcasecmp_l, kAlways, before(compares))
DEADHEAT_DESCRIBE(__strcasecmp_l, kAlways, before(compares))
DEADHEAT_DESCRIBE(strncasecmp_l, kAlways, before(compares_some))
DEADHEAT_DESCRIBE(__strncasecmp_l, kAlways, before(compares_some))
DEADHEAT_DESCRIBE(strverscmp, kAlways, before(compares))
DEADHEAT_DESCRIBE(__strverscmp, kAlways, before(compares))
DEADHEAT_DESCRIBE(strcoll_l, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(__strcoll_l, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(wcscasecmp, kAlways, before(compares_wide))
DEADHEAT_DESCRIBE(wcscasecmp_l, kAlways, before(compares_wide))
DEADHEAT_DESCRIBE(__wcscasecmp_l, kAlways, before(compares_wide))
DEADHEAT_DESCRIBE(wcsncasecmp, kAlways, before(compares_some_wide))
DEADHEAT_DESCRIBE(wcsncasecmp_l, kAlways, before(compares_some_wide))
DEADHEAT_DESCRIBE(__wcsncasecmp_l, kAlways, before(compares_some_wide))
DEADHEAT_DESCRIBE(wcscoll, kAlways, reads_wide(1), reads_wide(2))
DEADHEAT_DESCRIBE(wcscoll_l, kAlways, reads_wide(1), reads_wide(2))
DEADHEAT_DESCRIBE(__wcscoll_l, kAlways, reads_wide(1), reads_wide(2))
DEADHEAT_DESCRIBE(__memcmpeq, kAlways, reads_bytes(1, 3), reads_bytes(2, 3))
DEADHEAT_DESCRIBE(rpmatch, kAlways, reads_text(1))

// Searches and spans.
DEADHEAT_DESCRIBE(__strcasestr, kAlways, reads_text(2), after(searches_part))
DEADHEAT_DESCRIBE(__rawmemchr, kAlways, after(searches_byte))
DEADHEAT_DESCRIBE(wcschrnul, kAlways, after(searches_wide_letter))
DEADHEAT_DESCRIBE(wcswcs, kAlways, reads_wide(2), after(searches_wide_part))
DEADHEAT_DESCRIBE(wcspbrk, kAlways, reads_wide(2), after(searches_wide_letter))
DEADHEAT_DESCRIBE(wcsspn, kAlways, reads_wide(2), after(spans_wide))
DEADHEAT_DESCRIBE(wcscspn, kAlways, reads_wide(2), after(spans_wide))
DEADHEAT_DESCRIBE(wcswidth, kAlways, reads_wide(1))

// Copies.
DEADHEAT_DESCRIBE(__bzero, kAlways, updates_bytes(1, 2))
DEADHEAT_DESCRIBE(memfrob, kAlways, updates_bytes(1, 2))
DEADHEAT_DESCRIBE(strfry, kAlways, reads_text(1), writes_text(1))
DEADHEAT_DESCRIBE(swab, kAlways, before(swaps))
DEADHEAT_DESCRIBE(wcpcpy, kAlways, reads_wide(2), writes_wide(1))
DEADHEAT_DESCRIBE(wcpncpy, kAlways, before(copies_some_wide))
DEADHEAT_DESCRIBE(__wcscpy_chk, kAlways, reads_wide(2), writes_wide(1))
DEADHEAT_DESCRIBE(__wcpcpy_chk, kAlways, reads_wide(2), writes_wide(1))
DEADHEAT_DESCRIBE(__wcsncpy_chk, kAlways, before(copies_some_wide))
DEADHEAT_DESCRIBE(__wcpncpy_chk, kAlways, before(copies_some_wide))
DEADHEAT_DESCRIBE(__wcscat_chk, kAlways, before(appends_wide))
DEADHEAT_DESCRIBE(__wcsncat_chk, kAlways, before(appends_some_wide))
DEADHEAT_DESCRIBE(__wmemcpy_chk, kAlways, reads_bytes(2, 3, kWide), writes_bytes(1, 3, kWide))
DEADHEAT_DESCRIBE(__wmempcpy_chk, kAlways, reads_bytes(2, 3, kWide), writes_bytes(1, 3, kWide))
DEADHEAT_DESCRIBE(__wmemmove_chk, kAlways, reads_bytes(2, 3, kWide), writes_bytes(1, 3, kWide))
DEADHEAT_DESCRIBE(__wmemset_chk, kAlways, writes_bytes(1, 3, kWide))
DEADHEAT_DESCRIBE(strxfrm_l, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(__strxfrm_l, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(wcsxfrm, kAlways, reads_wide(2))
DEADHEAT_DESCRIBE(wcsxfrm_l, kAlways, reads_wide(2))
DEADHEAT_DESCRIBE(__wcsxfrm_l, kAlways, reads_wide(2))
DEADHEAT_DESCRIBE(wcstok, kAlways, reads_wide(2), after(cuts_wide_token))
DEADHEAT_DESCRIBE(__strsep_g, kNotNull, reads_text(2), after(cuts_token))

// Characters of several bytes.
DEADHEAT_DESCRIBE(mblen, kAlways, after(takes_first_int))
DEADHEAT_DESCRIBE(mbtowc, kAlways, after(takes_second_int), after(stores_character<wchar_t>))
DEADHEAT_DESCRIBE(mbrlen, kAlways, after(takes_first), after(keeps_state<3>))
DEADHEAT_DESCRIBE(__mbrlen, kAlways, after(takes_first), after(keeps_state<3>))
DEADHEAT_DESCRIBE(mbrtowc, kAlways, after(takes_second), after(stores_character<wchar_t>), after(keeps_state<4>))
DEADHEAT_DESCRIBE(__mbrtowc, kAlways, after(takes_second), after(stores_character<wchar_t>), after(keeps_state<4>))
DEADHEAT_DESCRIBE(mbrtoc8, kAlways, after(takes_second), after(stores_character<char>), after(keeps_state<4>))
DEADHEAT_DESCRIBE(mbrtoc16, kAlways, after(takes_second), after(stores_character<char16_t>), after(keeps_state<4>))
DEADHEAT_DESCRIBE(mbrtoc32, kAlways, after(takes_second), after(stores_character<char32_t>), after(keeps_state<4>))
DEADHEAT_DESCRIBE(mbsinit, kAlways, reads(1, sizeof(mbstate_t)))
DEADHEAT_DESCRIBE(wctomb, kAlways, after(stores_some_bytes))
DEADHEAT_DESCRIBE(__wctomb_chk, kAlways, after(stores_some_bytes))
DEADHEAT_DESCRIBE(wcrtomb, kAlways, after(stores_bytes), after(keeps_state<3>))
DEADHEAT_DESCRIBE(__wcrtomb_chk, kAlways, after(stores_bytes), after(keeps_state<3>))
DEADHEAT_DESCRIBE(c8rtomb, kAlways, after(stores_bytes), after(keeps_state<3>))
DEADHEAT_DESCRIBE(c16rtomb, kAlways, after(stores_bytes), after(keeps_state<3>))
DEADHEAT_DESCRIBE(c32rtomb, kAlways, after(stores_bytes), after(keeps_state<3>))
DEADHEAT_DESCRIBE(mbsrtowcs, kAlways, reads(2, sizeof(char*)), after(converts_to_wide), after(keeps_state<4>))
DEADHEAT_DESCRIBE(__mbsrtowcs_chk, kAlways, reads(2, sizeof(char*)), after(converts_to_wide), after(keeps_state<4>))
DEADHEAT_DESCRIBE(mbsnrtowcs, kAlways, reads(2, sizeof(char*)), after(converts_some_to_wide), after(keeps_state<5>))
DEADHEAT_DESCRIBE(__mbsnrtowcs_chk, kAlways, reads(2, sizeof(char*)), after(converts_some_to_wide),
                  after(keeps_state<5>))
DEADHEAT_DESCRIBE(wcsrtombs, kAlways, reads(2, sizeof(char*)), after(converts_to_bytes), after(keeps_state<4>))
DEADHEAT_DESCRIBE(__wcsrtombs_chk, kAlways, reads(2, sizeof(char*)), after(converts_to_bytes), after(keeps_state<4>))
DEADHEAT_DESCRIBE(wcsnrtombs, kAlways, reads(2, sizeof(char*)), after(converts_some_to_bytes), after(keeps_state<5>))
DEADHEAT_DESCRIBE(__wcsnrtombs_chk, kAlways, reads(2, sizeof(char*)), after(converts_some_to_bytes),
                  after(keeps_state<5>))
DEADHEAT_DESCRIBE(__mbstowcs_chk, kAlways, reads_text(2), after(converts_all<wchar_t>))
DEADHEAT_DESCRIBE(__wcstombs_chk, kAlways, reads_wide(2), after(converts_all<char>))
DEADHEAT_DESCRIBE(iconv, kAlways, before(begins_conversion), after(ends_conversion))
DEADHEAT_DESCRIBE(iconv_open, kAlways, reads_text(1), reads_text(2))

// Vectors of texts.
DEADHEAT_DESCRIBE(argz_create, kZero, before(reads_texts), after(makes_second_vector))
DEADHEAT_DESCRIBE(argz_create_sep, kZero, reads_text(1), after(makes_third_vector))
DEADHEAT_DESCRIBE(argz_count, kAlways, reads_bytes(1, 2))
DEADHEAT_DESCRIBE(__argz_count, kAlways, reads_bytes(1, 2))
DEADHEAT_DESCRIBE(argz_extract, kAlways, reads_bytes(1, 2), after(extracts))
DEADHEAT_DESCRIBE(argz_stringify, kAlways, updates_bytes(1, 2))
DEADHEAT_DESCRIBE(__argz_stringify, kAlways, updates_bytes(1, 2))
DEADHEAT_DESCRIBE(argz_add, kZero, reads_text(3), after(changes_vector))
DEADHEAT_DESCRIBE(argz_add_sep, kZero, reads_text(3), after(changes_vector))
DEADHEAT_DESCRIBE(argz_append, kZero, reads_bytes(3, 4), after(changes_vector))
DEADHEAT_DESCRIBE(argz_insert, kZero, reads_text(4), after(changes_vector))
DEADHEAT_DESCRIBE(argz_replace, kZero, reads_text(3), reads_text(4), after(changes_vector))
DEADHEAT_DESCRIBE(argz_delete, kAlways, after(changes_vector))
DEADHEAT_DESCRIBE(argz_next, kAlways, reads_text(3))
DEADHEAT_DESCRIBE(__argz_next, kAlways, reads_text(3))
DEADHEAT_DESCRIBE(envz_entry, kAlways, reads_bytes(1, 2), reads_text(3))
DEADHEAT_DESCRIBE(envz_get, kAlways, reads_bytes(1, 2), reads_text(3))
DEADHEAT_DESCRIBE(envz_add, kZero, reads_text(3), reads_text(4), after(changes_vector))
DEADHEAT_DESCRIBE(envz_merge, kZero, reads_bytes(3, 4), after(changes_vector))
DEADHEAT_DESCRIBE(envz_remove, kAlways, reads_text(3), after(changes_vector))
DEADHEAT_DESCRIBE(envz_strip, kAlways, after(changes_vector))

// Options and patterns.
DEADHEAT_DESCRIBE(getopt, kAlways, reads_text(3), before(takes_option))
DEADHEAT_DESCRIBE(__posix_getopt, kAlways, reads_text(3), before(takes_option))
DEADHEAT_DESCRIBE(getopt_long, kAlways, reads_text(3), before(takes_option))
DEADHEAT_DESCRIBE(getopt_long_only, kAlways, reads_text(3), before(takes_option))
DEADHEAT_DESCRIBE(getsubopt, kAlways, after(takes_suboption))
DEADHEAT_DESCRIBE(regcomp, kAlways, reads_text(2), writes(1, sizeof(regex_t)))
DEADHEAT_DESCRIBE(regexec, kZero, reads(1, sizeof(regex_t)), before(reads_subject), after(matches))
DEADHEAT_DESCRIBE(regerror, kAlways, writes_text(3))
DEADHEAT_DESCRIBE(regfree, kAlways, updates(1, sizeof(regex_t)))
DEADHEAT_DESCRIBE(re_compile_pattern, kAlways, reads_bytes(1, 2), writes(3, sizeof(regex_t)))
DEADHEAT_DESCRIBE(re_compile_fastmap, kAlways, updates(1, sizeof(regex_t)))
DEADHEAT_DESCRIBE_LONG(re_search_2, kNotNegative, reads(1, sizeof(regex_t)), reads_ints(2, 3), reads_ints(4, 5),
                       writes(8, sizeof(re_registers)))
DEADHEAT_DESCRIBE_LONG(re_match_2, kNotNegative, reads(1, sizeof(regex_t)), reads_ints(2, 3), reads_ints(4, 5),
                       writes(7, sizeof(re_registers)))
DEADHEAT_DESCRIBE(re_search, kAlways, reads(1, sizeof(regex_t)), reads_ints(2, 3))
DEADHEAT_DESCRIBE(re_match, kAlways, reads(1, sizeof(regex_t)), reads_ints(2, 3))
DEADHEAT_DESCRIBE(re_set_registers, kAlways, updates(1, sizeof(regex_t)), updates(2, 24))
DEADHEAT_DESCRIBE(re_comp, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(re_exec, kAlways, reads_text(1))

// Messages.
DEADHEAT_DESCRIBE(gettext, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(dgettext, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(__dgettext, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(dcgettext, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(__dcgettext, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(ngettext, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(dngettext, kAlways, reads_text(1), reads_text(2), reads_text(3))
DEADHEAT_DESCRIBE(dcngettext, kAlways, reads_text(1), reads_text(2), reads_text(3))
DEADHEAT_DESCRIBE(textdomain, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(bindtextdomain, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(bind_textdomain_codeset, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(catopen, kAlways, reads_text(1))
