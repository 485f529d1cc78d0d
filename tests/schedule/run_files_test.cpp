// SPDX-License-Identifier: Apache-2.0
#include "schedule/run_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "schedule/relations.h"
#include "support/simulated_program.h"
#include "support/temp_path.h"

namespace deadheat::schedule {
namespace {

std::span<const std::byte> bytes_of(const RunFile& file) { return std::as_bytes(std::span(&file, 1)); }

void expect_error(std::span<const std::byte> bytes, ErrorCode code, const std::string& part) {
  const auto record = parse_run_file(bytes);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().code, code);
  EXPECT_NE(record.error().message.find(part), std::string::npos) << record.error().message;
}

TEST(RunFiles, ANewFileHasItsFullSizeAndIsNearlyAHole) {
  const std::string path = temp_path("new.run");
  ASSERT_TRUE(create_run_file(path).ok());
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), sizeof(RunFile));
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
  const auto record = read_run_file(path);
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_TRUE(record.value().relations.empty());
  EXPECT_TRUE(record.value().acquisitions.empty());
  EXPECT_FALSE(create_run_file(path).ok());
  EXPECT_TRUE(remove_run_file(path).ok());
  EXPECT_TRUE(remove_run_file(path).ok());
  EXPECT_FALSE(read_run_file(path).ok());
  EXPECT_FALSE(create_run_file(path + "/nowhere").ok());
}

TEST(RunFiles, WhatARunLeavesIsRead) {
  const auto file = make_run_file();
  SimulationOptions options;
  options.output = file.get();
  const Outcome outcome = simulate(figure_2(10), options);
  const auto record = parse_run_file(bytes_of(*file));
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record.value().relations.size(), 19U);  // Table 1 of the paper
  EXPECT_EQ(record.value().acquisitions.size(), outcome.acquisitions.size());
  EXPECT_EQ(record.value().header.counters.threads, 3U);
  EXPECT_TRUE(std::ranges::find(record.value().relations, relation(FunctionId{1}, LockClass{spread(101)})) !=
              record.value().relations.end());
}

TEST(RunFiles, BadFilesAreRefusedWithAReason) {
  const auto file = make_run_file();
  const auto bytes = bytes_of(*file);
  ASSERT_TRUE(parse_run_file(bytes).ok());
  expect_error({}, ErrorCode::kMalformed, "empty");
  expect_error(bytes.first(100), ErrorCode::kMalformed, "ends after 100 bytes");
  expect_error(bytes.first(bytes.size() - 1), ErrorCode::kMalformed, "instead of");

  const auto with = [&](auto&& change, ErrorCode code, const std::string& part) {
    clear(*file);
    change(file->header);
    expect_error(bytes, code, part);
  };
  with([](RunFileHeader& header) { header.magic = 1; }, ErrorCode::kMalformed, "not a run file");
  with([](RunFileHeader& header) { header.version = 9; }, ErrorCode::kUnsupported, "version 9");
  with([](RunFileHeader& header) { header.relation_count = kMostRelations + 1; }, ErrorCode::kMalformed, "relations");
  with([](RunFileHeader& header) { header.relation_count = 1; }, ErrorCode::kMalformed, "says 1 relations and has 0");
  with([](RunFileHeader& header) { header.acquisition_count = kAcquisitionPlaces + 1; }, ErrorCode::kMalformed,
       "acquisitions");
  with([](RunFileHeader& header) { header.deadlocked = 9; }, ErrorCode::kMalformed, "deadlocked");
  with([](RunFileHeader& header) { header.deadlocked = 1, header.cycle[0].frame_count = 99; }, ErrorCode::kMalformed,
       "frames");
}

TEST(RunFiles, ARunThatWasKilledWhileItLearnedIsRead) {
  const auto file = make_run_file();
  add_relation(*file, relation(FunctionId{1}, LockClass{1}));
  file->header.relation_count = 0;
  EXPECT_TRUE(parse_run_file(bytes_of(*file)).ok());
}

TEST(RunFiles, TheErrorNamesTheFile) {
  const std::string path = temp_path("bad.run");
  std::ofstream(path) << "nothing";
  const auto record = read_run_file(path);
  ASSERT_FALSE(record.ok());
  EXPECT_NE(record.error().message.find(path), std::string::npos);
  EXPECT_TRUE(remove_run_file(path).ok());
}

}  // namespace
}  // namespace deadheat::schedule
