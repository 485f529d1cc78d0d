// SPDX-License-Identifier: Apache-2.0
// movs, stos, lods, cmps, scas, alone and repeated. A repeated one is a single step.
#include "replay/executor.h"

namespace deadheat::replay {
namespace {

// Beyond it the bytes are not emulated one by one.
constexpr std::uint64_t kMostEmulated = 4096;

}  // namespace

void Executor::advance(Register name, const Value& count, std::optional<std::int64_t> step) {
  if (!step) {
    set(name, Value{});
    return;
  }
  set(name, sum(registers_[name], product(count, Value::of(static_cast<std::uint64_t>(*step)))));
}

bool Executor::strings() {
  if (instruction_.access_count == 0) return false;
  const unsigned bytes = instruction_.accesses[0].size;
  const auto is_downward = registers_.flags.get(kDirection);
  std::optional<std::int64_t> step;
  if (is_downward) step = *is_downward ? -static_cast<std::int64_t>(bytes) : static_cast<std::int64_t>(bytes);
  for (unsigned index = 0; index < instruction_.access_count; ++index) {
    const auto place = instruction_.accesses[index].place;
    if (place != MemoryAccess::Place::kSource && place != MemoryAccess::Place::kDestination) return false;
  }
  bool has_source = false;
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ:
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
      has_source = true;
      break;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
      break;
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ:
      string_compare(bytes, step, true);
      return true;
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
      string_compare(bytes, step, false);
      return true;
    default:
      return false;
  }
  const bool is_repeated = instruction_.repeat != Repeat::kNone;
  const Value count = is_repeated ? registers_[Register::kRcx] : Value::of(1);
  const bool has_destination = (instruction_.written >> static_cast<unsigned>(Register::kRdi) & 1) != 0;
  const Operand accumulator{Operand::Kind::kRegister, static_cast<std::uint8_t>(bytes)};
  const Value& from = registers_[Register::kRsi];
  const Value& to = registers_[Register::kRdi];
  const bool is_emulated = count.is_known() && step && count.bits <= kMostEmulated / bytes &&
                           (!has_source || from.is_known()) && (!has_destination || to.is_known());
  if (is_emulated) {
    for (std::uint64_t round = 0; round < count.bits; ++round) {
      const Value offset = Value::of(round * static_cast<std::uint64_t>(*step));
      const Value value = has_source ? load(sum(from, offset), bytes) : read(accumulator);
      if (has_destination) {
        store(sum(to, offset), bytes, value);
      } else {
        write(accumulator, value.low(bytes));
      }
    }
  } else {
    state_.memory.forget_all();
    // Not written if the count is zero.
    if (!has_destination) set(Register::kRax, Value{});
  }
  if (has_source) advance(Register::kRsi, count, step);
  if (has_destination) advance(Register::kRdi, count, step);
  if (is_repeated) set(Register::kRcx, Value::of(0));
  return true;
}

// One comparison is computed. How many a repeated one makes depends on memory.
void Executor::string_compare(unsigned bytes, std::optional<std::int64_t> step, bool has_source) {
  const Operand accumulator{Operand::Kind::kRegister, static_cast<std::uint8_t>(bytes)};
  if (instruction_.repeat == Repeat::kNone) {
    const Value a = has_source ? load(registers_[Register::kRsi], bytes) : read(accumulator);
    const Value b = load(registers_[Register::kRdi], bytes);
    (void)subtract(a.low(bytes), b.low(bytes), false, bytes);
    if (has_source) advance(Register::kRsi, Value::of(1), step);
    advance(Register::kRdi, Value::of(1), step);
    return;
  }
  anything_else();
}

}  // namespace deadheat::replay
