// SPDX-License-Identifier: Apache-2.0
#include "watch/find_sites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "image/atomic_code.h"
#include "support/temp_path.h"
#include "watch/elf_builder.h"

namespace deadheat::watch {
namespace {

FoundSites sites_of(const Bytes& file) {
  const auto image = ElfImage::parse(file, "test");
  EXPECT_TRUE(image.ok()) << image.error().message;
  return find_sites_in(image.value());
}

std::vector<std::uint32_t> offsets_of(const FoundSites& found) {
  std::vector<std::uint32_t> offsets;
  for (const Site& site : found.module.sites) offsets.push_back(site.offset);
  return offsets;
}

using Offsets = std::vector<std::uint32_t>;

// mov eax, [rax]; nop; mov [rcx], edx; ret
const Bytes kTwoSites = bytes_of({0x8b, 0x00, 0x90, 0x89, 0x11, 0xc3});

TEST(FindSites, CountsOffsetsFromTheLowestAddress) {
  const FoundSites found = sites_of(ElfBuilder(kTwoSites).build());
  EXPECT_EQ(offsets_of(found), (Offsets{0x1000, 0x1003}));
  EXPECT_EQ(found.counts.instructions, 4U);
  EXPECT_EQ(found.counts.undecodable_bytes, 0U);
}

TEST(FindSites, UsesSegmentsWhereThereAreNoSections) {
  EXPECT_EQ(offsets_of(sites_of(ElfBuilder(kTwoSites).build(SectionHeaders::kNone))), (Offsets{0x1000, 0x1003}));
}

TEST(FindSites, SkipsWhatDoesNotDecodeByteByByte) {
  const FoundSites found = sites_of(ElfBuilder(bytes_of({0x8b, 0x00, 0x06, 0x07, 0x89, 0x11})).build());
  EXPECT_EQ(offsets_of(found), (Offsets{0x1000, 0x1004}));
  EXPECT_EQ(found.counts.undecodable_bytes, 2U);
}

TEST(FindSites, LeavesConstantsOut) {
  // mov eax, [0x402000]; the same in relro; the same in data; the last two relative to rip
  const FoundSites found = sites_of(ElfBuilder(bytes_of({0x8b, 0x04, 0x25, 0x00, 0x20, 0x40, 0x00,  //
                                                         0x8b, 0x04, 0x25, 0x00, 0x30, 0x40, 0x00,  //
                                                         0x8b, 0x04, 0x25, 0x00, 0x40, 0x40, 0x00,  //
                                                         0x8b, 0x05, 0xe5, 0x0f, 0x00, 0x00,        // 0x402000
                                                         0x8b, 0x05, 0xdf, 0x2f, 0x00, 0x00}))      // 0x404000
                                        .build());
  EXPECT_EQ(offsets_of(found), (Offsets{0x100e, 0x101b}));
  EXPECT_EQ(found.counts.constants, 3U);
}

TEST(FindSites, LeavesWhatLiesBetweenFunctionsAlone) {
  // Two functions and four constants between them that look like an access.
  const Bytes code = bytes_of({0x8b, 0x00, 0x90, 0x90, 0x90, 0xc3, 0x8b, 0x00, 0x8b, 0x00, 0x89, 0x11, 0x90, 0xc3});
  const FoundSites found = sites_of(ElfBuilder(code).functions({{0, 6}, {10, 4}}).build());
  EXPECT_EQ(offsets_of(found), (Offsets{0x1000, 0x100a}));
  EXPECT_EQ(found.counts.unnamed_bytes, 4U);
}

TEST(FindSites, DecodesEachFunctionFromItsBeginning) {
  // The first byte is the beginning of an instruction that would swallow the function.
  const Bytes code = bytes_of({0xb8, 0x8b, 0x00, 0x89, 0x11, 0xc3});
  EXPECT_EQ(offsets_of(sites_of(ElfBuilder(code).functions({{1, 5}}).build())), (Offsets{0x1001, 0x1003}));
}

TEST(FindSites, DistrustsAFunctionThatDoesNotDecode) {
  const Bytes code = bytes_of({0x8b, 0x00, 0x06, 0x89, 0x11, 0xc3, 0x8b, 0x00, 0xc3});
  const FoundSites found = sites_of(ElfBuilder(code).functions({{0, 6}, {6, 3}}).build());
  EXPECT_EQ(offsets_of(found), (Offsets{0x1006}));
  EXPECT_EQ(found.counts.distrusted_functions, 1U);
}

TEST(FindSites, SweepsAllOfASectionThatIsHardlyNamed) {
  const Bytes code = bytes_of({0x8b, 0x00, 0x90, 0x90, 0x90, 0x90, 0x89, 0x11, 0xc3});
  EXPECT_EQ(offsets_of(sites_of(ElfBuilder(code).functions({{6, 3}}).build())), (Offsets{0x1000, 0x1006}));
}

TEST(FindSites, BelievesTheCompilersListOfAtomics) {
  // One entry: from 0x404000 to the second instruction.
  const std::int32_t distance = 0x401003 - 0x404000;
  Bytes list(4);
  std::memcpy(list.data(), &distance, 4);
  const FoundSites found = sites_of(ElfBuilder(kTwoSites).atomics(list).build());
  ASSERT_EQ(found.module.sites.size(), 2U);
  EXPECT_EQ(found.module.sites[0].flags, kReads);
  EXPECT_EQ(found.module.sites[1].flags, kWrites | kAtomicSite);
}

TEST(FindSites, RefusesOtherFiles) {
  const auto error_of = [](const Bytes& file) {
    const auto image = ElfImage::parse(file, "x");
    return image.ok() ? std::string{} : image.error().message;
  };
  const Bytes good = ElfBuilder(kTwoSites).build();
  const auto changed = [&](std::size_t at, int value) {
    Bytes file = good;
    file[at] = static_cast<std::byte>(value);
    return file;
  };
  EXPECT_EQ(error_of({}), "'x' is not an ELF file");
  EXPECT_EQ(error_of(bytes_of({'#', '!', '/', 'b'})), "'x' is a script; name the program that runs it");
  EXPECT_EQ(error_of(changed(EI_CLASS, ELFCLASS32)), "'x' is not for x86-64");
  EXPECT_EQ(error_of(changed(offsetof(Elf64_Ehdr, e_machine), EM_386)), "'x' is not for x86-64");
  EXPECT_EQ(error_of(changed(offsetof(Elf64_Ehdr, e_type), ET_REL)), "'x' is neither a program nor a shared library");
  EXPECT_EQ(find_sites("/nowhere/x").error().message, "cannot read '/nowhere/x': No such file or directory");
  EXPECT_EQ(find_sites("/").error().message, "'/' is not a file");
}

TEST(FindSites, RefusesEveryPrefixOfAFile) {
  const Bytes good = ElfBuilder(kTwoSites).build();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto image = ElfImage::parse(std::span(good).first(size), "x");
    ASSERT_FALSE(image.ok()) << size;
    const bool says_so = image.error().message.find("is cut off") != std::string::npos;
    EXPECT_EQ(says_so, size >= SELFMAG) << size;
  }
}

TEST(FindSites, SurvivesAnyByteBeingWrong) {
  const Bytes good = ElfBuilder(kTwoSites).functions({{0, 6}}).build();
  for (std::size_t at = 0; at < good.size(); at = at == 0x160 ? 0x5000 : at + 1) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      Bytes file = good;
      file[at] = static_cast<std::byte>(value);
      const auto image = ElfImage::parse(file, "x");
      if (image.ok()) (void)find_sites_in(image.value());
    }
  }
}

// ---- Real programs. ----

std::string shell(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
  return ::pclose(pipe) == 0 ? output : std::string{};
}

// Compiles a source and returns the program's path; empty if the compiler cannot.
std::string compile(const std::string& compiler, const std::string& suffix, std::string_view source,
                    const std::string& options) {
  const std::string path = temp_path("sites" + suffix);
  std::ofstream(path) << source;
  const std::string program = path + ".program";
  const bool is_compiled =
      std::system((compiler + " " + options + " " + path + " -o " + program + " 2>/dev/null").c_str()) == 0;
  std::filesystem::remove(path);
  return is_compiled ? program : std::string{};
}

// Line of objdump -d: "  401000:\t8b 00  \tmov (%rax),%eax".
struct Line {
  std::string section;
  std::uint64_t address = 0;
  std::string text;
};

std::vector<Line> disassemble(const std::string& program) {
  std::vector<Line> lines;
  std::istringstream output(shell("objdump -d -w --no-show-raw-insn " + program));
  std::string section;
  for (std::string line; std::getline(output, line);) {
    const std::size_t colon = line.find(":\t");
    if (line.starts_with("Disassembly")) section = line.substr(line.rfind(' ') + 1);
    if (colon == std::string::npos) continue;
    lines.push_back({section, std::stoull(line.substr(0, colon), nullptr, 16), line.substr(colon + 2)});
  }
  return lines;
}

// By objdump's words: has a memory operand that could be a site.
bool looks_like_site(const std::string& text) {
  static const std::regex kOperand(R"([ ,*](-?0x[0-9a-f]+)?\([%,]|[ ,]0x[0-9a-f]+(,|$))");
  static const std::regex kNoSite(
      R"(^(notrack |bnd |rep[nz]* |data16 |cs |lock (bt[src]. *%))*(lea|nop|call|jmp|push|pop|movs[bwlq] .*%es|stos|lods|scas|cmps|prefetch|clflush|fxsave|fxrstor|xsave|xrstor|fldenv|fnstenv|bt[src]?. +%|bt +%))");
  return std::regex_search(text, kOperand) && !std::regex_search(text, kNoSite) &&
         text.find("%fs:") == std::string::npos && text.find("%gs:") == std::string::npos &&
         text.find("%es:") == std::string::npos && text.find("(%e") == std::string::npos;
}

// Every site is an instruction of objdump's with a memory operand, and every one of those
// is a site or a constant.
void compare_with_objdump(const std::string& program) {
  const std::vector<Line> lines = disassemble(program);
  if (lines.empty()) GTEST_SKIP() << "objdump is not here";
  const auto image = ElfImage::open(program);
  ASSERT_TRUE(image.ok()) << image.error().message;
  const FoundSites found = find_sites_in(image.value());
  std::map<std::uint64_t, std::string> expected;
  const auto functions = image.value().functions();
  for (const Line& line : lines) {
    // The small sections are not well named, and swept whole.
    const auto next = std::upper_bound(functions.begin(), functions.end(), line.address,
                                       [](std::uint64_t at, const AddressRange& range) { return at < range.end; });
    const bool is_swept = line.section != ".text:" || (next != functions.end() && next->begin <= line.address);
    if (is_swept && looks_like_site(line.text)) expected.emplace(line.address, line.text);
  }
  for (const Site& site : found.module.sites) {
    ASSERT_EQ(expected.erase(site.offset + image.value().lowest_address()), 1U)
        << std::hex << "no instruction with an operand at " << site.offset;
  }
  EXPECT_EQ(expected.size(), found.counts.constants);
  for (const auto& [address, text] : expected) {
    const bool is_known_address = text.find("(%rip)") != std::string::npos || text.find('(') == std::string::npos;
    ASSERT_TRUE(is_known_address) << std::hex << address << " is not found: " << text;
  }
  EXPECT_EQ(found.counts.undecodable_bytes, 0U);
}

TEST(FindSites, AgreesWithObjdumpOnThisTest) {
  compare_with_objdump(std::filesystem::canonical("/proc/self/exe").string());
}

constexpr std::string_view kProgram = R"(
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
int plain; std::atomic<int> counter; std::atomic<long> total; float numbers[64];
__attribute__((noinline)) void publish(int value) { plain = value; counter.store(value, std::memory_order_release); }
__attribute__((noinline)) int receive() { while (counter.load(std::memory_order_acquire) == 0) {} return plain; }
int main(int count, char**) {
  std::thread other([&] { publish(count); total.store(numbers[count], std::memory_order_relaxed); });
  for (float& number : numbers) number *= 2;
  std::printf("%d\n", receive());
  other.join();
}
)";

TEST(FindSites, AgreesWithObjdumpOnCompiledPrograms) {
  for (const char* compiler : {"g++", "clang++-19"}) {
    for (const char* options : {"-O0", "-O2", "-O3 -mavx2", "-O2 -no-pie", "-O2 -s"}) {
      SCOPED_TRACE(std::string(compiler) + " " + options);
      const std::string program = compile(compiler, ".cpp", kProgram, options);
      if (program.empty()) continue;
      compare_with_objdump(program);
      std::filesystem::remove(program);
    }
  }
}

TEST(FindSites, FindsTheSameInAStrippedProgram) {
  const std::string program = compile("g++", ".cpp", kProgram, "-O2");
  if (program.empty()) GTEST_SKIP() << "no g++ here";
  const Offsets before = offsets_of(find_sites(program).value());
  ASSERT_EQ(std::system(("strip " + program).c_str()), 0);
  EXPECT_EQ(offsets_of(find_sites(program).value()), before);
  std::filesystem::remove(program);
}

// Of the accesses to a global: how many are marked atomic, and how many are not.
std::pair<int, int> accesses_to(const std::string& program, const std::string& symbol) {
  const std::string address = shell("nm " + program + " | awk '$3 == \"" + symbol + "\" {print $1}'");
  const std::uint64_t target = std::stoull("0" + address, nullptr, 16);
  const std::uint64_t lowest = ElfImage::open(program).value().lowest_address();
  std::pair<int, int> counts;
  const FoundSites found = find_sites(program).value();
  for (const Site& site : found.module.sites) {
    if (site.base != kInstructionPointer) continue;
    const std::uint64_t next = lowest + site.offset + site.length;
    if (next + static_cast<std::uint64_t>(std::int64_t{site.displacement}) != target) continue;
    ++((site.flags & kAtomicSite) != 0 ? counts.first : counts.second);
  }
  return counts;
}

TEST(FindSites, KnowsStdAtomicByDebugInformation) {
  for (const char* compiler : {"g++", "clang++-19"}) {
    SCOPED_TRACE(compiler);
    const std::string program = compile(compiler, ".cpp", kProgram, "-O2 -g");
    if (program.empty()) continue;
    EXPECT_GE(accesses_to(program, "counter").first, 2);
    EXPECT_EQ(accesses_to(program, "counter").second, 0);
    EXPECT_EQ(accesses_to(program, "total"), std::make_pair(1, 0));
    EXPECT_EQ(accesses_to(program, "plain").first, 0);
    EXPECT_GE(accesses_to(program, "plain").second, 2);
    std::filesystem::remove(program);
  }
}

TEST(FindSites, KnowsStdAtomicThatIsNotInlined) {
  const auto atomic_sites_with = [](const std::string& options) {
    const std::string program = compile("g++", ".cpp", kProgram, options);
    if (program.empty()) return std::ptrdiff_t{-1};
    const FoundSites found = find_sites(program).value();
    std::filesystem::remove(program);
    return std::count_if(found.module.sites.begin(), found.module.sites.end(),
                         [](const Site& site) { return (site.flags & kAtomicSite) != 0; });
  };
  const auto without = atomic_sites_with("-O0");
  if (without < 0) GTEST_SKIP() << "no g++ here";
  EXPECT_GE(atomic_sites_with("-O0 -g"), without + 10);
}

TEST(FindSites, KnowsCAtomicsByClangsMetadata) {
  const std::string program = compile("clang-19", ".c", R"(
#include <stdatomic.h>
int plain; atomic_int counter;
int main(void) { plain = 1; atomic_store_explicit(&counter, 1, memory_order_release);
  while (atomic_load_explicit(&counter, memory_order_acquire) == 0) {} return plain; }
)",
                                      "-O1 -fexperimental-sanitize-metadata=atomics");
  if (program.empty()) GTEST_SKIP() << "no clang-19 here";
  EXPECT_EQ(accesses_to(program, "counter"), std::make_pair(2, 0));
  EXPECT_EQ(accesses_to(program, "plain").first, 0);
  std::filesystem::remove(program);
}

TEST(NamesAtomicOperation, KnowsBothStandardLibraries) {
  for (const char* name :
       {"_ZNKSt6atomicIiE4loadESt12memory_order", "_ZNSt13__atomic_baseIiE5storeEiSt12memory_order",
        "_ZNVKSt6atomicIiE4loadESt12memory_order", "_ZNSt11atomic_flag12test_and_setESt12memory_order",
        "_ZSt20atomic_load_explicitIiET_PKSt6atomicIS0_ESt12memory_order",
        "_ZNSt3__16atomicIiE5storeEiNS_12memory_orderE", "_ZNSt3__113__atomic_baseIiLb0EE4loadENS_12memory_orderE",
        "_ZNSt3__117__cxx_atomic_loadIiEET_PKNS_22__cxx_atomic_base_implIS1_EENS_12memory_orderE",
        "atomic_load_explicit", "atomic_fetch_add_zu"}) {
    EXPECT_TRUE(names_atomic_operation(name)) << name;
  }
  for (const char* name :
       {"", "_Z", "_ZN", "_ZSt", "_ZNSt99999999999999999999", "_ZStanSt12memory_orderSt23__memory_order_modifier",
        "_ZNSt6vectorIiE4sizeEv", "_ZN6atomic4loadEv", "atomic_counter_update", "main"}) {
    EXPECT_FALSE(names_atomic_operation(name)) << name;
  }
}

}  // namespace
}  // namespace deadheat::watch
