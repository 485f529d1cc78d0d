// SPDX-License-Identifier: Apache-2.0
// References that the C++ library counts inside itself: exceptions, their messages, locales, folders. One thread
// is done with its copy, another ends the object.
#include <exception>
#include <filesystem>
#include <locale>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "order.h"

namespace {

const char* const kLong = "a message that is too long to lie in the object itself";

int turns;
int seen;

// In two threads, one after the other, in an order that nobody sees.
template <class First, class Second>
void one_then_other(First first, Second second) {
  int place = 0;
  std::thread one([&] {
    first();
    order_reach_at(&place, 1);
    order_await_at(&place, 2);
  });
  std::thread other([&] {
    order_await_at(&place, 1);
    second();
    order_reach_at(&place, 2);
  });
  one.join();
  other.join();
  turns++;
}

struct Failure {
  int reads = 0;
  int number;
  std::string text = kLong;
  explicit Failure(int given) : number(given) {}
  Failure(const Failure&) = default;
  ~Failure() { number = -1; }
};

void drop_exception(std::exception_ptr made) {
  std::exception_ptr one = made;
  std::exception_ptr other = made;
  made = nullptr;
  one_then_other(
      [&] {
        try {
          std::rethrow_exception(one);
        } catch (Failure& failure) {
          failure.reads++;
          seen += failure.number;
          one = nullptr;
        }
      },
      [&] { other = nullptr; });
}

void drop_exceptions() {
  try {
    throw Failure(1);
  } catch (...) {
    drop_exception(std::current_exception());
  }
  drop_exception(std::make_exception_ptr(Failure(2)));
  // The handler is the last one that has it.
  std::exception_ptr pointer = std::make_exception_ptr(Failure(4));
  std::exception_ptr copy = pointer;
  one_then_other(
      [&] {
        try {
          std::rethrow_exception(copy);
        } catch (Failure& failure) {
          failure.reads++;
        }
        copy = nullptr;
      },
      [&] {
        try {
          std::rethrow_exception(std::move(pointer));
        } catch (Failure& failure) {
          pointer = nullptr;
          seen += failure.number;
        }
      });
}

template <class Object>
void drop(const Object& object, int (*look)(const Object&)) {
  auto one = std::make_unique<Object>(object);
  auto other = std::make_unique<Object>(*one);
  const_cast<Object&>(object) = Object(*one);
  one_then_other(
      [&] {
        seen += look(*one);
        one.reset();
      },
      [&] { other.reset(); });
}

void drop_messages() {
  drop<std::runtime_error>(std::runtime_error(kLong),
                           [](const std::runtime_error& error) { return error.what()[2] == 'm' ? 8 : 0; });
  drop<std::out_of_range>(std::out_of_range(kLong),
                          [](const std::out_of_range& error) { return error.what()[2] == 'm' ? 16 : 0; });
  using Error = std::filesystem::filesystem_error;
  drop<Error>(Error(kLong, "/some/path", std::make_error_code(std::errc::io_error)),
              [](const Error& error) { return error.path1() == "/some/path" ? 32 : 0; });
}

struct Point : std::numpunct<char> {
  mutable int uses = 0;
  ~Point() override { uses = -1; }
  char do_decimal_point() const override { return uses++ == 0 ? ',' : ';'; }
};

void drop_locales() {
  auto one = std::make_unique<std::locale>(std::locale::classic(), new Point);
  auto other = std::make_unique<std::locale>(*one);
  one_then_other(
      [&] {
        if (std::use_facet<std::numpunct<char>>(*one).decimal_point() != '.') seen += 64;
        one.reset();
      },
      [&] {
        *other = std::locale::classic();
        other.reset();
      });
}

void drop_folders() {
  namespace fs = std::filesystem;
  auto one = std::make_unique<fs::recursive_directory_iterator>("/proc/self/task");
  auto other = std::make_unique<fs::recursive_directory_iterator>(*one);
  auto flat = std::make_unique<fs::directory_iterator>("/");
  auto flat_too = std::make_unique<fs::directory_iterator>(*flat);
  one_then_other(
      [&] {
        if (one->depth() == 0 && !(**flat).path().empty()) seen += 128;
        ++*flat;
        one.reset();
        flat.reset();
      },
      [&] {
        other.reset();
        flat_too.reset();
      });
}

void drop_weakly() {
  auto strong = std::make_shared<Failure>(1);
  std::weak_ptr<Failure> weak = strong;
  one_then_other(
      [&] {
        strong->reads++;
        strong.reset();
      },
      [&] {
        if (weak.lock() == nullptr) seen += 256;
        weak.reset();
      });
}

}  // namespace

int main() {
  drop_exceptions();
  drop_messages();
  drop_locales();
  drop_folders();
  drop_weakly();
  return seen == 511 && turns == 9 ? 0 : 1;
}
