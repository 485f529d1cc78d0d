// SPDX-License-Identifier: Apache-2.0
#include "report/source_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace deadheat {
namespace {

class SourceFilesTest : public ::testing::Test {
 protected:
  SourceFilesTest() : directory_(std::filesystem::temp_directory_path() / ("sources." + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~SourceFilesTest() override { std::filesystem::remove_all(directory_); }
  SourceFilesTest(const SourceFilesTest&) = delete;
  SourceFilesTest& operator=(const SourceFilesTest&) = delete;

  [[nodiscard]] std::string write(const std::string& name, const std::string& text, int age = 0) const {
    const std::string path = (directory_ / name).string();
    std::ofstream(path) << text;
    const timeval times[2] = {{1'700'000'000 - age, 0}, {1'700'000'000 - age, 0}};
    utimes(path.c_str(), times);
    return path;
  }

  std::filesystem::path directory_;
  SourceFiles sources_;
};

TEST_F(SourceFilesTest, LinesAroundAPlace) {
  const std::string path = write("a.cpp", "one\r\ntwo\n\nfour\nfive");
  const auto middle = sources_.around(path, 3, 1, "");
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->first_line, 2U);
  EXPECT_EQ(middle->lines, (std::vector<std::string>{"two", "", "four"}));
  EXPECT_EQ(sources_.around(path, 1, 2, "")->lines.front(), "one");
  EXPECT_EQ(sources_.around(path, 5, 9, "")->lines.size(), 5U);
  EXPECT_FALSE(sources_.around(path, 6, 1, ""));
  EXPECT_FALSE(sources_.around(path, 0, 1, ""));
}

TEST_F(SourceFilesTest, SourcesOfAnotherMachineAreFoundByAPlace) {
  EXPECT_FALSE(parse_source_place("/build"));
  EXPECT_FALSE(parse_source_place("=/here"));
  EXPECT_FALSE(parse_source_place("/build="));
  static_cast<void>(write("a.cpp", "one\ntwo\n"));
  EXPECT_FALSE(sources_.around("./part/a.cpp", 2, 0, ""));
  EXPECT_TRUE(is_system_source("./part/a.cpp"));
  add_source_place(*parse_source_place("./part=" + directory_.string()));
  const auto found = sources_.around("./part/a.cpp", 2, 0, "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lines, std::vector<std::string>{"two"});
  EXPECT_EQ(found->file, "./part/a.cpp");
  EXPECT_FALSE(is_system_source("./part/a.cpp"));
  EXPECT_EQ(where_source_is("./party/a.cpp"), "./party/a.cpp");
  add_source_place(*parse_source_place(".=/here"));
  EXPECT_EQ(where_source_is("a.cpp"), "/here/a.cpp");
}

TEST_F(SourceFilesTest, OnlyRegularFilesAreRead) {
  const std::string pipe = (directory_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(sources_.around(pipe, 1, 1, ""));
  EXPECT_FALSE(sources_.around("/dev/zero", 1, 1, ""));
  EXPECT_FALSE(sources_.around(directory_.string(), 1, 1, ""));
  EXPECT_FALSE(sources_.around((directory_ / "none").string(), 1, 1, ""));
  EXPECT_FALSE(sources_.around("relative.cpp", 1, 1, ""));
}

TEST_F(SourceFilesTest, LongLinesAreCutBetweenCharacters) {
  std::string line = "x";
  while (line.size() < 5000) line += "\xc3\xa4";
  const auto snippet = sources_.around(write("long.cpp", line), 1, 0, "");
  ASSERT_TRUE(snippet);
  EXPECT_LT(snippet->lines[0].size(), 410U);
  EXPECT_TRUE(snippet->lines[0].ends_with("\xc3\xa4\xe2\x80\xa6"));
}

TEST_F(SourceFilesTest, FileThatChangedAfterTheBuildIsMarked) {
  const std::string source = write("a.cpp", "line", 100);
  EXPECT_TRUE(sources_.around(source, 1, 0, write("old", "module", 200))->is_newer);
  EXPECT_FALSE(sources_.around(source, 1, 0, write("new", "module", 50))->is_newer);
  EXPECT_FALSE(sources_.around(source, 1, 0, "")->is_newer);
}

TEST(SystemSourceTest, UsersFilesAreNotTheSystems) {
  EXPECT_TRUE(is_system_source("/usr/include/c++/12/thread"));
  EXPECT_TRUE(is_system_source("./nptl/pthread_create.c"));
  EXPECT_FALSE(is_system_source("/home/me/usr/include/a.h"));
}

}  // namespace
}  // namespace deadheat
