// SPDX-License-Identifier: Apache-2.0
#include "assembly_text.h"

#include <algorithm>
#include <array>
#include <optional>

namespace deadheat::pass {

namespace {

bool is_blank(char character) { return character == ' ' || character == '\t'; }
bool is_digit(char character) { return character >= '0' && character <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_word(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

// The number in "%1", "%b1", "$1", "${1:b}" or "(%1)".
std::optional<unsigned> operand_number(std::string_view operand, char sigil) {
  const std::size_t at = operand.find(sigil);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t digit = at + 1;
  while (digit < operand.size() && !is_digit(operand[digit])) {
    if (operand[digit] == sigil) return std::nullopt;  // a register by name, a number
    ++digit;
  }
  if (digit == operand.size() || digit > at + 2) return std::nullopt;
  unsigned number = 0;
  for (; digit < operand.size() && is_digit(operand[digit]); ++digit) {
    number = number * 10 + static_cast<unsigned>(operand[digit] - '0');
  }
  return number;
}

unsigned size_by_name(std::string_view name) {
  if (name.size() < 3) return 0;
  switch (name.back()) {
    case 'b':
      return name.ends_with("sub") ? 0 : 1;
    case 'w':
      return 2;
    case 'l':
      return 4;
    case 'q':
      return 8;
    default:
      return 0;
  }
}

std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '(') ++depth;
    if (at < text.size() && text[at] == ')') --depth;
    if (at == text.size() || (text[at] == ',' && depth == 0)) {
      const std::string_view operand = trimmed(text.substr(begin, at - begin));
      if (!operand.empty()) operands.push_back(operand);
      begin = at + 1;
    }
  }
  return operands;
}

bool is_comparison(std::string_view name) {
  return (name.starts_with("cmp") && !name.starts_with("cmpxchg")) || name.starts_with("test") || name == "bt" ||
         name == "btl" || name == "btq" || name == "btw";
}

bool only_writes(std::string_view name) {
  return name.starts_with("mov") || (name.starts_with("set") && name.size() > 3);
}

class Reader {
 public:
  explicit Reader(char sigil) : sigil_(sigil) {}

  void read(std::string_view instruction) {
    if (const std::size_t comment = instruction.find('#'); comment != std::string_view::npos)
      instruction = instruction.substr(0, comment);
    instruction = trimmed(instruction);
    std::string_view name = take_word(instruction);
    while (name.ends_with(":")) name = take_word(instruction);  // a label
    if (name.empty() || name.front() == '.') return;            // a directive
    if (name == "lock") {
      is_locked_ = true;
      name = take_word(instruction);
      if (name.empty()) return;  // "lock;": belongs to what comes next
    }
    result_.has_instructions = true;
    if (name == "mfence") result_.is_fence = true;
    read_operands(name, operands_of(instruction));
    is_locked_ = false;
  }

  AssemblyText result() { return std::move(result_); }

 private:
  void read_operands(std::string_view name, const std::vector<std::string_view>& operands) {
    const bool exchanges = name.starts_with("xchg");
    if (is_locked_ || exchanges) result_.is_atomic = true;
    for (std::size_t at = 0; at < operands.size(); ++at) {
      const std::size_t open = operands[at].find('(');
      if (open == std::string_view::npos) continue;
      const std::string_view address = operands[at].substr(open);
      if (is_locked_ && (address.find("sp)") != std::string_view::npos)) result_.is_fence = true;
      const auto pointer = operand_number(address, sigil_);
      // We do not know where addresses with a distance or an index lie.
      if (!pointer || open != 0 || address.find(',') != std::string_view::npos) continue;
      IndirectOperand found;
      found.pointer = *pointer;
      found.size = size_by_name(name);
      const bool is_last = at + 1 == operands.size();
      found.writes = (is_last || exchanges || name.starts_with("xadd")) && !is_comparison(name);
      found.reads = !found.writes || !only_writes(name);
      for (std::size_t other = 0; other < operands.size(); ++other) {
        if (other == at) continue;
        if (const auto partner = operand_number(operands[other], sigil_)) found.partner = static_cast<int>(*partner);
      }
      result_.indirect.push_back(found);
    }
  }

  char sigil_;
  bool is_locked_ = false;
  AssemblyText result_;
};

}  // namespace

AssemblyText read_assembly(std::string_view text, char sigil) {
  Reader reader(sigil);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";\n"), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.result();
}

}  // namespace deadheat::pass
