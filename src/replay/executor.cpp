// SPDX-License-Identifier: Apache-2.0
// Operands, memory, and everything that is not understood.
#include "replay/executor.h"

namespace deadheat::replay {

using Place = MemoryAccess::Place;

Value Executor::memory_address(const Operand& memory) const { return address_value(memory, registers_); }

// interpreter.h says why.
void Executor::note_load(const Value& address, bool is_value_known) {
  const bool is_own = address.is_known() && state_.is_on_stack(address.bits);
  if (!is_own && !is_value_known) state_.memory.forget_shared();
}

Value Executor::load(const Value& address, unsigned bytes) {
  Value value;
  if (address.is_known()) value = state_.memory.load(address.bits, bytes);
  note_load(address, value.is_known(bytes));
  return value;
}

void Executor::store(const Value& address, unsigned bytes, const Value& value) {
  if (!address.is_known()) {
    state_.memory.forget_all();
  } else if (bytes > 8) {
    state_.memory.forget(address.bits, bytes);
  } else {
    state_.memory.store(address.bits, bytes, value, state_.is_on_stack(address.bits));
  }
}

Value Executor::read(const Operand& from) {
  switch (from.kind) {
    case Operand::Kind::kRegister: {
      Value value = registers_.general[from.number];
      value.bits >>= from.shift;
      value.known = static_cast<std::uint8_t>(value.known >> (from.shift / 8));
      return value.low(from.size);
    }
    case Operand::Kind::kMemory:
      return load(memory_address(from), from.size).low(from.size);
    case Operand::Kind::kImmediate:
      // As wide as the operation: short ones were extended with their sign.
      return Value::of(from.value).low(size());
    default:
      return {};
  }
}

void Executor::write(const Operand& to, const Value& value) {
  if (to.is_memory()) {
    store(memory_address(to), to.size, value);
    return;
  }
  if (!to.is_register()) return;
  Value& whole = registers_.general[to.number];
  if (to.size >= 4) {
    whole = value.low(to.size);
    return;
  }
  const auto bytes = static_cast<std::uint8_t>(bytes_mask(to.size) << (to.shift / 8));
  const auto known = static_cast<std::uint8_t>(value.known << (to.shift / 8) & bytes);
  const std::uint64_t kept = whole.bits & ~spread(bytes);
  whole.bits = kept | (value.bits << to.shift & spread(known));
  whole.known = static_cast<std::uint8_t>((whole.known & ~bytes) | known);
  whole.is_from_memory = whole.is_from_memory || value.is_from_memory;
}

// What it writes becomes unknown, in registers, flags and memory.
void Executor::anything_else() {
  for (unsigned index = 0; index < instruction_.access_count; ++index) {
    const MemoryAccess& access = instruction_.accesses[index];
    const auto place = locate(instruction_, access, registers_);
    if (access.reads) note_load(place ? Value::of(place->address) : Value{}, false);
    if (!access.writes) continue;
    if (place) {
      state_.memory.forget(place->address, place->size);
    } else {
      state_.memory.forget_all();
    }
  }
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    if ((instruction_.written >> number & 1) != 0) registers_.general[number] = {};
  }
  registers_.flags.forget(instruction_.flags_written);
}

void Executor::push(const Value& value, unsigned bytes) {
  const Value top = difference(registers_[Register::kRsp], Value::of(bytes));
  set(Register::kRsp, top);
  store(top, bytes, value);
}

Value Executor::pop(unsigned bytes) {
  const Value top = registers_[Register::kRsp];
  const Value value = load(top, bytes);
  set(Register::kRsp, sum(top, Value::of(bytes)));
  return value;
}

}  // namespace deadheat::replay
