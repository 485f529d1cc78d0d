// SPDX-License-Identifier: Apache-2.0
// Sites against the Unicorn emulator: real instructions of real files are executed with
// random registers, and what the emulator sees of memory must be what the site says. It
// does not know AVX; site_processor_test.cpp does.
#include <gtest/gtest.h>
#include <unicorn/unicorn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "watch/site_samples.h"

namespace deadheat::watch {
namespace {

constexpr std::array<int, 16> kGeneral = {UC_X86_REG_RAX, UC_X86_REG_RCX, UC_X86_REG_RDX, UC_X86_REG_RBX,
                                          UC_X86_REG_RSP, UC_X86_REG_RBP, UC_X86_REG_RSI, UC_X86_REG_RDI,
                                          UC_X86_REG_R8,  UC_X86_REG_R9,  UC_X86_REG_R10, UC_X86_REG_R11,
                                          UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15};

// The bytes that one instruction touched, in one direction. The emulator tells of a wide
// access in parts.
struct Touched {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t sum = 0;

  void add(std::uint64_t address, std::uint64_t size) {
    begin = std::min(begin, address);
    end = std::max(end, address + size);
    sum += size;
  }
};

struct Seen {
  Touched reads;
  Touched writes;
};

void on_memory(uc_engine* /*engine*/, uc_mem_type type, std::uint64_t address, int size, std::int64_t /*value*/,
               void* data) {
  auto* seen = static_cast<Seen*>(data);
  const bool is_write = type == UC_MEM_WRITE || type == UC_MEM_WRITE_UNMAPPED;
  (is_write ? seen->writes : seen->reads).add(address, static_cast<std::uint64_t>(size));
}

bool on_unmapped(uc_engine* engine, uc_mem_type type, std::uint64_t address, int size, std::int64_t value, void* data) {
  on_memory(engine, type, address, size, value, data);
  return false;
}

class Emulator {
 public:
  Emulator() {
    EXPECT_EQ(uc_open(UC_ARCH_X86, UC_MODE_64, &engine_), UC_ERR_OK);
    uc_hook hook = 0;
    uc_hook_add(engine_, &hook, UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, reinterpret_cast<void*>(&on_memory), &seen_, 1,
                0);
    uc_hook_add(engine_, &hook, UC_HOOK_MEM_UNMAPPED, reinterpret_cast<void*>(&on_unmapped), &seen_, 1, 0);
  }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  ~Emulator() { uc_close(engine_); }

  // Executes one instruction, and says whether the emulator could. Nothing but its code and
  // the page of its data exists. A division by zero has read its operand, and counts.
  bool run(std::span<const std::byte> code, const Registers& registers, std::uint64_t data) {
    const std::uint64_t at = registers.instruction_pointer;
    const std::set<std::uint64_t> pages = {data / kPage, at / kPage, (at + code.size() - 1) / kPage};
    for (const std::uint64_t page : pages) EXPECT_EQ(uc_mem_map(engine_, page * kPage, kPage, UC_PROT_ALL), UC_ERR_OK);
    EXPECT_EQ(uc_mem_write(engine_, at, code.data(), code.size()), UC_ERR_OK);
    for (std::size_t index = 0; index < kGeneral.size(); ++index) {
      uc_reg_write(engine_, kGeneral[index], &registers.general[index]);
    }
    seen_ = {};
    // The error is no help: it is none for some instructions that the emulator does not know.
    (void)uc_emu_start(engine_, at, at + code.size(), 0, 1);
    std::uint64_t now = 0;
    uc_reg_read(engine_, UC_X86_REG_RIP, &now);
    for (const std::uint64_t page : pages) uc_mem_unmap(engine_, page * kPage, kPage);
    return now != at || seen_.reads.sum + seen_.writes.sum != 0;
  }
  [[nodiscard]] const Seen& seen() const { return seen_; }

 private:
  uc_engine* engine_ = nullptr;
  Seen seen_;
};

void expect_touched(const Touched& touched, bool is_expected, const Site& site, std::uint64_t address,
                    const char* direction) {
  if (!is_expected) {
    EXPECT_EQ(touched.sum, 0U) << direction;
    return;
  }
  EXPECT_EQ(touched.begin, address) << direction;
  EXPECT_EQ(touched.end - touched.begin, site.size) << direction;
}

struct Totals {
  std::size_t executed = 0;
  std::size_t unknown = 0;      // to the emulator
  std::size_t unreachable = 0;  // absolute addresses that cannot be used
  std::set<std::vector<std::byte>> kinds;
};

void check(const SiteSample& sample, Emulator& emulator, Random& random, Totals& totals) {
  // Somewhere in the lower half, within one page.
  const std::uint64_t page = (16 + random.below((1ULL << 46) / kPage)) * kPage;
  const std::uint64_t address = page + random.below(kPage - sample.site.size + 1);
  const std::uint64_t code = (16 + random.below((1ULL << 46) / kPage)) * kPage + random.below(kPage);
  const auto registers = registers_for(sample.site, address, code, random);
  if (!registers) {
    ++totals.unreachable;
    return;
  }
  if (!emulator.run(sample.code, *registers, address)) {
    ++totals.unknown;
    return;
  }
  ++totals.executed;
  totals.kinds.insert(kind_of(sample));
  expect_touched(emulator.seen().reads, (sample.site.flags & kReads) != 0, sample.site, address, "reads");
  expect_touched(emulator.seen().writes, (sample.site.flags & kWrites) != 0, sample.site, address, "writes");
}

TEST(SiteOracle, EmulatedAccessesAreThoseOfTheSites) {
  Random random(seed_of_this_run());
  Emulator emulator;
  for (const char* file : kSampledFiles) {
    Totals totals;
    std::vector<SiteSample> all = all_samples(file);
    std::erase_if(all, is_avx);
    for (const SiteSample& sample : draw(all, 3000, random)) {
      check(sample, emulator, random, totals);
      if (HasFailure()) FAIL() << testing::PrintToString(sample);
    }
    std::printf("%s: %zu executed, of %zu kinds; %zu unknown to the emulator, %zu without registers\n", file,
                totals.executed, totals.kinds.size(), totals.unknown, totals.unreachable);
    EXPECT_GE(totals.executed, 9 * (totals.unknown + totals.unreachable));
  }
}

}  // namespace
}  // namespace deadheat::watch
