// SPDX-License-Identifier: Apache-2.0
#include "statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace deadheat::random_programs {

namespace {

using Text = std::string;

// A condition that holds or does not, which the optimiser cannot know.
Text condition(Dice& dice) { return fmt::format("opaque({})", dice.below(2)); }

// Something to read whose value fits into a long.
Text read_of(const Text& place) { return fmt::format("acc += (long)RD({});", place); }
Text write_of(Dice& dice, const Text& type, const Text& place) {
  return fmt::format("WR({}, ({})(acc + {}));", place, type, 1 + dice.below(9));
}

// A place of one element, read or written in one of many ways. `other` is a place of the same type.
Text use_of(Dice& dice, const Text& type, const Text& place, const Text& other) {
  const int amount = 1 + dice.below(9);
  switch (dice.below(12)) {
    case 0:
    case 1:
      return read_of(place);
    case 2:
    case 3:
      return write_of(dice, type, place);
    case 4:
      return fmt::format("WR({0}, ({1})(RD({0}) + {2}));", place, type, amount);
    case 5:
      return fmt::format("if ({}) {}", condition(dice), read_of(place));
    case 6:
      return fmt::format("if ({}) {}", condition(dice), write_of(dice, type, place));
    case 7:
      return fmt::format("acc += (long)({} ? RD({}) : RD({}));", condition(dice), place, other);
    case 8:
      return fmt::format("acc += (long)({} ? RD({}) : ({}){});", condition(dice), place, type, amount);
    case 9:
      return fmt::format(
          "for (long i = 0, n = opaque({}), b = opaque({}); i < n; i++) if (i == b) WR({}, ({})(RD({}) + {}));",
          dice.below(6), dice.below(8), place, type, place, amount);
    case 10:
      return fmt::format("for (long i = 0, n = opaque({}); i < n; i++) acc += (long)RD({}) + i;", dice.below(4), place);
    default:
      return fmt::format("if ({}) WR({}, ({})acc); else acc += (long)RD({});", condition(dice), place, type, other);
  }
}

Text scalar(Dice& dice, const Object& object, const Surroundings& around) {
  Text other = object.name;
  for (const Object* const candidate : around.others) {
    if (candidate->shape == Shape::kScalar && candidate->type == object.type) other = candidate->name;
  }
  return use_of(dice, object.type, object.name, other);
}

// An object of more bytes than a register of the ordinary kind. All of it is used: the optimiser reads no more than
// that.
Text vector(Dice& dice, const Object& object) {
  if (object.type.find("Vector") == Text::npos) {
    switch (dice.below(3)) {
      case 0:
        return fmt::format("{{ {0} v = RD({1}); USE(v); }}", object.type, object.name);
      case 1:
        return fmt::format("WR({}, ({})(acc + {}));", object.name, object.type, 1 + dice.below(9));
      default:
        return fmt::format("if ({2}) {{ {0} v = RD({1}); USE(v); }}", object.type, object.name, condition(dice));
    }
  }
  switch (dice.below(4)) {
    case 0:
      return fmt::format("{{ {0} v = RD({1}); USE(v); acc += v[1]; }}", object.type, object.name);
    case 1:
      return fmt::format("WR({0}, (({1}){{(int)acc, 2, 3, 4}}));", object.name, object.type);
    case 2:
      return fmt::format("WR({0}, RD({0}) + {1});", object.name, 1 + dice.below(5));
    default:
      return fmt::format("if ({2}) {{ {0} v = RD({1}); USE(v); }}", object.type, object.name, condition(dice));
  }
}

struct Range {
  int first = 0;
  int last = 0;  // behind it
  int step = 1;
};
Range range_in(Dice& dice, int count) {
  Range range;
  range.first = dice.below(count);
  range.last = range.first + 1 + dice.below(count - range.first);
  range.step = dice.one_in(3) ? 1 + dice.below(4) : 1;
  return range;
}

// A loop over `place`, an element by its index i.
Text sweep(Dice& dice, const Object& object, const Text& type, const Text& place) {
  const Range range = range_in(dice, object.count);
  const Text up =
      fmt::format("for (long i = opaque({}), n = opaque({}); i < n; i += {}) ", range.first, range.last, range.step);
  const Text down = fmt::format("for (long i = opaque({}), n = opaque({}); i >= n; i -= {}) ", range.last - 1,
                                range.first, range.step);
  const Text& loop = dice.one_in(4) ? down : up;
  switch (dice.below(8)) {
    case 0:
      return loop + fmt::format("acc += (long)RD({});", place);
    case 1:
      return loop + fmt::format("WR({}, ({})i);", place, type);
    case 2:
      return loop + fmt::format("WR({0}, ({1})(RD({0}) + i));", place, type);
    case 3:
      return loop + fmt::format("if (i % 3 == opaque({})) WR({}, ({})i);", dice.below(4), place, type);
    case 4:
      return loop +
             fmt::format("{{ acc += (long)RD({}); if (i == opaque({})) break; }}", place, dice.below(object.count));
    case 5:
      return loop +
             fmt::format("{{ if (i == opaque({})) break; WR({}, ({})7); }}", dice.below(object.count), place, type);
    case 6:
      return loop +
             fmt::format("acc += (long)(i > opaque({}) ? RD({}) : ({})i);", dice.below(object.count), place, type);
    default:
      return loop + fmt::format("WR({}, ({})0);", place, type);
  }
}

Text bytes_of(Dice& dice, const Text& begin, int size, const Surroundings& around, const Object& object) {
  const Range range = range_in(dice, size);
  const int count = range.last - range.first;
  switch (dice.below(4)) {
    case 0:
      return fmt::format("FILL((char*){} + {}, (int)acc, opaque({}));", begin, range.first, count);
    case 1:
      return fmt::format("{{ char copy[{0}]; COPY(copy, (char*){1} + {2}, {0}); USE(copy); }}", count, begin,
                         range.first);
    case 2:
      for (const Object* const from : around.others) {
        if (from->shape != Shape::kBytes || from == &object || from->count < count) continue;
        return fmt::format("COPY((char*){} + {}, {}, opaque({}));", begin, range.first, from->name, count);
      }
      [[fallthrough]];
    default:
      return fmt::format("FILL((char*){} + {}, 5, {});", begin, range.first, count);
  }
}

Text array(Dice& dice, const Object& object, const Surroundings& around) {
  const int size = object.type == "char"                            ? 1
                   : object.type == "short"                         ? 2
                   : object.type == "int" || object.type == "float" ? 4
                                                                    : 8;
  const Text at = fmt::format("{}[opaque({})]", object.name, dice.below(object.count));
  const Text near = fmt::format("{}[{}]", object.name, dice.below(object.count));
  switch (dice.below(5)) {
    case 0:
      return use_of(dice, object.type, dice.one_in(2) ? at : near, near);
    case 1:
      return bytes_of(dice, object.name, object.count * size, around, object);
    default:
      return sweep(dice, object, object.type, object.name + "[i]");
  }
}

struct Member {
  const char* type;
  const char* name;
};

Text points(Dice& dice, const Object& object) {
  static constexpr std::array<Member, 5> kMembers{
      {{"int", "x"}, {"short", "y"}, {"char", "z"}, {"char", "t"}, {"long", "w"}}};
  const Member& member = dice.pick(kMembers);
  if (dice.one_in(4)) {
    const Text at = fmt::format("{}[{}]", object.name, dice.below(object.count));
    if (dice.one_in(3)) return fmt::format("acc += take_point(acc, RD({}), 3);", at);
    if (dice.one_in(2)) return fmt::format("{{ struct Point p = RD({}); USE(p); acc += p.x; }}", at);
    return fmt::format("{{ struct Point p = {{(int)acc, 1, 2, 3, 4}}; USE(p); WR({}, p); }}", at);
  }
  return sweep(dice, object, member.type, fmt::format("{}[i].{}", object.name, member.name));
}

Text structure(Dice& dice, const Object& object, const Surroundings& around) {
  // "struct Small" -> "small"
  Text words = object.type.substr(object.type.find(' ') + 1);
  std::transform(words.begin(), words.end(), words.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  const Text member = words == "small" ? "b" : words == "medium" ? "c[5]" : "a[3]";
  const Text type = words == "small" ? "short" : words == "medium" ? "char" : "long";
  switch (dice.below(7)) {
    case 0:
      return fmt::format("acc += take_{}(RD({}));", words, object.name);
    case 1:
      return fmt::format("WR({}, make_{}(acc));", object.name, words);
    case 2:
      return fmt::format("{{ {} copy = RD({}); USE(copy); }}", object.type, object.name);
    case 3:
      for (const Object* const from : around.others) {
        if (from->type == object.type && from->shape == Shape::kStruct && from != &object)
          return fmt::format("WR({}, RD({}));", object.name, from->name);
      }
      [[fallthrough]];
    case 4:
      return fmt::format("if ({}) acc += take_{}(RD({}));", condition(dice), words, object.name);
    default:
      return use_of(dice, type, object.name + "." + member, object.name + "." + member);
  }
}

Text packed(Dice& dice, const Object& object) {
  static constexpr std::array<Member, 4> kMembers{{{"char", "a"}, {"int", "b"}, {"long", "c"}, {"short", "d"}}};
  const Member& member = dice.pick(kMembers);
  const Text place = fmt::format("{}.{}", object.name, member.name);
  return use_of(dice, member.type, place, place);
}

Text overlaid(Dice& dice, const Object& object) {
  static constexpr std::array<Member, 5> kMembers{
      {{"long", "l"}, {"int", "i[1]"}, {"char", "c[3]"}, {"short", "s[2]"}, {"double", "d"}}};
  const Member& member = dice.pick(kMembers);
  const Text place = fmt::format("{}.{}", object.name, member.name);
  return use_of(dice, member.type, place, place);
}

struct Field {
  const char* name;
  int first;
  int count;
};

Text fields(Dice& dice, const Object& object) {
  static constexpr std::array<Field, 6> kFields{
      {{"a", 0, 1}, {"b", 0, 1}, {"c", 1, 1}, {"d", 2, 2}, {"e", 8, 5}, {"f", 13, 2}}};
  const Field& field = dice.pick(kFields);
  const Text place = fmt::format("{}, {}, {}, {}", object.name, field.name, field.first, field.count);
  switch (dice.below(3)) {
    case 0:
      return fmt::format("acc += (long)RD_FIELD({});", place);
    case 1:
      return fmt::format("WR_FIELD({}, acc & 7);", place);
    default:
      return fmt::format("if ({}) WR_FIELD({}, 3);", condition(dice), place);
  }
}

Text raw_bytes(Dice& dice, const Object& object, const Surroundings& around) {
  const int at = dice.below(object.count - 40);
  switch (dice.below(around.may_use_avx2 ? 11 : 6)) {
    case 0:
      return fmt::format("LOAD_128({} + {});", object.name, at);
    case 1:
      return fmt::format("STORE_128({} + {}, acc);", object.name, at);
    case 2:
      return sweep(dice, object, "char", object.name + "[i]");
    case 3:
    case 4:
      return bytes_of(dice, object.name, object.count, around, object);
    case 5:
      for (const Object* const other : around.others) {
        if (other->shape != Shape::kBytes || other == &object) continue;
        return fmt::format("COMPARE({} + {}, {}, {});", object.name, at, other->name, 1 + dice.below(40));
      }
      return fmt::format("LOAD_128({} + {});", object.name, at);
    case 6:
      return fmt::format("LOAD_256({} + {});", object.name, at);
    case 7:
      return fmt::format("STORE_256({} + {}, acc);", object.name, at);
    case 8:
      return fmt::format("STORE_MASKED({} + {}, {});", object.name, at, dice.below(5));
    case 9:
      return fmt::format("GATHER({} + {}, {});", object.name, at, dice.below(4));
    default:
      return fmt::format("LOAD_MASKED({} + {}, {});", object.name, at, dice.below(4));
  }
}

Text heap(Dice& dice, const Object& object, const Surroundings& around) {
  const Text at = fmt::format("{}[opaque({})]", object.name, dice.below(object.count));
  if (dice.one_in(3)) return use_of(dice, "long", at, at);
  if (dice.one_in(3)) return bytes_of(dice, object.name, object.count * 8, around, object);
  return sweep(dice, object, "long", object.name + "[i]");
}

}  // namespace

std::string statement(Dice& dice, const Object& object, const Surroundings& around) {
  switch (object.shape) {
    case Shape::kScalar:
      return scalar(dice, object, around);
    case Shape::kVector:
      return vector(dice, object);
    case Shape::kArray:
      return array(dice, object, around);
    case Shape::kPoints:
      return points(dice, object);
    case Shape::kStruct:
      return structure(dice, object, around);
    case Shape::kPacked:
      return packed(dice, object);
    case Shape::kUnion:
      return overlaid(dice, object);
    case Shape::kFields:
      return fields(dice, object);
    case Shape::kBytes:
      return raw_bytes(dice, object, around);
    case Shape::kHeap:
    case Shape::kLargeHeap:
      return heap(dice, object, around);
  }
  return ";";
}

}  // namespace deadheat::random_programs
