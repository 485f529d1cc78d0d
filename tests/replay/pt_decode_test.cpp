// SPDX-License-Identifier: Apache-2.0
// Control flow from Intel PT, made by software from stepped paths, and real captures.
// DEADHEAT_PT_DATA names a folder with real ones; by default it is looked for beside the sources.
#include "replay/pt_decode.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "record/step_trace.h"
#include "replay/perf_data.h"
#include "replay/software_pt.h"

namespace deadheat::replay {
namespace {

std::vector<std::byte> contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::filesystem::path real_data() {
  const char* named = std::getenv("DEADHEAT_PT_DATA");
  if (named != nullptr) return named;
  const std::filesystem::path beside = std::filesystem::path(DEADHEAT_SOURCE_DIR) / "../shared/data/intel-pt";
  return beside;
}

std::vector<std::uint64_t> joined(const DecodedPath& path) {
  std::vector<std::uint64_t> code;
  for (const PathPiece& piece : path.pieces) code.insert(code.end(), piece.code.begin(), piece.code.end());
  return code;
}

record::StepTrace stepped(const std::string& kernel, std::uint64_t limit) {
  record::StepTraceOptions options;
  options.command.words = {DEADHEAT_REPLAY_WORK, kernel};
  options.command.is_output_shown = false;
  options.functions = {"work_" + kernel};
  options.limit = limit;
  auto trace = record::trace_steps(options);
  EXPECT_TRUE(trace);
  return trace ? std::move(trace).value() : record::StepTrace{};
}

TEST(PtDecode, GivesBackAPathThatSoftwareEncoded) {
  const auto trace = stepped("words", 10'000);
  ASSERT_EQ(trace.threads.size(), 1U);
  const auto code = CodeSpace::load(trace.mappings);
  std::vector<std::uint64_t> path;
  for (const RegisterFile& step : trace.threads[0].steps) path.push_back(step.ip);
  const std::uint64_t end = path.back();
  path.pop_back();
  InstructionCache cache(code);
  SoftwarePt source(cache);
  const auto packets = source.encode(path, end, 3000);
  const DecodedPath decoded = decode_pt(packets, code);
  EXPECT_EQ(decoded.errors, 0U) << decoded.first_error;
  EXPECT_EQ(joined(decoded), path);
  EXPECT_EQ(decoded.pieces.size(), 1U);
  EXPECT_LT(packets.size(), path.size());
}

TEST(PtDecode, MissingPacketsAreAGapAndNothingWrong) {
  const auto trace = stepped("sort", 5'000);
  ASSERT_EQ(trace.threads.size(), 1U);
  const auto code = CodeSpace::load(trace.mappings);
  std::vector<std::uint64_t> path;
  for (const RegisterFile& step : trace.threads[0].steps) path.push_back(step.ip);
  InstructionCache cache(code);
  auto packets = SoftwarePt(cache).encode(path, path.back(), 500);
  // A byte that begins no packet, in the middle.
  std::fill_n(packets.begin() + static_cast<std::ptrdiff_t>(packets.size() / 2), 24, std::byte{0xff});
  const DecodedPath decoded = decode_pt(packets, code);
  EXPECT_GE(decoded.errors, 1U);
  EXPECT_GE(decoded.pieces.size(), 2U);
  EXPECT_TRUE(decoded.pieces.back().is_after_gap);
  EXPECT_LT(decoded.instructions, path.size() + 500);
}

TEST(PtDecode, BytesThatAreNoTraceAreNoPath) {
  const std::vector<std::byte> bytes(1000, std::byte{0x42});
  const DecodedPath decoded = decode_pt(bytes, CodeSpace());
  EXPECT_EQ(decoded.instructions, 0U);
  EXPECT_EQ(decoded.errors, 1U);
}

TEST(PtDecode, RealCaptureHasNoError) {
  const auto folder = real_data() / "unzip";
  if (!std::filesystem::exists(folder / "trace"))
    GTEST_SKIP() << "no such capture: " << folder << " (DEADHEAT_PT_DATA)";
  const auto packets = contents(folder / "trace");
  const auto addresses = contents(folder / "data.addr");
  const auto pages = contents(folder / "data.dump");
  CodeSpace code;
  for (std::size_t index = 0; index < addresses.size() / 8; ++index) {
    std::uint64_t address = 0;
    std::memcpy(&address, addresses.data() + index * 8, 8);
    code.add(address, std::span(pages).subspan(index * 4096, 4096));
  }
  const DecodedPath decoded = decode_pt(packets, code);
  EXPECT_EQ(decoded.errors, 0U) << decoded.first_error;
  EXPECT_EQ(decoded.instructions, 149'576U);
}

TEST(PerfData, RealFileIsParsed) {
  const auto path = real_data() / "perf.data.intel_pt-4.14";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no such file: " << path << " (DEADHEAT_PT_DATA)";
  const auto bytes = contents(path);
  const auto parsed = parse_perf_data(bytes, "real");
  ASSERT_TRUE(parsed) << parsed.error().message;
  PacketCounts counts;
  for (const AuxBlock& block : parsed.value().aux) {
    const PacketCounts one = count_packets(block.bytes);
    counts.tnt += one.tnt;
    counts.tip += one.tip;
    counts.errors += one.errors;
  }
  EXPECT_EQ(counts.tnt, 69'516U);
  EXPECT_EQ(counts.tip, 12'039U);
  EXPECT_EQ(counts.errors, 0U);
  EXPECT_FALSE(parsed.value().recording.mappings.empty());
  EXPECT_FALSE(parsed.value().recording.threads.empty());
  EXPECT_TRUE(read_perf_data(path.string()));
}

TEST(PerfData, EveryTruncationIsAnErrorOrShorter) {
  const auto path = real_data() / "perf.data.intel_pt-4.14";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no such file: " << path << " (DEADHEAT_PT_DATA)";
  const auto bytes = contents(path);
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
    const auto parsed = parse_perf_data(std::span(bytes).first(size), "cut");
    if (!parsed) {
      EXPECT_NE(parsed.error().message.find("'cut'"), std::string::npos);
    }
  }
}

TEST(PerfData, ForeignFilesAreNamed) {
  const std::vector<std::byte> bytes(200, std::byte{'x'});
  const auto parsed = parse_perf_data(bytes, "foreign");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(parsed.error().message, "'foreign' is damaged at byte 0: it is not perf.data");
}

}  // namespace
}  // namespace deadheat::replay
