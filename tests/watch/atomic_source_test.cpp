// SPDX-License-Identifier: Apache-2.0
#include "image/atomic_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_path.h"
#include "watch/find_sites.h"

namespace deadheat {
namespace {

using Names = std::vector<std::string>;

TEST(AtomicSource, ABuiltInIsKnownAtItsColumn) {
  constexpr std::string_view kLine = "  sum += __atomic_load_n(&x, 0) + y;";
  EXPECT_TRUE(has_atomic_operation(kLine, 10, {}));
  EXPECT_FALSE(has_atomic_operation(kLine, 3, {}));
  EXPECT_FALSE(has_atomic_operation(kLine, 35, {}));
  EXPECT_FALSE(has_atomic_operation(kLine, 400, {}));
  EXPECT_TRUE(has_atomic_operation(kLine, 0, {}));
  EXPECT_FALSE(has_atomic_operation("  my__atomic_load_n = 3;", 0, {}));
  EXPECT_TRUE(has_atomic_operation("GET(x)", 1, {"GET"}));
  EXPECT_FALSE(has_atomic_operation("GETTER(x)", 1, {"GET"}));
}

TEST(AtomicSource, MacrosAreKnownByWhatTheyExpandTo) {
  constexpr std::string_view kText =
      "#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)\n"
      "# define SET(x, v) \\\n  do { __sync_lock_test_and_set(&(x), v); } while (0)\n"
      "#define PLAIN(x) (x)\n"
      "#define GET_MEMBER(x) GET((x)->member)\n";
  EXPECT_EQ(atomic_macros(kText, {}), (Names{"GET", "SET"}));
  EXPECT_EQ(atomic_macros(kText, {"GET"}), (Names{"GET", "SET", "GET_MEMBER"}));
}

// Plain instructions of a program: how many of its sites are atomic, and how many are not.
struct Counts {
  int atomic = 0;
  int plain = 0;
};

Counts count(const std::string& options, const std::string& name, bool keeps_source) {
  const std::string path = temp_path(name);
  std::ofstream(path + ".h") << "#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)\n";
  std::ofstream(path + ".c") << "#include \"" << path << ".h\"\n"
                             << "int flag, plain, counter;\n"
                             << "int get(void) { return GET(flag); }\n"
                             << "void set(int v) { __atomic_store_n(&flag, v, __ATOMIC_RELEASE); }\n"
                             << "int get_plain(void) { return plain; }\n"
                             << "void add(void) { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); }\n"
                             << "int get_counter(void) { return counter; }\n"
                             << "int main(void) { set(1); add(); return get() + get_plain() + get_counter(); }\n";
  const std::string build = "cc -O1 -fno-inline " + options + " " + path + ".c -o " + path + ".program";
  EXPECT_EQ(std::system(build.c_str()), 0);
  if (!keeps_source) std::filesystem::remove(path + ".c");
  Counts counts;
  const auto found = watch::find_sites(path + ".program");
  if (!found.ok()) return counts;
  for (const watch::Site& site : found.value().module.sites) {
    if (site.base != watch::kInstructionPointer || site.size != 4) continue;
    ++((site.flags & watch::kAtomicSite) != 0 ? counts.atomic : counts.plain);
  }
  return counts;
}

TEST(AtomicSource, SitesOfBuiltInsAreAtomic) {
  const Counts counts = count("-g", "with_source", true);
  EXPECT_EQ(counts.atomic, 3);  // get, set, add
  EXPECT_EQ(counts.plain, 2);   // get_plain, get_counter
}

TEST(AtomicSource, WithoutSourceALockPrefixTellsOfItsVariable) {
  const Counts counts = count("-g", "without_source", false);
  EXPECT_EQ(counts.atomic, 2);  // add, get_counter
  EXPECT_EQ(counts.plain, 3);
}

}  // namespace
}  // namespace deadheat
