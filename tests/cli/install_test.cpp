// SPDX-License-Identifier: Apache-2.0
// Installs into a directory of its own and uses the result as a stranger would:
// find_package(Deadheat), pkg-config, and the wrapper as CMake's compiler.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/shell.h"

namespace deadheat {
namespace {

constexpr char kProject[] = R"(cmake_minimum_required(VERSION 3.16)
project(stranger LANGUAGES C CXX)
option(USE_PACKAGE "" OFF)
find_package(Threads REQUIRED)
add_library(part SHARED part.cpp)
add_executable(program main.cpp plain.c)
target_link_libraries(program PRIVATE part Threads::Threads)
if(USE_PACKAGE)
  find_package(Deadheat REQUIRED)
  target_link_libraries(part PRIVATE Deadheat::runtime)
  target_link_libraries(program PRIVATE Deadheat::runtime)
endif()
)";
constexpr char kProjectMain[] = R"(#include <thread>
void add();
extern "C" int minus_one(const int* value);
int main() {
  std::thread other(add);
  add();
  other.join();
  const int one = 1;
  return minus_one(&one);
}
)";

class InstallTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(DEADHEAT_BUILD_DIR "/lib/deadheat/libdeadheat_rt.a")) {
      GTEST_SKIP() << "the runtime has not been built: no " DEADHEAT_BUILD_DIR "/lib/deadheat/libdeadheat_rt.a";
    }
    run("cmake --install " DEADHEAT_BUILD_DIR " --prefix $PWD/prefix && mkdir project");
    shell_.write_file("project/CMakeLists.txt", kProject);
    shell_.write_file("project/main.cpp", kProjectMain);
    shell_.write_file("project/part.cpp", "int total; void add() { ++total; }\n");
    shell_.write_file("project/plain.c", "int minus_one(const int* value) { return *value - 1; }\n");
  }

  void run(const std::string& command) const {
    const CommandResult result = shell_.run(command);
    ASSERT_EQ(result.exit_code, 0) << command << "\n" << result.output << result.errors;
  }

  // The race in the shared library is found, by the installed `deadheat`.
  void expect_race(const std::string& program) const {
    const CommandResult result = shell_.run("prefix/bin/deadheat run " + program);
    EXPECT_EQ(result.exit_code, 66) << result.output << result.errors;
  }

  Shell shell_;
};

TEST_F(InstallTest, PackageGivesCMakeTargetsARuntime) {
  for (const std::string compiler : {"g++", "clang++-19"}) {
    if (shell_.run("command -v " + compiler).exit_code != 0) continue;
    run("cmake -S project -B " + compiler + " -G Ninja -DUSE_PACKAGE=ON -DCMAKE_PREFIX_PATH=$PWD/prefix " +
        "-DCMAKE_CXX_COMPILER=" + compiler + " && ninja -C " + compiler);
    expect_race(compiler + "/program");
  }
}

TEST_F(InstallTest, WrapperServesAsCMakesCompiler) {
  for (const std::string compiler : {"g++ gcc", "clang++-19 clang-19"}) {
    const std::string cpp = compiler.substr(0, compiler.find(' '));
    const std::string c = compiler.substr(compiler.find(' ') + 1);
    if (shell_.run("command -v " + cpp).exit_code != 0) continue;
    run("export DEADHEAT_CXX=" + cpp + " DEADHEAT_CC=" + c + "\ncmake -S project -B " + cpp + " -G Ninja " +
        "-DCMAKE_CXX_COMPILER=$PWD/prefix/bin/deadheat-c++ -DCMAKE_C_COMPILER=$PWD/prefix/bin/deadheat-cc && ninja "
        "-C " +
        cpp);
    expect_race(cpp + "/program");
  }
}

TEST_F(InstallTest, PkgConfigGivesFlagsForBothSteps) {
  run("export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig; cd project\n"
      "for file in main.cpp part.cpp; do g++ -c $file $(pkg-config --cflags deadheat) || exit 1; done\n"
      "gcc -c plain.c && g++ main.o part.o plain.o $(pkg-config --libs deadheat) -o program");
  expect_race("project/program");
}

TEST_F(InstallTest, CompilerPassIsInstalled) {
  if (!std::filesystem::exists(DEADHEAT_BUILD_DIR "/lib/deadheat/libdeadheat_pass.so")) GTEST_SKIP() << "not built";
  run("prefix/bin/deadheat c++ --cxx=clang++-19 -O2 -c project/part.cpp -o part.o");
  // The code of an inline check asks for the thread's storage.
  run("nm -u part.o | grep -q __deadheat_thread");
}

TEST_F(InstallTest, PrefixMayBeMoved) {
  run("mv prefix elsewhere && cd project && ../elsewhere/bin/deadheat-c++ main.cpp part.cpp -x c plain.c -o program");
  run("elsewhere/bin/deadheat run project/program >/dev/null 2>&1; test $? -eq 66");
}

}  // namespace
}  // namespace deadheat
