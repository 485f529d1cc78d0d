// SPDX-License-Identifier: Apache-2.0
// Where the files are that `deadheat` needs at work: the runtime's libraries and
// what the compilers need to link them.
//
// They live in lib/deadheat beside the bin/ of the running executable. That is
// so in the build tree (build/PRESET/bin and build/PRESET/lib) and below any
// prefix that `cmake --install` was given, so an installation may be moved as a
// whole. DEADHEAT_LIB_DIR names another directory.
#pragma once

#include <string>

#include "base/result.h"

namespace deadheat {

struct InstallLayout {
  std::string library_directory;

  [[nodiscard]] std::string static_runtime() const { return library_directory + "/libdeadheat_rt.a"; }
  // Beside the static runtime, for programs in C++ that g++ links.
  [[nodiscard]] std::string cxx_runtime() const { return library_directory + "/libdeadheat_rt_cxx.a"; }
  [[nodiscard]] std::string shared_runtime() const { return library_directory + "/libdeadheat_rt.so"; }
  // Our shared runtime under the names that g++ and clang give theirs, for
  // programs that they linked: a directory for LD_LIBRARY_PATH.
  [[nodiscard]] std::string stand_in_directory() const { return library_directory + "/tsan"; }
  // The functions that an executable must export to the libraries it loads.
  [[nodiscard]] std::string symbol_list() const { return library_directory + "/deadheat.syms"; }
  // For clang 19; may be missing, where the runtime was built without LLVM's headers.
  [[nodiscard]] std::string pass_plugin() const { return library_directory + "/libdeadheat_pass.so"; }
  // For g++ 12; may be missing, where the runtime was built without its headers for plugins.
  [[nodiscard]] std::string gcc_plugin() const { return library_directory + "/libdeadheat_gcc_pass.so"; }
  // Preloaded by `deadheat watch`.
  [[nodiscard]] std::string watch_agent() const { return library_directory + "/libdeadheat_watch.so"; }
  // Preloaded by `deadheat record`.
  [[nodiscard]] std::string record_agent() const { return library_directory + "/libdeadheat_record.so"; }
  [[nodiscard]] std::string gcc_specs() const { return library_directory + "/gcc.specs"; }
};

// The running executable, as an absolute path without links; empty if the
// system does not tell.
[[nodiscard]] std::string executable_path();

// Errors: kIo when the directory has no runtime in it.
[[nodiscard]] Result<InstallLayout> find_install_layout();

}  // namespace deadheat
