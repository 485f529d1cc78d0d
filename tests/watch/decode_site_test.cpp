// SPDX-License-Identifier: Apache-2.0
#include "watch/decode_site.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "watch/elf_builder.h"
#include "watch/site_address.h"

namespace deadheat::watch {
namespace {

constexpr std::uint8_t kNone = kNoRegister;
constexpr std::uint8_t kRax = 0, kRcx = 1, kRbx = 3, kRsp = 4, kRbp = 5, kRdi = 7, kR8 = 8, kR12 = 12, kR13 = 13,
                       kR15 = 15;

struct Expected {
  const char* text;
  Bytes code;
  std::uint8_t base, index, scale;
  std::int32_t displacement;
  std::uint8_t size, flags;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.text; }

class SiteForms : public testing::TestWithParam<Expected> {};

TEST_P(SiteForms, IsDecoded) {
  const Expected& expected = GetParam();
  const auto decoded = decode_instruction(expected.code);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->length, expected.code.size());
  ASSERT_TRUE(decoded->site.has_value());
  const Site& site = *decoded->site;
  EXPECT_EQ(site.base, expected.base);
  EXPECT_EQ(site.index, expected.index);
  EXPECT_EQ(site.scale, expected.scale);
  EXPECT_EQ(site.displacement, expected.displacement);
  EXPECT_EQ(site.size, expected.size);
  EXPECT_EQ(site.flags, expected.flags);
  EXPECT_EQ(site.length, expected.code.size());
  EXPECT_EQ(site.first_byte, std::to_integer<int>(expected.code[0]));
  EXPECT_EQ(site.offset, 0U);
  EXPECT_EQ(site.reserved, 0U);
}

constexpr std::uint8_t kBoth = kReads | kWrites;
constexpr std::uint8_t kRip = kInstructionPointer;

INSTANTIATE_TEST_SUITE_P(
    Addressing, SiteForms,
    testing::Values(
        Expected{"mov eax, [rax]", bytes_of({0x8b, 0x00}), kRax, kNone, 1, 0, 4, kReads},
        Expected{"mov eax, [rbx+8]", bytes_of({0x8b, 0x43, 0x08}), kRbx, kNone, 1, 8, 4, kReads},
        Expected{"mov eax, [rbp-4]", bytes_of({0x8b, 0x45, 0xfc}), kRbp, kNone, 1, -4, 4, kReads},
        Expected{"mov eax, [rbx+0x12345678]", bytes_of({0x8b, 0x83, 0x78, 0x56, 0x34, 0x12}), kRbx, kNone, 1,
                 0x12345678, 4, kReads},
        Expected{"mov eax, [rbx-0x80000000]", bytes_of({0x8b, 0x83, 0, 0, 0, 0x80}), kRbx, kNone, 1, INT32_MIN, 4,
                 kReads},
        Expected{"mov rax, [r8]", bytes_of({0x49, 0x8b, 0x00}), kR8, kNone, 1, 0, 8, kReads},
        Expected{"mov rax, [r12]", bytes_of({0x49, 0x8b, 0x04, 0x24}), kR12, kNone, 1, 0, 8, kReads},
        Expected{"mov rax, [r13+0]", bytes_of({0x49, 0x8b, 0x45, 0x00}), kR13, kNone, 1, 0, 8, kReads},
        Expected{"mov eax, [rax+rcx]", bytes_of({0x8b, 0x04, 0x08}), kRax, kRcx, 1, 0, 4, kReads},
        Expected{"mov eax, [rax+rcx*2+1]", bytes_of({0x8b, 0x44, 0x48, 0x01}), kRax, kRcx, 2, 1, 4, kReads},
        Expected{"mov eax, [rax+rax*4]", bytes_of({0x8b, 0x04, 0x80}), kRax, kRax, 4, 0, 4, kReads},
        Expected{"mov rax, [r13+r15*8-16]", bytes_of({0x4b, 0x8b, 0x44, 0xfd, 0xf0}), kR13, kR15, 8, -16, 8, kReads},
        Expected{"mov eax, [rdi+r12]", bytes_of({0x42, 0x8b, 0x04, 0x27}), kRdi, kR12, 1, 0, 4, kReads},
        Expected{"mov eax, [rcx*8+0x1000]", bytes_of({0x8b, 0x04, 0xcd, 0, 0x10, 0, 0}), kNone, kRcx, 8, 0x1000, 4,
                 kReads},
        Expected{"mov eax, [0x404000]", bytes_of({0x8b, 0x04, 0x25, 0, 0x40, 0x40, 0}), kNone, kNone, 1, 0x404000, 4,
                 kReads},
        Expected{"mov eax, [rip+16]", bytes_of({0x8b, 0x05, 0x10, 0, 0, 0}), kRip, kNone, 1, 16, 4, kReads},
        Expected{"mov dword [rip-6], 1", bytes_of({0xc7, 0x05, 0xfa, 0xff, 0xff, 0xff, 1, 0, 0, 0}), kRip, kNone, 1, -6,
                 4, kWrites},
        Expected{"movabs al, [0x404000]", bytes_of({0xa0, 0, 0x40, 0x40, 0, 0, 0, 0, 0}), kNone, kNone, 1, 0x404000, 1,
                 kReads},
        Expected{"movabs [0x404000], rax", bytes_of({0x48, 0xa3, 0, 0x40, 0x40, 0, 0, 0, 0, 0}), kNone, kNone, 1,
                 0x404000, 8, kWrites},
        Expected{"mov eax, [rsp+8]", bytes_of({0x8b, 0x44, 0x24, 0x08}), kRsp, kNone, 1, 8, 4, kReads | kStackSite},
        Expected{"mov [rsp+rax*4], ecx", bytes_of({0x89, 0x0c, 0x84}), kRsp, kRax, 4, 0, 4, kWrites | kStackSite},
        Expected{"mov eax, ds:[rax]", bytes_of({0x3e, 0x8b, 0x00}), kRax, kNone, 1, 0, 4, kReads}));

INSTANTIATE_TEST_SUITE_P(
    SizesAndDirections, SiteForms,
    testing::Values(Expected{"mov [rax], cl", bytes_of({0x88, 0x08}), kRax, kNone, 1, 0, 1, kWrites},
                    Expected{"mov [rax], cx", bytes_of({0x66, 0x89, 0x08}), kRax, kNone, 1, 0, 2, kWrites},
                    Expected{"movzx eax, byte [rax]", bytes_of({0x0f, 0xb6, 0x00}), kRax, kNone, 1, 0, 1, kReads},
                    Expected{"movsxd rax, [rax]", bytes_of({0x48, 0x63, 0x00}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"add [rax], ecx", bytes_of({0x01, 0x08}), kRax, kNone, 1, 0, 4, kBoth},
                    Expected{"add ecx, [rax]", bytes_of({0x03, 0x08}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"inc qword [rax]", bytes_of({0x48, 0xff, 0x00}), kRax, kNone, 1, 0, 8, kBoth},
                    Expected{"cmp byte [rax], 0", bytes_of({0x80, 0x38, 0x00}), kRax, kNone, 1, 0, 1, kReads},
                    Expected{"test [rax], ecx", bytes_of({0x85, 0x08}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"sete [rax]", bytes_of({0x0f, 0x94, 0x00}), kRax, kNone, 1, 0, 1, kWrites},
                    Expected{"cmove ecx, [rax]", bytes_of({0x0f, 0x44, 0x08}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"shl dword [rax], 1", bytes_of({0xd1, 0x20}), kRax, kNone, 1, 0, 4, kBoth},
                    Expected{"not byte [rax]", bytes_of({0xf6, 0x10}), kRax, kNone, 1, 0, 1, kBoth},
                    Expected{"div dword [rax]", bytes_of({0xf7, 0x30}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"bts dword [rax], 3", bytes_of({0x0f, 0xba, 0x28, 0x03}), kRax, kNone, 1, 0, 4, kBoth},
                    Expected{"movss xmm0, [rax]", bytes_of({0xf3, 0x0f, 0x10, 0x00}), kRax, kNone, 1, 0, 4, kReads},
                    Expected{"movsd [rax], xmm0", bytes_of({0xf2, 0x0f, 0x11, 0x00}), kRax, kNone, 1, 0, 8, kWrites},
                    Expected{"movups [rax], xmm0", bytes_of({0x0f, 0x11, 0x00}), kRax, kNone, 1, 0, 16, kWrites},
                    Expected{"movdqa xmm0, [rax]", bytes_of({0x66, 0x0f, 0x6f, 0x00}), kRax, kNone, 1, 0, 16, kReads},
                    Expected{"paddd xmm0, [rax]", bytes_of({0x66, 0x0f, 0xfe, 0x00}), kRax, kNone, 1, 0, 16, kReads},
                    Expected{"vmovdqu [rax], ymm0", bytes_of({0xc5, 0xfe, 0x7f, 0x00}), kRax, kNone, 1, 0, 32, kWrites},
                    Expected{"vmovaps ymm0, [rax]", bytes_of({0xc5, 0xfc, 0x28, 0x00}), kRax, kNone, 1, 0, 32, kReads},
                    Expected{"vpbroadcastb ymm0, [rax]", bytes_of({0xc4, 0xe2, 0x7d, 0x78, 0x00}), kRax, kNone, 1, 0, 1,
                             kReads},
                    Expected{"vmovdqu64 zmm0, [rax+64]", bytes_of({0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x40, 0x01}), kRax,
                             kNone, 1, 64, 64, kReads},
                    Expected{"vpaddd zmm0, zmm1, [rax]{1to16}", bytes_of({0x62, 0xf1, 0x75, 0x58, 0xfe, 0x00}), kRax,
                             kNone, 1, 0, 4, kReads},
                    Expected{"fld qword [rax]", bytes_of({0xdd, 0x00}), kRax, kNone, 1, 0, 8, kReads},
                    Expected{"fstp tword [rax]", bytes_of({0xdb, 0x38}), kRax, kNone, 1, 0, 10, kWrites}));

INSTANTIATE_TEST_SUITE_P(
    Atomics, SiteForms,
    testing::Values(Expected{"lock inc dword [rax]", bytes_of({0xf0, 0xff, 0x00}), kRax, kNone, 1, 0, 4,
                             kBoth | kAtomicSite},
                    Expected{"lock cmpxchg [rax], ecx", bytes_of({0xf0, 0x0f, 0xb1, 0x08}), kRax, kNone, 1, 0, 4,
                             kBoth | kAtomicSite},
                    Expected{"lock cmpxchg16b [rax]", bytes_of({0xf0, 0x48, 0x0f, 0xc7, 0x08}), kRax, kNone, 1, 0, 16,
                             kBoth | kAtomicSite},
                    Expected{"lock or qword [rsp], 0", bytes_of({0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00}), kRsp, kNone, 1,
                             0, 8, kBoth | kAtomicSite | kStackSite},
                    Expected{"xchg [rax], ecx", bytes_of({0x87, 0x08}), kRax, kNone, 1, 0, 4, kBoth | kAtomicSite},
                    Expected{"xadd [rax], ecx", bytes_of({0x0f, 0xc1, 0x08}), kRax, kNone, 1, 0, 4, kBoth},
                    Expected{"cmpxchg [rax], ecx", bytes_of({0x0f, 0xb1, 0x08}), kRax, kNone, 1, 0, 4, kBoth}));

struct LeftOut {
  const char* text;
  Bytes code;
};

void PrintTo(const LeftOut& left_out, std::ostream* out) { *out << left_out.text; }

class NoSites : public testing::TestWithParam<LeftOut> {};

TEST_P(NoSites, DecodeAsInstructions) {
  const auto decoded = decode_instruction(GetParam().code);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->length, GetParam().code.size());
  EXPECT_FALSE(decoded->site.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, NoSites,
    testing::Values(LeftOut{"mov eax, ecx", bytes_of({0x89, 0xc8})},
                    LeftOut{"lea rax, [rax+8]", bytes_of({0x48, 0x8d, 0x40, 0x08})},
                    LeftOut{"nop [rax+rax]", bytes_of({0x0f, 0x1f, 0x44, 0x00, 0x00})},
                    LeftOut{"endbr64", bytes_of({0xf3, 0x0f, 0x1e, 0xfa})},
                    LeftOut{"mov rax, fs:[0]", bytes_of({0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0})},
                    LeftOut{"mov eax, gs:[rax]", bytes_of({0x65, 0x8b, 0x00})},
                    LeftOut{"push [rax]", bytes_of({0xff, 0x30})}, LeftOut{"push rax", bytes_of({0x50})},
                    LeftOut{"pop [rax]", bytes_of({0x8f, 0x00})}, LeftOut{"call [rax]", bytes_of({0xff, 0x10})},
                    LeftOut{"jmp [rax]", bytes_of({0xff, 0x20})}, LeftOut{"jmp far [rax]", bytes_of({0xff, 0x28})},
                    LeftOut{"ret", bytes_of({0xc3})}, LeftOut{"leave", bytes_of({0xc9})},
                    LeftOut{"rep movsb", bytes_of({0xf3, 0xa4})}, LeftOut{"stosq", bytes_of({0x48, 0xab})},
                    LeftOut{"xlatb", bytes_of({0xd7})}, LeftOut{"prefetcht0 [rax]", bytes_of({0x0f, 0x18, 0x08})},
                    LeftOut{"prefetchw [rax]", bytes_of({0x0f, 0x0d, 0x08})},
                    LeftOut{"clflush [rax]", bytes_of({0x0f, 0xae, 0x38})},
                    LeftOut{"clflushopt [rax]", bytes_of({0x66, 0x0f, 0xae, 0x38})},
                    LeftOut{"clwb [rax]", bytes_of({0x66, 0x0f, 0xae, 0x30})},
                    LeftOut{"fxsave [rax]", bytes_of({0x0f, 0xae, 0x00})},
                    LeftOut{"xsave [rax]", bytes_of({0x0f, 0xae, 0x20})},
                    LeftOut{"bt [rax], ecx", bytes_of({0x0f, 0xa3, 0x08})},
                    LeftOut{"lock bts [rax], ecx", bytes_of({0xf0, 0x0f, 0xab, 0x08})},
                    LeftOut{"mov eax, [eax]", bytes_of({0x67, 0x8b, 0x00})},
                    LeftOut{"movabs al, [0x123456789abc]", bytes_of({0xa0, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0})},
                    LeftOut{"vpgatherdd xmm0, [rax+xmm1], xmm2", bytes_of({0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08})},
                    LeftOut{"vmaskmovps [rax], ymm1, ymm0", bytes_of({0xc4, 0xe2, 0x75, 0x2e, 0x00})},
                    LeftOut{"vmovdqu32 zmm0{k1}, [rax]", bytes_of({0x62, 0xf1, 0x7e, 0x49, 0x6f, 0x00})},
                    LeftOut{"maskmovdqu xmm0, xmm1", bytes_of({0x66, 0x0f, 0xf7, 0xc1})},
                    LeftOut{"sgdt [rax]", bytes_of({0x0f, 0x01, 0x00})},
                    LeftOut{"lss eax, [rax]", bytes_of({0x0f, 0xb2, 0x00})}));

TEST(DecodeInstruction, RefusesWhatIsNoInstruction) {
  EXPECT_FALSE(decode_instruction({}).has_value());
  EXPECT_FALSE(decode_instruction(bytes_of({0x06})).has_value());  // push es: not in 64-bit code
}

TEST(DecodeInstruction, RefusesAnInstructionThatIsCutOff) {
  const Bytes whole = bytes_of({0x8b, 0x83, 0x78, 0x56, 0x34, 0x12});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_instruction(std::span(whole).first(size)).has_value()) << size;
  }
}

TEST(AddressOf, AddsBaseIndexAndDisplacement) {
  Registers registers;
  registers.general[kRbx] = 0x1000;
  registers.general[kR15] = 0x10;
  EXPECT_EQ(address_of({.displacement = -8, .base = kRbx, .index = kR15, .scale = 4}, registers), 0x1038U);
  EXPECT_EQ(address_of({.displacement = 0x20, .base = kNone, .index = kR15, .scale = 8}, registers), 0xa0U);
  EXPECT_EQ(address_of({.displacement = 0x20}, registers), 0x20U);
}

TEST(AddressOf, CountsFromTheNextInstruction) {
  Registers registers;
  registers.instruction_pointer = 0x400000;
  EXPECT_EQ(address_of({.displacement = -16, .base = kInstructionPointer, .length = 7}, registers), 0x3ffff7U);
}

TEST(AddressOf, WrapsAround) {
  Registers registers;
  registers.general[kRax] = UINT64_MAX;
  EXPECT_EQ(address_of({.displacement = 2, .base = kRax}, registers), 1U);
  EXPECT_EQ(address_of({.displacement = -1}, registers), UINT64_MAX);
}

}  // namespace
}  // namespace deadheat::watch
