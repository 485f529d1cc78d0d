// SPDX-License-Identifier: Apache-2.0
// The options of the wrapper keep mem... and str... calls as they are, but not those that the
// program or the standard library's headers write as __builtin_memcpy. With a size that is
// known they become moves: checked here. Comparisons and searches become calls of functions
// that gcc knows nothing of, since only the function knows how far it reads.
#include <algorithm>
#include <iterator>

#include "accesses.h"
#include "source_accesses.h"

namespace deadheat::gcc_pass {

namespace {

struct PlainName {
  built_in_function function;
  const char* name;
};

constexpr PlainName kReaders[] = {
    {BUILT_IN_MEMCMP, "memcmp"},           {BUILT_IN_MEMCMP_EQ, "memcmp"}, {BUILT_IN_BCMP, "bcmp"},
    {BUILT_IN_STRCMP, "strcmp"},           {BUILT_IN_STRCMP_EQ, "strcmp"}, {BUILT_IN_STRNCMP, "strncmp"},
    {BUILT_IN_STRNCMP_EQ, "strncmp"},      {BUILT_IN_STRLEN, "strlen"},    {BUILT_IN_STRNLEN, "strnlen"},
    {BUILT_IN_MEMCHR, "memchr"},           {BUILT_IN_STRCHR, "strchr"},    {BUILT_IN_INDEX, "strchr"},
    {BUILT_IN_STRRCHR, "strrchr"},         {BUILT_IN_RINDEX, "strrchr"},   {BUILT_IN_STRSTR, "strstr"},
    {BUILT_IN_STRPBRK, "strpbrk"},         {BUILT_IN_STRSPN, "strspn"},    {BUILT_IN_STRCSPN, "strcspn"},
    {BUILT_IN_STRCASECMP, "strcasecmp"},   {BUILT_IN_STRCPY, "strcpy"},    {BUILT_IN_STPCPY, "stpcpy"},
    {BUILT_IN_STRNCASECMP, "strncasecmp"}, {BUILT_IN_STRCAT, "strcat"},    {BUILT_IN_STRNCAT, "strncat"},
    {BUILT_IN_STRNCPY, "strncpy"},         {BUILT_IN_STPNCPY, "stpncpy"},
};

const char* plain_name(built_in_function function) {
  const auto* const found = std::find_if(std::begin(kReaders), std::end(kReaders),
                                         [=](const PlainName& each) { return each.function == function; });
  return found == std::end(kReaders) ? nullptr : found->name;
}

// A function of that name and type, and nothing known of it.
void make_plain(gcall& call, const char* name) {
  const tree known = gimple_call_fndecl(&call);
  const tree plain = build_decl(UNKNOWN_LOCATION, FUNCTION_DECL, get_identifier(name), TREE_TYPE(known));
  DECL_EXTERNAL(plain) = 1;
  TREE_PUBLIC(plain) = 1;
  TREE_NOTHROW(plain) = 1;
  SET_DECL_ASSEMBLER_NAME(plain, get_identifier(name));
  gimple_call_set_fndecl(&call, plain);
  gimple_call_set_fntype(&call, TREE_TYPE(known));
}

void check_range(Insertion& insertion, Kind kind, tree address, tree size) {
  if (TREE_CODE(address) == ADDR_EXPR && is_private_or_constant(TREE_OPERAND(address, 0))) return;
  insertion.check(kind, address, size);
}

}  // namespace

void check_memory_function(gcall& call, gimple_stmt_iterator at) {
  const built_in_function function = DECL_FUNCTION_CODE(gimple_call_fndecl(&call));
  if (const char* const name = plain_name(function)) return make_plain(call, name);
  const bool copies = function == BUILT_IN_MEMCPY || function == BUILT_IN_MEMMOVE || function == BUILT_IN_MEMPCPY ||
                      function == BUILT_IN_MEMCPY_CHK || function == BUILT_IN_MEMMOVE_CHK;
  const bool fills = function == BUILT_IN_MEMSET || function == BUILT_IN_MEMSET_CHK;
  if (!copies && !fills) return;
  const tree size = gimple_call_arg(&call, 2);
  if (!tree_fits_uhwi_p(size) || integer_zerop(size)) return;  // a call, then
  Insertion accesses(at);
  if (copies) check_range(accesses, Kind::kRead, gimple_call_arg(&call, 1), size);
  check_range(accesses, Kind::kWrite, gimple_call_arg(&call, 0), size);
  accesses.before();
}

}  // namespace deadheat::gcc_pass
