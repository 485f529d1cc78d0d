// SPDX-License-Identifier: Apache-2.0
#include "report/function_names.h"

#include <gtest/gtest.h>

namespace deadheat {
namespace {

TEST(FunctionNamesTest, QualifiedNameIsWithoutTypes) {
  EXPECT_EQ(qualified_name("main"), "main");
  EXPECT_EQ(qualified_name("bank::Account::deposit(int, char const*) const"), "bank::Account::deposit");
  EXPECT_EQ(qualified_name("void bank::move<int, std::less<int> >(int*)"), "bank::move");
  EXPECT_EQ(qualified_name("std::vector<int, std::allocator<int> >::operator[](unsigned long)"),
            "std::vector::operator[]");
  EXPECT_EQ(qualified_name("bool operator< <int>(Box<int> const&, Box<int> const&)"), "operator<");
  EXPECT_EQ(qualified_name("Box<int>::operator->() const"), "Box::operator->");
  EXPECT_EQ(qualified_name("Box::operator bool() const"), "Box::operator bool");
  EXPECT_EQ(qualified_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(qualified_name("(anonymous namespace)::touch(std::vector<int>&)"), "(anonymous namespace)::touch");
  EXPECT_EQ(qualified_name("run(int)::Local::go()"), "run::Local::go");
  EXPECT_EQ(qualified_name("make[abi:cxx11](int)"), "make");
}

TEST(FunctionNamesTest, LambdasAreCalledTheSameByBothCompilers) {
  EXPECT_EQ(qualified_name("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda}::operator()");
  EXPECT_EQ(qualified_name("main::$_0::operator()(int) const"), "main::{lambda}::operator()");
  EXPECT_EQ(qualified_name("main::'lambda'(int)::operator()(int) const"), "main::{lambda}::operator()");
}

TEST(FunctionNamesTest, TypesOfTheLibraryAreCalledAsPeopleWriteThem) {
  EXPECT_EQ(short_name("put(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)"),
            "put(std::string const&)");
  EXPECT_EQ(short_name("put(std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>)"),
            "put(std::string)");
  EXPECT_EQ(short_name("std::vector<int, std::allocator<int> >::operator[](unsigned long)"),
            "std::vector<int>::operator[](unsigned long)");
  EXPECT_EQ(short_name("std::map<int, std::vector<int, std::allocator<int> >, std::less<int>, "
                       "std::allocator<std::pair<int const, std::vector<int, std::allocator<int> > > > >::clear()"),
            "std::map<int, std::vector<int>>::clear()");
  EXPECT_EQ(short_name("std::unique_ptr<Node, std::default_delete<Node> >::get() const"),
            "std::unique_ptr<Node>::get() const");
  EXPECT_EQ(short_name("std::allocator<int>::allocate(unsigned long)"), "std::allocator<int>::allocate(unsigned long)");
  EXPECT_EQ(short_name("f(int, std::less<int>)"), "f(int, std::less<int>)");
  EXPECT_EQ(short_name("bool operator< <int>(Box<int>)"), "bool operator< <int>(Box<int>)");
}

TEST(FunctionNamesTest, FramesOfTheRuntimeAreOurs) {
  EXPECT_TRUE(is_runtime_frame({"deadheat::runtime::(anonymous namespace)::run_initialiser()", "", 0, "/bin/x", 0}));
  EXPECT_FALSE(is_runtime_frame({"run_initialiser()", "", 0, "/bin/x", 0}));
}

TEST(FunctionNamesTest, ShortIdentityIsTheLastPart) {
  EXPECT_EQ(short_identity("void bank::Account::deposit<int>(int)"), "deposit");
  EXPECT_EQ(short_identity("deposit"), "deposit");
  EXPECT_EQ(short_identity("bank::open(int)::$_1::operator()() const"), "open{lambda}");
  EXPECT_EQ(short_identity("Set::operator()(int)"), "operator()");
}

TEST(FunctionNamesTest, FramesOfTheLibrariesAreNotTheProgramsOwn) {
  EXPECT_TRUE(is_library_frame({"std::string::append(char const*)", "", 0, "", 0}));
  EXPECT_TRUE(is_library_frame({"operator[]", "/usr/include/c++/12/bits/stl_vector.h", 1123, "", 0}));
  EXPECT_TRUE(is_library_frame({"memcpy", "", 0, "/lib/x86_64-linux-gnu/libc.so.6", 0x10}));
  EXPECT_FALSE(is_library_frame({"std::string user<int>()", "user.cpp", 3, "/bin/user", 0}));
  EXPECT_FALSE(is_own_frame({"", "", 0, "/bin/user", 0x10}));
}

}  // namespace
}  // namespace deadheat
