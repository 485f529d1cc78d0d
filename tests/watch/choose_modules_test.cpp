// SPDX-License-Identifier: Apache-2.0
#include "watch/choose_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/temp_path.h"
#include "watch/needed_libraries.h"

namespace deadheat::watch {
namespace {

namespace files = std::filesystem;

std::string self() { return files::canonical("/proc/self/exe").string(); }

bool has_library(const std::vector<std::string>& paths, const std::string& name) {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return files::path(path).filename().string().starts_with(name); });
}

// A program that needs libone, found by its own run path, which needs libtwo, which only
// LD_LIBRARY_PATH leads to.
class ChooseModules : public testing::Test {
 protected:
  void SetUp() override {
    folder = temp_path("modules");
    files::create_directories(folder + "/own");
    files::create_directories(folder + "/set");
    write("two.cpp", "int two() { return 2; }");
    write("one.cpp", "int two(); int one() { return two(); }");
    write("main.cpp", "int one(); int main() { return one(); }");
    const std::string build =
        "cd " + folder +
        " && g++ -shared -fPIC two.cpp -o set/libtwo.so.1 -Wl,-soname,libtwo.so.1"
        " && g++ -shared -fPIC one.cpp -o own/libone.so set/libtwo.so.1 -Wl,-soname,libone.so"
        " && g++ main.cpp -o main own/libone.so -Wl,--allow-shlib-undefined '-Wl,-rpath,$ORIGIN/own' 2>/dev/null";
    if (std::system(build.c_str()) != 0) GTEST_SKIP() << "no g++ here";
    folder = files::canonical(folder).string();
  }
  void TearDown() override { files::remove_all(folder); }

  void write(const std::string& name, std::string_view text) const { std::ofstream(folder + "/" + name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder + "/" + name; }

  std::string folder;
};

using Paths = std::vector<std::string>;

TEST_F(ChooseModules, TakesTheProgramAlone) {
  EXPECT_EQ(choose_modules(path("main"), {}, "").value(), Paths{path("main")});
}

TEST_F(ChooseModules, FindsLibrariesAsTheLoaderDoes) {
  const auto needed = needed_libraries(path("main"), path("set"));
  ASSERT_TRUE(needed.ok());
  EXPECT_TRUE(needed.value().missing.empty());
  EXPECT_EQ(needed.value().paths.front(), path("own/libone.so"));
  EXPECT_TRUE(has_library(needed.value().paths, "libtwo.so.1"));
  EXPECT_TRUE(has_library(needed.value().paths, "libc.so.6"));
}

TEST_F(ChooseModules, MatchesNamesAndPaths) {
  for (const char* pattern : {"libtwo", "libtwo.so.1", "libt*", "*/set/*"}) {
    EXPECT_EQ(choose_modules(path("main"), {pattern}, path("set")).value(),
              (Paths{path("main"), path("set/libtwo.so.1")}))
        << pattern;
  }
}

TEST_F(ChooseModules, TakesEachFileOnce) {
  EXPECT_EQ(choose_modules(path("main"), {"libone", "libone*", "main"}, path("set")).value(),
            (Paths{path("main"), path("own/libone.so")}));
}

TEST_F(ChooseModules, TakesALibraryByItsPath) {
  EXPECT_EQ(choose_modules(path("main"), {path("set/libtwo.so.1")}, "").value(),
            (Paths{path("main"), path("set/libtwo.so.1")}));
}

TEST_F(ChooseModules, LeavesTheUntouchableOutOfAWildPattern) {
  const Paths chosen = choose_modules(path("main"), {"*"}, path("set")).value();
  EXPECT_TRUE(has_library(chosen, "libone.so"));
  EXPECT_FALSE(has_library(chosen, "libc.so"));
  EXPECT_FALSE(has_library(chosen, "ld-linux"));
}

TEST_F(ChooseModules, SaysWhyNothingMatches) {
  const auto message = [&](const std::string& pattern) {
    return choose_modules(path("main"), {pattern}, "").error().message;
  };
  EXPECT_NE(message("libc").find("which is never watched: the agent itself uses it"), std::string::npos);
  EXPECT_NE(message("libtwo*").find("matches 'libtwo.so.1', but that file is not found"), std::string::npos);
  EXPECT_NE(message("libz").find("matches no library that '" + path("main") + "' needs (libone.so"), std::string::npos);
}

TEST(ChooseModulesOf, RefusesWhatIsNoProgram) {
  const std::string script = temp_path("script");
  std::ofstream(script) << "#!/bin/sh\n";
  EXPECT_EQ(choose_modules(script, {}, "").error().message,
            "'" + script + "' is a script; name the program that runs it");
  files::remove(script);
}

TEST(ChooseModulesOf, ARunningProcessByItsMap) {
  const auto chosen = choose_modules(::getpid(), {"libstdc++*"});
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value().front(), self());
  EXPECT_TRUE(has_library(chosen.value(), "libstdc++.so.6"));
  EXPECT_NE(choose_modules(::getpid(), {"nothing"}).error().message.find("has loaded ("), std::string::npos);
}

TEST(ChooseModulesOf, ProcessesThatDoNotExist) {
  EXPECT_EQ(choose_modules(pid_t{999999999}, {}).error().message,
            "cannot look at process 999999999: No such file or directory");
}

TEST(NeededLibraries, FindsAllThatThisTestHasLoaded) {
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  const auto needed = needed_libraries(self(), library_path == nullptr ? "" : library_path);
  ASSERT_TRUE(needed.ok());
  EXPECT_TRUE(needed.value().missing.empty());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos || line.find(" r-xp ") == std::string::npos || line.substr(at) == self()) continue;
    EXPECT_NE(std::find(needed.value().paths.begin(), needed.value().paths.end(), line.substr(at)),
              needed.value().paths.end())
        << line;
  }
}

TEST(LoaderCache, SurvivesDamage) {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) GTEST_SKIP() << "no /etc/ld.so.cache here";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_TRUE(path_in_loader_cache(bytes, "libc.so.6").ends_with("libc.so.6"));
  EXPECT_EQ(path_in_loader_cache(bytes, "libnone.so"), "");
  for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 4096); ++size) {
    EXPECT_EQ(path_in_loader_cache(bytes.first(size), "libnone.so"), "");
  }
}

TEST(ReasonAgainst, NamesWhatTheAgentStandsOn) {
  for (const char* path : {"/lib/libc.so.6", "/lib/libc-2.28.so", "/lib64/ld-linux-x86-64.so.2",
                           "/lib/ld-musl-x86_64.so.1", "/lib/ld-2.28.so", "/lib/libpthread.so.0", "/lib/libm.so.6",
                           "/usr/lib/libgcc_s.so.1", "/opt/libdeadheat_watch.so", "[vdso]", "linux-vdso.so.1"}) {
    EXPECT_FALSE(reason_against(path).empty()) << path;
  }
  for (const char* path : {"/lib/libcrypto.so.3", "/lib/libmemcached.so.11", "/lib/libc++.so.1", "/lib/libm17n.so.0",
                           "/bin/ld", "/bin/libc", "/lib/libldap.so"}) {
    EXPECT_TRUE(reason_against(path).empty()) << path;
  }
}

}  // namespace
}  // namespace deadheat::watch
