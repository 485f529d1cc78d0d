// SPDX-License-Identifier: Apache-2.0
// What the compiler wrapper adds to a command line, and what it leaves alone.
// The shapes of the command lines are those that CMake, Meson, Make, ccache and
// autoconf produce.
#include "cli/compile_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/shell.h"

namespace deadheat {
namespace {

using Words = std::vector<std::string>;

const Result<InstallLayout> kInstalled = InstallLayout{"/opt/lib/deadheat"};

Words words_of(const Words& arguments, CompilerFamily family) {
  auto result = instrumented_arguments(arguments, family, kInstalled);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result.value() : Words{};
}

Words clang_words(const Words& arguments) { return words_of(arguments, CompilerFamily::kClang); }
Words gcc_words(const Words& arguments) { return words_of(arguments, CompilerFamily::kGcc); }

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool links_runtime(const Words& words) { return has(words, "-Wl,/opt/lib/deadheat/libdeadheat_rt.a"); }

std::string refusal_of(const Words& arguments) {
  const auto result = instrumented_arguments(arguments, CompilerFamily::kClang, kInstalled);
  return result.ok() ? "" : result.error().message;
}

// The user's words, in their order, with nothing between them.
bool contains_in_order(const Words& words, const Words& user) {
  return std::search(words.begin(), words.end(), user.begin(), user.end()) != words.end();
}

TEST(CompileArgumentsTest, QuestionsToTheCompilerPassUnchanged) {
  for (const Words& question : {Words{"--version"}, Words{"-v"}, Words{}, Words{"-Wl,--version"}, Words{"-dumpmachine"},
                                Words{"-print-search-dirs"}, Words{"--print-file-name=libc.so"}, Words{"--help"},
                                Words{"-o", "out"}, Words{"-print-prog-name=ld", "a.c"}}) {
    EXPECT_EQ(clang_words(question), question);
    EXPECT_EQ(gcc_words(question), question);
  }
}

TEST(CompileArgumentsTest, CompilingAddsInstrumentationAndNoRuntime) {
  for (const std::string stop : {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"}) {
    for (const CompilerFamily family : {CompilerFamily::kGcc, CompilerFamily::kClang}) {
      const Words user = {stop, "a.cpp", "-o", "out"};
      const Words words = words_of(user, family);
      EXPECT_EQ(words.front(), "-fsanitize=thread") << stop;
      EXPECT_TRUE(contains_in_order(words, user)) << stop;
      EXPECT_EQ(words.back(), "out") << stop;
    }
  }
}

// The package that find_package(Deadheat) gives is another way to the same options.
TEST(CompileArgumentsTest, CmakePackageHasTheSameOptions) {
  std::ifstream file(DEADHEAT_SOURCE_DIR "/cmake/DeadheatConfig.cmake.in");
  const std::string package((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(package.empty());
  for (const CompilerFamily family : {CompilerFamily::kGcc, CompilerFamily::kClang}) {
    for (const std::string& word : words_of({"-c", "a.cpp"}, family)) {
      EXPECT_TRUE(word == "-c" || word == "a.cpp" || contains(package, word)) << word;
    }
  }
}

TEST(CompileArgumentsTest, CompilingNeedsNoRuntime) {
  const Result<InstallLayout> nothing = Error{ErrorCode::kIo, "not installed"};
  EXPECT_TRUE(instrumented_arguments({"-c", "a.c"}, CompilerFamily::kGcc, nothing).ok());
  const auto linked = instrumented_arguments({"a.o"}, CompilerFamily::kGcc, nothing);
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().message, "not installed");
}

TEST(CompileArgumentsTest, WritingDependenciesDoesNotStopTheLink) {
  EXPECT_TRUE(links_runtime(clang_words({"-MD", "-MF", "a.d", "-MT", "a.o", "a.cpp", "-o", "a"})));
}

TEST(CompileArgumentsTest, DebugInformationIsAddedOnlyWhenNobodyDecided) {
  EXPECT_TRUE(has(gcc_words({"-c", "a.c"}), "-g1"));
  EXPECT_TRUE(has(gcc_words({"-c", "a.c", "-gz"}), "-g1"));
  for (const std::string option : {"-g", "-g0", "-g3", "-ggdb", "-gdwarf-5", "-gsplit-dwarf"}) {
    EXPECT_FALSE(has(gcc_words({"-c", option, "a.c"}), "-g1")) << option;
  }
}

TEST(CompileArgumentsTest, ClangLinksOurRuntimeAndNotItsOwn) {
  for (const Words& user : {Words{"a.o", "-o", "a"}, Words{"a.cpp", "-o", "a"}, Words{"-x", "c++", "-", "-lm"}}) {
    const Words words = clang_words(user);
    EXPECT_EQ(has(words, "-fsanitize=thread"), has(words, "-fno-sanitize-link-runtime"));
    EXPECT_TRUE(links_runtime(words));
    EXPECT_TRUE(has(words, "-Wl,--dynamic-list=/opt/lib/deadheat/deadheat.syms"));
    EXPECT_TRUE(contains_in_order(words, user));
  }
}

TEST(CompileArgumentsTest, GccDriverNeverSeesTheSanitizerInALink) {
  for (const Words& user : {Words{"a.o", "-fsanitize=thread"}, Words{"a.cpp"}, Words{"-fsanitize=thread", "a.cpp"}}) {
    const Words words = gcc_words(user);
    EXPECT_FALSE(has(words, "-fsanitize=thread"));
    EXPECT_TRUE(has(words, "-specs=/opt/lib/deadheat/gcc.specs"));
    EXPECT_TRUE(links_runtime(words));
  }
}

TEST(CompileArgumentsTest, SharedLibrariesGetNoRuntime) {
  for (const std::string option : {"-shared", "--shared", "-Wl,-shared"}) {
    EXPECT_FALSE(links_runtime(clang_words({option, "a.o", "-o", "a.so"}))) << option;
    EXPECT_FALSE(links_runtime(gcc_words({option, "a.cpp", "-o", "a.so"}))) << option;
  }
  for (const std::string option : {"-r", "-Wl,-r", "-Wl,--relocatable"}) {
    EXPECT_FALSE(links_runtime(gcc_words({option, "a.o", "-o", "b.o"}))) << option;
  }
}

TEST(CompileArgumentsTest, SharedLibrariesMayLackTheRuntimesSymbols) {
  for (const Words& strict : {Words{"-Wl,-z,defs"}, Words{"-Wl,--as-needed,--no-undefined"}, Words{"-z", "defs"},
                              Words{"-Xlinker", "-z", "-Xlinker", "defs"}}) {
    Words user = {"-shared", "a.o"};
    user.insert(user.end(), strict.begin(), strict.end());
    EXPECT_EQ(clang_words(user).back(), "-Wl,-zundefs") << strict.back();
  }
  EXPECT_FALSE(has(clang_words({"-shared", "a.o"}), "-Wl,-zundefs"));
  EXPECT_FALSE(has(clang_words({"a.o", "-Wl,-z,defs"}), "-Wl,-zundefs"));
}

TEST(CompileArgumentsTest, HeadersAreCompiledAndNotLinked) {
  EXPECT_FALSE(links_runtime(gcc_words({"all.h", "-o", "all.h.gch"})));
  EXPECT_FALSE(links_runtime(gcc_words({"-x", "c++-header", "all.inc", "-o", "all.gch"})));
  EXPECT_TRUE(links_runtime(gcc_words({"-include", "all.h", "a.cpp"})));
}

TEST(CompileArgumentsTest, ValuesOfOptionsAreNotInputs) {
  for (const Words& user : {Words{"-I", "dir", "-v"}, Words{"-o", "a.out"}, Words{"-Xlinker", "a.o"},
                            Words{"--param", "x=1"}, Words{"-mllvm", "-stats"}, Words{"-include", "a.h"}}) {
    EXPECT_EQ(gcc_words(user), user) << user[0];
  }
}

// clang warns of options without use, and -Werror makes that an error.
TEST(CompileArgumentsTest, ObjectsAndAssemblerTextAreNotInstrumented) {
  EXPECT_EQ(clang_words({"-c", "a.s"}), (Words{"-c", "a.s"}));
  EXPECT_EQ(clang_words({"-c", "-x", "assembler-with-cpp", "a.inc"}),
            (Words{"-c", "-x", "assembler-with-cpp", "a.inc"}));
  EXPECT_FALSE(has(clang_words({"a.o", "-fsanitize=thread"}), "-fsanitize=thread"));
  EXPECT_TRUE(has(clang_words({"-c", "a.s", "a.c"}), "-fsanitize=thread"));
}

TEST(CompileArgumentsTest, UndefinedBehaviourSanitizerKeepsItsRuntime) {
  const Words one_step = clang_words({"-fsanitize=undefined,thread", "a.cpp"});
  EXPECT_TRUE(has(one_step, "-fsanitize=undefined"));
  EXPECT_FALSE(has(one_step, "-fno-sanitize-link-runtime"));
  EXPECT_TRUE(contains_in_order(one_step, {"-Xclang", "-fsanitize=thread"}));
  const Words link = clang_words({"-fsanitize=undefined", "a.o"});
  EXPECT_EQ(link.front(), "-fsanitize=undefined");
}

TEST(CompileArgumentsTest, UsersOptionsComeAfterOursAndWin) {
  const Words words = clang_words({"-c", "-fno-sanitize=thread", "a.cpp"});
  EXPECT_EQ(words.front(), "-fsanitize=thread");
  EXPECT_TRUE(contains_in_order(words, {"-c", "-fno-sanitize=thread", "a.cpp"}));
}

TEST(CompileArgumentsTest, ClangVectorsStayAsWideAsItInstruments) {
  EXPECT_TRUE(has(clang_words({"-c", "-mavx2", "a.c"}), "-mprefer-vector-width=128"));
  EXPECT_TRUE(has(clang_words({"-c", "-march=native", "a.c"}), "-mprefer-vector-width=128"));
  EXPECT_FALSE(has(clang_words({"-c", "a.c"}), "-mprefer-vector-width=128"));
  EXPECT_FALSE(has(clang_words({"-c", "-mavx2", "-mprefer-vector-width=256", "a.c"}), "-mprefer-vector-width=128"));
  EXPECT_FALSE(has(gcc_words({"-c", "-mavx2", "a.c"}), "-mprefer-vector-width=128"));
}

TEST(CompileArgumentsTest, WhatCannotWorkIsRefused) {
  for (const std::string option : {"-static", "--static", "-static-pie", "-m32", "-fsanitize=address",
                                   "-fsanitize=thread,memory", "-fsanitize=leak"}) {
    const std::string message = refusal_of({option, "a.cpp"});
    EXPECT_NE(message.find(option), std::string::npos) << option << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  for (const Words& fine : {Words{"-static", "-c", "a.c"}, Words{"-static-libstdc++", "-static-libgcc", "a.cpp"},
                            Words{"-m32", "-m64", "a.c"}, Words{"-fno-sanitize=address", "a.c"}}) {
    EXPECT_EQ(refusal_of(fine), "") << fine[0];
  }
}

TEST(CompileArgumentsTest, ResponseFilesAreUnderstoodAndPassedOn) {
  const Shell shell;
  shell.write_file("inner", "-shared");
  shell.write_file("options", "-DTEXT=\"a b\" 'x y.cpp' -Dquote=\\\" @" + shell.path("inner") + "\n");
  const std::string argument = "@" + shell.path("options");
  EXPECT_EQ(expand_response_files({argument, "@/no/such/file", "@"}),
            (Words{"-DTEXT=a b", "x y.cpp", "-Dquote=\"", "-shared", "@/no/such/file", "@"}));
  const Words words = gcc_words({argument});
  EXPECT_TRUE(has(words, argument));
  EXPECT_FALSE(links_runtime(words));
}

TEST(CompileArgumentsTest, SanitizerInsideAResponseFileIsTakenOut) {
  const Shell shell;
  shell.write_file("options", "-fsanitize=thread a.o");
  const Words words = gcc_words({"@" + shell.path("options"), "b.o"});
  EXPECT_TRUE(contains_in_order(words, {"a.o", "b.o"}));
  EXPECT_FALSE(has(words, "-fsanitize=thread"));
}

TEST(CompileArgumentsTest, ResponseFileThatNamesItselfEnds) {
  const Shell shell;
  shell.write_file("loop", "a.o @" + shell.path("loop"));
  EXPECT_FALSE(expand_response_files({"@" + shell.path("loop")}).empty());
}

TEST(CompileArgumentsTest, WhoSelectsAccessesGetsTheCompilersOwnChecks) {
  const auto uses_plugin = [](const Words& user) {
    const auto words = instrumented_arguments(user, CompilerFamily::kClang, kInstalled, {PassLevel::kFull, false});
    return words.ok() && has(words.value(), "-fpass-plugin=" + kInstalled.value().pass_plugin());
  };
  EXPECT_TRUE(uses_plugin({"-c", "a.cpp"}));
  EXPECT_TRUE(uses_plugin({"-c", "a.cpp", "-mllvm", "-unroll-count=2"}));
  EXPECT_FALSE(uses_plugin({"-c", "a.cpp", "-fno-sanitize-thread-memory-access"}));
  EXPECT_FALSE(uses_plugin({"-c", "a.cpp", "-fno-sanitize-thread-atomics"}));
  EXPECT_FALSE(uses_plugin({"-c", "a.cpp", "-mllvm", "-tsan-instrument-memory-accesses=0"}));
}

TEST(CompileArgumentsTest, CommasInTheInstallationPathReachTheLinkerWhole) {
  const auto words = instrumented_arguments({"a.o"}, CompilerFamily::kClang, InstallLayout{"/a,b"});
  ASSERT_TRUE(words.ok());
  EXPECT_TRUE(contains_in_order(words.value(), {"-Xlinker", "/a,b/libdeadheat_rt.a"}));
}

TEST(CompileArgumentsTest, ShownCommandSurvivesTheShell) {
  const Shell shell;
  const Words words = {"a b", "it's", "$HOME", "-DX=\"y\"", "", "*"};
  const CommandResult result = shell.run("printf '%s\\n' " + shell_quoted(words));
  EXPECT_EQ(result.output, "a b\nit's\n$HOME\n-DX=\"y\"\n\n*\n");
}

}  // namespace
}  // namespace deadheat
