// SPDX-License-Identifier: Apache-2.0
#include "watch/refuse_runtime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/temp_path.h"

namespace deadheat::watch {
namespace {

// A program with one section more, as the linker of that language leaves it.
std::string program_with(const std::string& name, const std::string& section) {
  const std::string path = temp_path(name);
  std::ofstream(path + ".c") << "__attribute__((section(\"" << section << "\"))) int mark = 1;\n"
                             << "int main(void) { return 0; }\n";
  const std::string built = path + ".program";
  EXPECT_EQ(std::system(("cc -O0 " + path + ".c -o " + built + " && strip " + built).c_str()), 0);
  return built;
}

TEST(RefuseRuntime, GoIsKnownByWhatItsLinkerLeaves) {
  const Status status = refuse_runtime_of(program_with("of_go", ".go.buildinfo"), "");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("is a Go program"), std::string::npos) << status.error().message;
}

TEST(RefuseRuntime, OthersAreNotRefused) {
  EXPECT_TRUE(refuse_runtime_of(program_with("of_c", ".other"), "").ok());
  EXPECT_TRUE(refuse_runtime_of("/nothing/there", "").ok());
}

}  // namespace
}  // namespace deadheat::watch
