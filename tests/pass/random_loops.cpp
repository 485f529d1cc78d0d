// SPDX-License-Identifier: Apache-2.0
// random_loops SEED FILE: writes a C program of random loops to FILE, and to standard
// output the names of the arrays on which it has a race, as the loops say when they
// are carried out one access at a time. random_loops.sh compares.
//
// Each case is an array of its own, swept by two threads that nothing orders: up or
// down, with and without gaps, nested, under conditions, until a value is found in
// memory before the access or after it, by elements of all sizes. The second sweep
// is made such that it often just touches the first, or just does not.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

namespace {

constexpr int kCases = 60;
constexpr int kBytes = 4096;

enum class Form {
  kUp,
  kDown,
  kNested,
  kCondition,
  kUntil,
  kFoundBefore,  // breaks, without the access
  kFoundAfter,   // breaks after the access
  kFoundDown,
  kFoundInRows,  // a search in each row
  kTwoExits,     // one before the access and one after it
  kNoBound,      // only what is found ends it
  kCount
};
constexpr int kValues = 64;  // more than a loop has iterations

struct Sweep {
  Form form = Form::kUp;
  bool writes = false;
  int size = 1;   // of an element, in bytes
  int first = 0;  // elements
  int step = 1;
  int count = 1;
  int rows = 1;
  int row_step = 0;
  int stop = 0;   // the iteration that finds what it looks for
  int other = 0;  // the same for the exit after the access

  [[nodiscard]] bool has_rows() const { return form == Form::kNested || form == Form::kFoundInRows; }
};

using Touched = std::array<std::uint8_t, kBytes>;  // 1: read, 2: written

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }

  // About the bytes from `near` on, if it is not negative.
  Sweep sweep(int near) {
    Sweep sweep;
    sweep.form = static_cast<Form>(below(static_cast<int>(Form::kCount)));
    sweep.writes = below(3) != 0;
    sweep.size = 1 << below(4);
    sweep.step = 1 + below(4);
    sweep.count = 4 + below(56);
    sweep.stop = below(sweep.count + 2);
    sweep.other = below(sweep.count + 2);
    if (sweep.form == Form::kNoBound) sweep.count = sweep.stop + 1;
    if (sweep.has_rows()) {
      sweep.rows = 2 + below(4);
      sweep.row_step = sweep.count * sweep.step + below(3);
    }
    const int length = (sweep.count - 1) * sweep.step + (sweep.rows - 1) * sweep.row_step + 1;
    const int room = kBytes / sweep.size - length - 1;
    if (room < 1) return this->sweep(near);
    sweep.first = below(room);
    if (near >= 0 && near / sweep.size < room) sweep.first = near / sweep.size;
    return sweep;
  }

 private:
  std::mt19937 random_;
};

bool ends_before_access(const Sweep& sweep, int at) {
  switch (sweep.form) {
    case Form::kUntil:
      return at > sweep.count / 2;
    case Form::kFoundBefore:
    case Form::kFoundDown:
    case Form::kFoundInRows:
    case Form::kTwoExits:
    case Form::kNoBound:
      return at == sweep.stop;
    default:
      return false;
  }
}

bool ends_after_access(const Sweep& sweep, int at) {
  return (sweep.form == Form::kFoundAfter && at == sweep.stop) || (sweep.form == Form::kTwoExits && at == sweep.other);
}

// Calls visit for each element, in order.
template <class Visit>
void carry_out(const Sweep& sweep, Visit&& visit) {
  for (int row = 0; row < sweep.rows; ++row) {
    for (int turn = 0; turn < sweep.count; ++turn) {
      const int at = sweep.form == Form::kFoundDown ? sweep.count - 1 - turn : turn;
      if (sweep.form == Form::kCondition && at % 3 == 1) continue;
      if (ends_before_access(sweep, at)) break;
      visit(sweep.first + row * sweep.row_step + at * sweep.step);
      if (ends_after_access(sweep, at)) break;
    }
  }
}

void touch(const Sweep& sweep, Touched& touched) {
  carry_out(sweep, [&](int element) {
    for (int byte = 0; byte < sweep.size; ++byte) {
      touched[static_cast<std::size_t>(element * sweep.size + byte)] |= sweep.writes ? 2 : 1;
    }
  });
}

bool have_race(const Sweep& one, const Sweep& other) {
  Touched first{};
  Touched second{};
  touch(one, first);
  touch(other, second);
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    if (first[byte] != 0 && second[byte] != 0 && (first[byte] | second[byte]) >= 2) return true;
  }
  return false;
}

std::string type_of(int size) { return "uint" + std::to_string(size * 8) + "_t"; }

std::string code_of(const Sweep& sweep, const std::string& array) {
  const auto number = [](int value) { return std::to_string(value); };
  const std::string element = "((" + type_of(sweep.size) + "*)" + array + ")";
  const auto access = [&](const std::string& index) {
    return sweep.writes ? element + "[" + index + "] = 1;" : "sum += " + element + "[" + index + "];";
  };
  const std::string from = number(sweep.first) + " + at * " + number(sweep.step);
  const std::string count = "opaque(" + number(sweep.count) + ")";
  const std::string up = "for (at = 0, end = " + count + "; at < end; at++) ";
  const std::string down = "for (at = " + count + " - 1; at >= 0; at--) ";
  const std::string in_row = access(from + " + row * " + number(sweep.row_step));
  const std::string rows = "for (row = 0; row < " + number(sweep.rows) + "; row++)\n    ";
  const std::string find = "if (values[at] == " + number(sweep.stop) + ") break;";
  switch (sweep.form) {
    case Form::kDown:
      return "  " + down + access(from) + "\n";
    case Form::kNested:
      return "  " + rows + up + in_row + "\n";
    case Form::kCondition:
      return "  " + up + "if (at % 3 != 1) " + access(from) + "\n";
    case Form::kUntil:
      return "  " + up + "{\n    if (at == limit + " + number(sweep.count / 2) + ") break;\n    " + access(from) +
             "\n  }\n";
    case Form::kFoundBefore:
      return "  " + up + "{\n    " + find + "\n    " + access(from) + "\n  }\n";
    case Form::kFoundAfter:
      return "  " + up + "{\n    " + access(from) + "\n    " + find + "\n  }\n";
    case Form::kFoundDown:
      return "  " + down + "{\n    " + find + "\n    " + access(from) + "\n  }\n";
    case Form::kFoundInRows:
      return "  " + rows + up + "{\n      " + find + "\n      " + in_row + "\n    }\n";
    case Form::kTwoExits:
      return "  " + up + "{\n    " + find + "\n    " + access(from) + "\n    if (values[at] == " + number(sweep.other) +
             ") {\n      sum += 3;\n      break;\n    }\n  }\n";
    case Form::kNoBound:
      return "  for (at = 0; values[at] != " + number(sweep.stop) + "; at++) " + access(from) + "\n";
    default:
      return "  " + up + access(from) + "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Generator generator(static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)));
  std::string arrays;
  std::string bodies[2];
  for (int number = 0; number < kCases; ++number) {
    const std::string name = "case_" + std::to_string(number);
    const Sweep first = generator.sweep(-1);
    const int end = (first.first + (first.count - 1) * first.step) * first.size;
    const int distance = (generator.below(6) - 2) * first.size;
    const Sweep second = generator.sweep(generator.below(3) != 0 ? end + distance : -1);
    arrays += "char " + name + "[" + std::to_string(kBytes) + "] __attribute__((aligned(64)));\n";
    bodies[0] += code_of(first, name);
    bodies[1] += code_of(second, name);
    if (have_race(first, second)) std::puts(name.c_str());
  }
  std::ofstream file(argv[2]);
  file << "#include <stdint.h>\n#include \"turns.h\"\n"
       << arrays << "uint64_t sum_first, sum_second;\nlong limit = 1;\nint values[" << kValues << "];\n";
  const char* const names[] = {"first", "second"};
  for (int thread = 0; thread < 2; ++thread) {
    file << "static void " << names[thread] << "(void) {\n  uint64_t sum = 0;\n  long at, row, end;\n  (void)row;\n"
         << bodies[thread] << "  sum_" << names[thread] << " = sum;\n}\n";
  }
  file << "int main(void) {\n  int at;\n  for (at = 0; at < " << kValues
       << "; at++) values[at] = at;\n  in_turn(first, second);\n  return 0;\n}\n";
  return file ? 0 : 1;
}
