// SPDX-License-Identifier: Apache-2.0
#include "report/text_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deadheat {
namespace {

class StackTextTest : public testing::Test {
 protected:
  void add(const std::string& function, const std::string& module = "program") {
    Site site;
    site.function = function;
    site.module = module;
    site.offset = stack_.size();
    stack_.push_back(dictionary_.sites.add(site));
  }
  std::string text() {
    std::string out;
    add_stack(out, stack_, dictionary_, ColourMode::kPlain);
    return out;
  }

  Dictionary dictionary_;
  std::vector<SiteId> stack_;
};

TEST_F(StackTextTest, FramesThatStartAThreadAreOneLine) {
  add("consumer()");
  add("void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())");
  add("std::thread::_Invoker<std::tuple<void (*)()> >::operator()()");
  add("std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()");
  add("", "/usr/lib/libstdc++.so.6");
  EXPECT_EQ(text(), "            consumer()\n            (4 frames of std::thread)\n");
}

TEST_F(StackTextTest, TheAccessItselfIsAlwaysShown) {
  add("std::__invoke(int)");
  add("std::thread::_State_impl<int>::_M_run()");
  add("", "libstdc++.so.6");
  EXPECT_EQ(text(), "            std::__invoke(int)\n            (2 frames of std::thread)\n");
}

TEST_F(StackTextTest, OtherFramesOfTheLibraryStay) {
  add("std::__invoke(int)");
  add("main");
  EXPECT_EQ(text(), "            std::__invoke(int)\n            main\n");
  stack_.clear();
  add("work()");
  add("std::sort()", "libstdc++.so.6");
  EXPECT_EQ(text(), "            work()\n            std::sort()\n");
}

}  // namespace
}  // namespace deadheat
