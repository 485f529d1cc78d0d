// SPDX-License-Identifier: Apache-2.0
#include "replay/machine_state.h"

#include <algorithm>
#include <cstddef>

namespace deadheat::replay {
namespace {

constexpr std::uint64_t kBelowStack = 128;  // the red zone
constexpr std::uint64_t kAboveStack = 16 * 1024;

}  // namespace

Registers Registers::of(const RegisterFile& file) {
  Registers registers;
  for (std::size_t index = 0; index < file.general.size(); ++index) {
    registers.general[index] = Value::of(file.general[index]);
  }
  registers.flags.known = kTrackedFlags;
  registers.flags.bits = static_cast<std::uint32_t>(file.flags) & kTrackedFlags;
  return registers;
}

Memory::Word Memory::word_at(std::uint64_t index) const {
  if (const auto found = stack_.find(index); found != stack_.end()) return found->second;
  if (const auto found = shared_.find(index); found != shared_.end()) return found->second;
  return {};
}

bool Memory::is_excluded(std::uint64_t address, std::uint64_t size) const {
  if (excluded.empty()) return false;
  const auto after =
      std::ranges::upper_bound(excluded, address, {}, [](const MemoryRange& range) { return range.begin; });
  if (after != excluded.end() && after->begin < address + size) return true;
  return after != excluded.begin() && (after - 1)->end > address;
}

Value Memory::load(std::uint64_t address, unsigned size) const {
  if (!is_enabled || (stack_.empty() && shared_.empty()) || size > 8 || is_excluded(address, size)) return {};
  const unsigned offset = static_cast<unsigned>(address & 7);
  const Word low = word_at(address / 8);
  std::uint64_t bits = low.bits >> (8 * offset);
  unsigned known = static_cast<unsigned>(low.known) >> offset;
  if (offset + size > 8) {
    const Word high = word_at(address / 8 + 1);
    bits |= high.bits << (8 * (8 - offset));
    known |= static_cast<unsigned>(high.known) << (8 - offset);
  }
  const auto mask = static_cast<std::uint8_t>(known & bytes_mask(size));
  return {bits & spread(mask), mask, mask != 0};
}

void Memory::store(std::uint64_t address, unsigned size, const Value& value, bool is_stack) {
  if (!is_enabled) return;
  forget(address, size);
  const auto known = static_cast<std::uint8_t>(value.known & bytes_mask(size));
  if (known == 0 || is_excluded(address, size)) return;
  Words& words = is_stack ? stack_ : shared_;
  Words& others = is_stack ? shared_ : stack_;
  const auto put = [&](std::uint64_t index, std::uint64_t bits, unsigned mask) {
    const auto bytes = static_cast<std::uint8_t>(mask & 0xff);
    if (bytes == 0) return;
    // A word lives in one table.
    Word word = word_at(index);
    others.erase(index);
    word.known = static_cast<std::uint8_t>(word.known | bytes);
    word.bits = (word.bits & ~spread(bytes)) | (bits & spread(bytes));
    words[index] = word;
  };
  const unsigned offset = static_cast<unsigned>(address & 7);
  put(address / 8, value.bits << (8 * offset), static_cast<unsigned>(known) << offset);
  if (offset + size > 8) {
    put(address / 8 + 1, value.bits >> (8 * (8 - offset)), static_cast<unsigned>(known) >> (8 - offset));
  }
}

void Memory::forget(std::uint64_t address, std::uint64_t size) {
  if (size == 0 || (stack_.empty() && shared_.empty())) return;
  if (size > 4096 || address + size < address) {
    forget_all();
    return;
  }
  for (std::uint64_t index = address / 8; index <= (address + size - 1) / 8; ++index) {
    const std::uint64_t begin = std::max(address, index * 8) - index * 8;
    const std::uint64_t end = std::min(address + size - index * 8, std::uint64_t{8});
    const auto gone =
        static_cast<std::uint8_t>(bytes_mask(static_cast<unsigned>(end)) & ~bytes_mask(static_cast<unsigned>(begin)));
    for (Words* words : {&stack_, &shared_}) {
      const auto found = words->find(index);
      if (found == words->end()) continue;
      Word& word = found->second;
      word.known = static_cast<std::uint8_t>(word.known & ~gone);
      word.bits &= spread(word.known);
      if (word.known == 0) words->erase(found);
    }
  }
}

void MachineState::start_at(const RegisterSample& sample) {
  registers = Registers::of(sample.registers);
  const std::uint64_t top = sample.registers[Register::kRsp];
  for (std::size_t offset = 0; offset < sample.stack.size(); ++offset) {
    memory.store(top + offset, 1, Value::of(std::to_integer<std::uint8_t>(sample.stack[offset])), true);
  }
}

bool MachineState::is_on_stack(std::uint64_t address) const {
  const Value& stack = registers[Register::kRsp];
  return stack.is_known() && address + kBelowStack >= stack.bits && address < stack.bits + kAboveStack;
}

}  // namespace deadheat::replay
