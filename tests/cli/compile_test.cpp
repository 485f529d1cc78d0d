// SPDX-License-Identifier: Apache-2.0
// `deadheat cc` and `deadheat c++` as commands: which compiler runs, and that it
// is as if it had been called directly.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/shell.h"

namespace deadheat {
namespace {

TEST(CompileTest, HelpIsOursUnderTheTwoWordName) {
  const Shell shell;
  for (const std::string command : {"cc", "c++"}) {
    const CommandResult result = shell.run("deadheat " + command + " --help");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.output, "Usage: deadheat " + command)) << result.output;
    EXPECT_TRUE(contains(result.output, "Examples:\n  deadheat " + command)) << result.output;
    EXPECT_TRUE(contains(result.output, "Exit codes: 0 ")) << result.output;
  }
}

TEST(CompileTest, OneWordCommandsAreTheSame) {
  const Shell shell;
  for (const std::string language : {"cc", "c++"}) {
    const CommandResult two = shell.run("deadheat " + language + " --deadheat-show -c a.c");
    const CommandResult one = shell.run("deadheat-" + language + " --deadheat-show -c a.c");
    EXPECT_EQ(one.exit_code, 0) << one.errors;
    EXPECT_EQ(one.output, two.output);
    EXPECT_TRUE(contains(one.output, "-fsanitize=thread")) << one.output;
  }
}

TEST(CompileTest, OptionChoosesTheCompilerBeforeTheEnvironment) {
  const Shell shell;
  EXPECT_TRUE(contains(shell.run("deadheat c++ --cxx=g++ --deadheat-show -c a.cpp").output, "/g++ "));
  EXPECT_TRUE(contains(shell.run("DEADHEAT_CXX=g++ deadheat c++ --deadheat-show -c a.cpp").output, "/g++ "));
  EXPECT_TRUE(contains(shell.run("DEADHEAT_CC=gcc deadheat-cc --deadheat-show -c a.c").output, "/gcc "));
  const CommandResult both = shell.run("DEADHEAT_CXX=nowhere deadheat c++ --cxx=g++ --deadheat-show -c a.cpp");
  EXPECT_TRUE(contains(both.output, "/g++ ")) << both.errors;
}

TEST(CompileTest, LauncherMayStandInFrontOfTheCompiler) {
  const Shell shell;
  const CommandResult result = shell.run(
      "printf '#!/bin/sh\\necho launched \"$1\"\\nexec \"$@\"\\n' >launcher; chmod +x launcher\n"
      "echo 'int x;' >a.cpp\n"
      "deadheat-c++ '--cxx=./launcher g++' -c a.cpp && test -f a.o");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "launched g++\n");
}

TEST(CompileTest, MessagesAndStatusAreTheCompilersOwn) {
  const Shell shell;
  const CommandResult result = shell.run(
      "echo 'int x = nonsense;' >a.cpp; g++ -c a.cpp 2>expected; deadheat c++ --cxx=g++ -c a.cpp 2>seen\n"
      "status=$?; cmp expected seen && exit $status");
  EXPECT_EQ(result.exit_code, 1) << result.errors << result.output;
}

TEST(CompileTest, CompilerThatDiesOfASignalIsSeenToDo) {
  const Shell shell;
  const CommandResult result = shell.run(
      "printf '#!/bin/sh\\nkill -TERM $$\\n' >fake-gcc; chmod +x fake-gcc\n"
      "deadheat cc --cc=./fake-gcc -c a.c; exit $?");
  EXPECT_EQ(result.exit_code, 128 + 15);
}

// Build systems preprocess first and compile the result (ccache, distcc).
TEST(CompileTest, PreprocessorKnowsThatTheSanitizerIsOn) {
  const Shell shell;
  shell.write_file("a.cpp",
                   "#if defined(__SANITIZE_THREAD__)\nint on;\n"
                   "#elif defined(__has_feature)\n#if __has_feature(thread_sanitizer)\nint on;\n#endif\n#endif\n");
  for (const std::string compiler : {"g++", "clang++-19"}) {
    if (shell.run("command -v " + compiler).exit_code != 0) continue;
    const CommandResult result = shell.run("deadheat c++ --cxx=" + compiler + " -E a.cpp");
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_TRUE(contains(result.output, "int on;")) << compiler << result.output;
  }
}

TEST(CompileTest, WhatCannotWorkIsOneLineAndStatusTwo) {
  const Shell shell;
  for (const std::string arguments : {"-static a.cpp", "-m32 -c a.cpp", "-fsanitize=address a.cpp",
                                      "--cxx=nowhere a.cpp", "--cxx=deadheat a.cpp", "--cxx=deadheat-c++ a.cpp"}) {
    const CommandResult result = shell.run("deadheat c++ " + arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << arguments << ": " << result.errors;
    EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
  }
}

// The plugin is not built where LLVM's headers are missing, or without the runtime.
bool has_plugin(const Shell& shell) {
  return shell.run("test -f " DEADHEAT_BUILD_DIR "/lib/deadheat/libdeadheat_pass.so && command -v clang++-19")
             .exit_code == 0;
}

TEST(CompileTest, PassIsUsedWhereTheCompilerTakesIt) {
  const Shell shell;
  if (!has_plugin(shell)) GTEST_SKIP() << "no plugin, or no clang 19";
  const auto words = [&](const std::string& options) {
    return shell.run("deadheat c++ --deadheat-show " + options + " a.cpp").output;
  };
  EXPECT_TRUE(contains(words("--cxx=clang++-19 -c"), "-fpass-plugin="));
  EXPECT_TRUE(contains(words("--cxx=clang++-19"), "-fpass-plugin="));
  EXPECT_TRUE(contains(words("--cxx=clang++-19 --pass=plain -c"), "-deadheat-level=plain"));
  EXPECT_FALSE(contains(words("--cxx=clang++-19 --pass=full -c"), "-deadheat-level"));
  for (const std::string way : {"--no-pass", "--pass=no"}) {
    const std::string calls = words("--cxx=clang++-19 " + way + " -c");
    EXPECT_TRUE(contains(calls, "-deadheat-level=calls")) << calls;
    EXPECT_FALSE(contains(calls, "-tsan-instrument-memory-accesses=0")) << calls;
  }
  EXPECT_FALSE(contains(words("--cxx=clang++-19 -E"), "-fpass-plugin="));
  EXPECT_FALSE(contains(words("--cxx=g++ -c"), "-fpass-plugin="));
}

TEST(CompileTest, PassThatCannotBeHadIsAnErrorOnlyWhenAskedFor) {
  const Shell shell;
  EXPECT_EQ(shell.run("deadheat c++ --cxx=g++ --deadheat-show -c a.cpp").exit_code, 0);
  for (const std::string options : {"--cxx=g++ --pass=full", "--cxx=g++ --pass=plain", "--pass=nonsense"}) {
    const CommandResult result = shell.run("deadheat c++ " + options + " -c a.cpp");
    EXPECT_EQ(result.exit_code, 2) << options;
    EXPECT_EQ(result.errors.rfind("deadheat: error: ", 0), 0U) << options << ": " << result.errors;
  }
  const CommandResult explained = shell.run("echo 'int x;' >a.cpp; deadheat c++ --cxx=g++ --explain -c a.cpp");
  EXPECT_EQ(explained.exit_code, 0);
  EXPECT_TRUE(contains(explained.errors, "checked by calls: ")) << explained.errors;
}

TEST(CompileTest, PassExplainsWhatItDid) {
  const Shell shell;
  if (!has_plugin(shell)) GTEST_SKIP() << "no plugin, or no clang 19";
  shell.write_file("a.cpp",
                   "void f(); long sum(long* p, long n) {\n  long s = 0;\n"
                   "  for (long i = 0; i < n; ++i) s += p[i];\n"
                   "  for (long i = 0; i < n; ++i) { s += p[i]; f(); }\n  return s;\n}\n");
  const CommandResult result = shell.run("deadheat c++ --cxx=clang++-19 -O2 --explain -c a.cpp");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(result.errors, "a.cpp:3:")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "read of 8 bytes is checked before the loop")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "the loop has a call that may synchronise")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "1 accesses checked inline, in 1 checks")) << result.errors;
}

// Options without use are a warning of clang, and an error in strict builds.
TEST(CompileTest, PassLeavesStrictBuildsAlone) {
  const Shell shell;
  if (!has_plugin(shell)) GTEST_SKIP() << "no plugin, or no clang 19";
  shell.write_file("a.c", "int x;\nint main(void) { return x; }\n");
  shell.write_file("b.s", ".globl b\nb: ret\n.section .note.GNU-stack,\"\",@progbits\n");
  for (const std::string command :
       {"-E a.c", "-c a.c", "-S a.c", "-fsyntax-only a.c", "-M a.c", "-c b.s", "-c -flto a.c", "-S -emit-llvm a.c",
        "a.c -o a", "a.c b.s -o a", "-x c-header a.c -o a.pch", "-fPIC -shared a.c -o a.so"}) {
    const CommandResult result = shell.run("deadheat cc --cc=clang-19 -Werror " + command);
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.errors;
    EXPECT_EQ(result.errors, "") << command;
  }
}

TEST(CompileTest, MesonTakesTheWrapperForACompiler) {
  const Shell shell;
  if (shell.run("command -v meson && command -v ninja").exit_code != 0) GTEST_SKIP() << "no meson, or no ninja";
  shell.write_file("part.cpp", "long counter;\nvoid count() { counter = counter + 1; }\n");
  shell.write_file("main.cpp",
                   "#include <thread>\nvoid count();\n"
                   "int main() { std::thread a(count), b(count); a.join(); b.join(); }\n");
  shell.write_file("meson.build",
                   "project('counter', 'cpp', default_options: ['buildtype=debugoptimized'])\n"
                   "part = shared_library('part', 'part.cpp')\n"
                   "executable('main', 'main.cpp', link_with: part, dependencies: dependency('threads'))\n");
  const auto races_of_build = [&](const std::string& name, const std::string& compiler) {
    const CommandResult built = shell.run("CXX='" + compiler + "' meson setup " + name + " && ninja -C " + name);
    EXPECT_EQ(built.exit_code, 0) << compiler << built.output << built.errors;
    return shell.run("deadheat run " + name + "/main").exit_code;
  };
  EXPECT_EQ(races_of_build("one-word", "deadheat-c++"), 66);
  EXPECT_EQ(races_of_build("two-words", "deadheat c++ --cxx=g++"), 66);
}

bool has_ccache(const Shell& shell) { return shell.run("command -v ccache").exit_code == 0; }

// A cache of its own. The command leaves a.o; true if that came out of the cache.
bool is_hit(const Shell& shell, const std::string& command) {
  const CommandResult result = shell.run(
      "export CCACHE_DIR=$PWD/cache CCACHE_NOHASHDIR=1; unset CCACHE_DISABLE CCACHE_RECACHE\n"
      "ccache -z >/dev/null; rm -f a.o; " +
      command + " && test -f a.o && ccache --print-stats");
  EXPECT_EQ(result.exit_code, 0) << command << result.errors;
  const bool hit =
      contains(result.output, "direct_cache_hit\t1\n") || contains(result.output, "preprocessed_cache_hit\t1\n");
  EXPECT_NE(hit, contains(result.output, "cache_miss\t1\n")) << command << result.output;
  return hit;
}

TEST(CompileTest, CacheBehindTheWrapperHasTheRightObjectOfEachLevel) {
  const Shell shell;
  if (!has_ccache(shell)) GTEST_SKIP() << "no ccache";
  shell.write_file("a.cpp", "long counter;\nvoid count() { counter = counter + 1; }\n");
  std::vector<std::pair<std::string, std::string>> ways = {{"g++", ""}};
  if (has_plugin(shell)) {
    for (const std::string level : {"no", "plain", "full"}) ways.emplace_back("clang++-19", "--pass=" + level);
  }
  for (const auto& [compiler, level] : ways) {
    const std::string rest = level + " -O2 -c a.cpp";
    EXPECT_FALSE(is_hit(shell, "deadheat-c++ '--cxx=ccache " + compiler + "' " + rest)) << rest;
  }
  for (const auto& [compiler, level] : ways) {
    const std::string rest = level + " -O2 -c a.cpp";
    EXPECT_TRUE(is_hit(shell, "deadheat-c++ '--cxx=ccache " + compiler + "' " + rest)) << rest;
    const CommandResult same =
        shell.run("mv a.o cached.o; deadheat-c++ --cxx=" + compiler + " " + rest + " && cmp a.o cached.o");
    EXPECT_EQ(same.exit_code, 0) << rest << same.output << same.errors;
  }
}

TEST(CompileTest, CacheBehindTheWrapperSeesANewPlugin) {
  const Shell shell;
  if (!has_ccache(shell)) GTEST_SKIP() << "no ccache";
  if (!has_plugin(shell)) GTEST_SKIP() << "no plugin, or no clang 19";
  shell.write_file("a.cpp", "long counter;\nvoid count() { counter = counter + 1; }\n");
  ASSERT_EQ(shell.run("cp -r " DEADHEAT_BUILD_DIR "/lib/deadheat lib").exit_code, 0);
  const std::string compile = "DEADHEAT_LIB_DIR=$PWD/lib deadheat-c++ '--cxx=ccache clang++-19' -O2 -c a.cpp";
  EXPECT_FALSE(is_hit(shell, compile));
  EXPECT_TRUE(is_hit(shell, compile));
  // What comes after the last section of a library does not change what it does.
  ASSERT_EQ(shell.run("echo >>lib/libdeadheat_pass.so").exit_code, 0);
  EXPECT_FALSE(is_hit(shell, compile));
}

TEST(CompileTest, CacheInFrontOfTheWrapperTellsTheLevelsApart) {
  const Shell shell;
  if (!has_ccache(shell)) GTEST_SKIP() << "no ccache";
  if (!has_plugin(shell)) GTEST_SKIP() << "no plugin, or no clang 19";
  shell.write_file("a.cpp", "long counter;\nvoid count() { counter = counter + 1; }\n");
  EXPECT_FALSE(is_hit(shell, "ccache deadheat-c++ --cxx=clang++-19 --pass=full -O2 -c a.cpp"));
  EXPECT_FALSE(is_hit(shell, "ccache deadheat-c++ --cxx=clang++-19 --pass=no -O2 -c a.cpp"));
  EXPECT_FALSE(is_hit(shell, "ccache deadheat-c++ --cxx=g++ -O2 -c a.cpp"));
  EXPECT_TRUE(is_hit(shell, "ccache deadheat-c++ --cxx=clang++-19 --pass=full -O2 -c a.cpp"));
}

TEST(CompileTest, LinkWithoutARuntimeSaysWhereItLooked) {
  const CommandResult result = Shell().run("DEADHEAT_LIB_DIR=/nowhere deadheat c++ a.o");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "/nowhere/libdeadheat_rt.a")) << result.errors;
}

}  // namespace
}  // namespace deadheat
