// SPDX-License-Identifier: Apache-2.0
// The symbolizer on the test's own code and data.
#include "report/symbolizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "report/module_map.h"
#include "support/own_modules.h"
#include "support/temp_path.h"

DEADHEAT_PLAIN_GLOBAL int symbolizer_test_global[3];

namespace deadheat {
namespace {

int hidden_global = 1;

struct Called {
  std::uint64_t code = 0;
  std::uint32_t line = 0;
};

struct Subject {
  static constexpr std::uint32_t kStart = __LINE__ + 1;
  __attribute__((noinline)) static Called call() {
    Called called;
    called.code = code_here();
    called.line = __LINE__ - 1;
    keep_frame();
    return called;
  }
};

__attribute__((always_inline)) inline void inlined(Called& called) {
  called.code = code_here();
  called.line = __LINE__ - 1;
  keep_frame();
}

__attribute__((noinline)) Called outer(std::uint32_t& line) {
  Called called;
  inlined(called);
  line = __LINE__ - 1;
  return called;
}

ModuleMap own_map() {
  ModuleMap map;
  std::vector<RawModule> modules;
  for (const packets::NamedModule& one : own_modules()) {
    modules.push_back({one.begin, one.end, one.load_bias, one.path});
  }
  map.replace(modules);
  return map;
}

std::vector<Site> frames_at(std::uint64_t return_address) {
  Symbolizer symbolizer;
  return symbolizer.frames(own_map().find(return_address - 1).value());
}

template <class T>
std::optional<GlobalSymbol> global_at(const T* address) {
  Symbolizer symbolizer;
  return symbolizer.global(own_map().find(reinterpret_cast<std::uint64_t>(address)).value());
}

TEST(SymbolizerTest, CodeHasFunctionFileLineAndStartOfTheFunction) {
  const Called called = Subject::call();
  const std::vector<Site> frames = frames_at(called.code);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "deadheat::(anonymous namespace)::Subject::call()");
  EXPECT_EQ(std::filesystem::path(frames[0].file).filename(), "symbolizer_test.cpp");
  EXPECT_EQ(frames[0].line, called.line);
  EXPECT_EQ(frames[0].function_line, Subject::kStart);
  EXPECT_EQ(frames[0].module, own_path());
  EXPECT_FALSE(frames[0].is_inlined);
}

TEST(SymbolizerTest, InlinedFunctionsAreFramesOfTheirOwn) {
  std::uint32_t call_line = 0;
  const Called called = outer(call_line);
  const std::vector<Site> frames = frames_at(called.code);
  ASSERT_EQ(frames.size(), 2U) << frames[0].function;
  EXPECT_EQ(frames[0].function.rfind("deadheat::(anonymous namespace)::inlined", 0), 0U) << frames[0].function;
  EXPECT_EQ(frames[0].line, called.line);
  EXPECT_TRUE(frames[0].is_inlined);
  EXPECT_EQ(frames[1].function.rfind("deadheat::(anonymous namespace)::outer(", 0), 0U) << frames[1].function;
  EXPECT_EQ(frames[1].line, call_line);
  EXPECT_FALSE(frames[1].is_inlined);
  EXPECT_EQ(frames[0].offset, frames[1].offset);
}

TEST(SymbolizerTest, LambdaIsNamedWithTheFunctionAroundIt) {
  const auto lambda = []() __attribute__((noinline)) {
    Called called;
    called.code = code_here();
    called.line = __LINE__ - 1;
    keep_frame();
    return called;
  };
  const std::string function = frames_at(lambda().code).back().function;
  EXPECT_NE(function.find("LambdaIsNamedWithTheFunctionAroundIt"), std::string::npos) << function;
  EXPECT_NE(function.find("operator()"), std::string::npos) << function;
}

TEST(SymbolizerTest, GlobalsHaveNameStartAndSize) {
  const auto found = global_at(&symbolizer_test_global[1]);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "symbolizer_test_global");
  EXPECT_EQ(found->size, sizeof(symbolizer_test_global));
  const auto place = own_map().find(reinterpret_cast<std::uint64_t>(&symbolizer_test_global[1]));
  EXPECT_EQ(place->address - found->address, sizeof(int));
  hidden_global = 2;
  EXPECT_EQ(global_at(&hidden_global)->name, "deadheat::(anonymous namespace)::hidden_global");
}

TEST(SymbolizerTest, CodeIsNoGlobal) {
  Symbolizer symbolizer;
  EXPECT_FALSE(symbolizer.global(own_map().find(code_here()).value()).has_value());
}

TEST(SymbolizerTest, AllGlobalsAreListedWithoutOverlaps) {
  Symbolizer symbolizer;
  const std::vector<GlobalSymbol> all = symbolizer.globals(own_path());
  EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                          [](const GlobalSymbol& one) { return one.name == "symbolizer_test_global"; }));
  for (std::size_t index = 1; index < all.size(); ++index) {
    EXPECT_LE(all[index - 1].address + all[index - 1].size, all[index].address);
  }
}

TEST(SymbolizerTest, MissingFileLeavesModuleAndOffset) {
  Symbolizer symbolizer;
  const std::vector<Site> frames = symbolizer.frames({"/nowhere/libgone.so", 0x1234});
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0], (Site{"", "", 0, "/nowhere/libgone.so", 0x1234}));
}

// A copy of the test's file, changed by a tool of binutils.
std::string changed_copy(const std::string& command, const std::string& name) {
  std::string path = temp_path(name);
  const std::string line = command + " '" + own_path() + "' '" + path + "' 2>/dev/null";
  return std::system(line.c_str()) == 0 ? path : "";
}

TEST(SymbolizerTest, WithoutDebugInformationTheSymbolTableGivesTheFunction) {
  const std::string copy = changed_copy("objcopy --strip-debug", "no-debug");
  if (copy.empty()) GTEST_SKIP() << "objcopy is not installed";
  const std::uint64_t address = own_map().find(Subject::call().code - 1)->address;
  Symbolizer symbolizer;
  const std::vector<Site> frames = symbolizer.frames({copy, address});
  std::filesystem::remove(copy);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "deadheat::(anonymous namespace)::Subject::call()");
  EXPECT_EQ(frames[0].line, 0U);
}

TEST(SymbolizerTest, StrippedFileLeavesModuleAndOffset) {
  const std::string copy = changed_copy("objcopy --strip-all", "stripped");
  if (copy.empty()) GTEST_SKIP() << "objcopy is not installed";
  const std::uint64_t address = own_map().find(Subject::call().code - 1)->address;
  Symbolizer symbolizer;
  const std::vector<Site> frames = symbolizer.frames({copy, address});
  std::filesystem::remove(copy);
  EXPECT_EQ(frames, (std::vector<Site>{{"", "", 0, copy, address}}));
}

TEST(SymbolizerTest, SeparateDebugFileIsFoundByItsLink) {
  const std::string debug = changed_copy("objcopy --only-keep-debug", "separate.debug");
  if (debug.empty()) GTEST_SKIP() << "objcopy is not installed";
  const std::string copy = changed_copy(
      "objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink='" + debug + "'", "separate");
  const Called called = Subject::call();
  const std::uint64_t address = own_map().find(called.code - 1)->address;
  Symbolizer symbolizer;
  const std::vector<Site> frames = symbolizer.frames({copy, address});
  std::filesystem::remove(copy);
  std::filesystem::remove(debug);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].line, called.line);
}

TEST(ModuleMapTest, PresentModulesComeBeforeThoseThatAreGone) {
  ModuleMap map;
  map.replace({{0x1000, 0x2000, 0x1000, "/a"}, {0x5000, 0x6000, 0x4000, "/b"}});
  EXPECT_EQ(map.find(0x1010), (FileAddress{"/a", 0x10}));
  EXPECT_EQ(map.find(0x5010), (FileAddress{"/b", 0x1010}));
  EXPECT_FALSE(map.find(0x2000).has_value());
  EXPECT_FALSE(map.find(0xfff).has_value());
  map.replace({{0x1000, 0x1800, 0x1000, "/c"}});
  EXPECT_EQ(map.find(0x1010)->path, "/c");
  EXPECT_EQ(map.find(0x1900)->path, "/a") << "it was unloaded, but may be in the stack of an earlier access";
  EXPECT_EQ(map.find(0x5010)->path, "/b");
}

}  // namespace
}  // namespace deadheat
