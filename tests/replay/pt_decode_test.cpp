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
#include "replay/rebuild.h"
#include "replay/software_pt.h"
#include "replay/trace_paths.h"

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

// A perf.data as 'perf record -e intel_pt//u' writes it, of one stepped thread: a mapping for each file, the trace of
// processor 3, and which thread that was.
class MadePerfData {
 public:
  MadePerfData(const std::vector<CodeMapping>& mappings, std::span<const std::byte> trace) {
    constexpr std::uint64_t kAttribute = 112;
    std::vector<std::byte> events;
    for (const CodeMapping& mapping : mappings) {
      std::vector<std::byte> body;
      for (const std::uint32_t number : {kThread, kThread}) put(body, number);
      for (const std::uint64_t number : {mapping.begin, mapping.end - mapping.begin, mapping.file_offset})
        put(body, number);
      body.resize(body.size() + 24);
      put(body, std::uint32_t{5});  // read, execute
      put(body, std::uint32_t{2});
      for (const char letter : mapping.path) body.push_back(static_cast<std::byte>(letter));
      body.resize((body.size() / 8 + 1) * 8);
      event(events, 10, body);
    }
    std::vector<std::byte> range;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{trace.size()}, std::uint64_t{0}})
      put(range, number);
    event(events, 11, range);
    std::vector<std::byte> block;
    for (const std::uint64_t number : {std::uint64_t{trace.size()}, std::uint64_t{0}, std::uint64_t{0}})
      put(block, number);
    for (const std::uint32_t number : {0U, kThread, kProcessor, 0U}) put(block, number);
    perf_event_head(events, 71, block.size());
    events.insert(events.end(), block.begin(), block.end());
    events.insert(events.end(), trace.begin(), trace.end());
    const std::uint64_t begin = 104 + kAttribute + 16;
    for (const std::uint64_t number : {std::uint64_t{0x32454c4946524550ULL}, std::uint64_t{104}, kAttribute + 16,
                                       std::uint64_t{104}, kAttribute + 16, begin, std::uint64_t{events.size()}}) {
      put(bytes, number);
    }
    bytes.resize(104);
    const std::size_t attribute = bytes.size();
    bytes.resize(begin);
    const std::uint32_t size = kAttribute;
    const std::uint64_t fields = 2 | 4 | 128;                 // thread, time, processor
    const std::uint64_t settings = (1U << 1U) | (1U << 18U);  // inherited; every event has those fields
    std::memcpy(bytes.data() + attribute + 4, &size, sizeof size);
    std::memcpy(bytes.data() + attribute + 24, &fields, sizeof fields);
    std::memcpy(bytes.data() + attribute + 40, &settings, sizeof settings);
    bytes.insert(bytes.end(), events.begin(), events.end());
  }

  static constexpr std::uint32_t kThread = 4711;
  std::vector<std::byte> bytes;

 private:
  static constexpr std::uint32_t kProcessor = 3;

  template <class T>
  static void put(std::vector<std::byte>& to, T value) {
    const auto raw_bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), raw_bytes.begin(), raw_bytes.end());
  }
  static void perf_event_head(std::vector<std::byte>& to, std::uint32_t type, std::size_t body) {
    put(to, type);
    put(to, std::uint16_t{2});  // of the program
    put(to, static_cast<std::uint16_t>(body + 8));
  }
  // With what ends every event: thread, time, processor.
  static void event(std::vector<std::byte>& to, std::uint32_t type, const std::vector<std::byte>& body) {
    perf_event_head(to, type, body.size() + 24);
    to.insert(to.end(), body.begin(), body.end());
    for (const std::uint32_t number : {kThread, kThread}) put(to, number);
    put(to, std::uint64_t{1000});
    for (const std::uint32_t number : {kProcessor, 0U}) put(to, number);
  }
};

TEST(PerfData, PathOfAFileGivesAccessesRelativeToTheInstruction) {
  const auto trace = stepped("hash", 5'000);
  ASSERT_EQ(trace.threads.size(), 1U);
  const auto code = CodeSpace::load(trace.mappings);
  std::vector<std::uint64_t> path;
  for (const RegisterFile& step : trace.threads[0].steps) path.push_back(step.ip);
  InstructionCache cache(code);
  const auto packets = SoftwarePt(cache).encode(std::span(path).first(path.size() - 1), path.back(), 1000);
  const MadePerfData made(trace.mappings, packets);
  const std::string name = testing::TempDir() + "made-perf-data";
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(made.bytes.data()), static_cast<std::streamsize>(made.bytes.size()));
  auto read = read_perf_data(name);
  std::filesystem::remove(name);
  ASSERT_TRUE(read) << read.error().message;
  Recording& recording = read.value();
  EXPECT_FALSE(recording.incomplete);
  const TracePathCounts counts = decode_traces(recording, CodeSpace::load(recording.mappings));
  EXPECT_EQ(counts.errors, 0U) << counts.first_error;
  EXPECT_EQ(counts.instructions, path.size() - 1);
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].system_id, MadePerfData::kThread);
  const RebuiltThread rebuilt = rebuild(code, recording.threads[0], 0, 0);
  EXPECT_GT(rebuilt.accesses.size(), 200U);
  for (const RebuiltAccess& access : rebuilt.accesses) {
    EXPECT_EQ(access.code, path[access.position]);
    EXPECT_EQ(access.sample, kNoSample);
  }
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
