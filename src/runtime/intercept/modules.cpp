// SPDX-License-Identifier: Apache-2.0
// dlopen and dlclose: the list of modules changes, and reports need the new one.
//
// A dlopen of a bare name searches the run path of the module that calls it, and
// the caller is now this library. So that search is done here first, for
// DT_RUNPATH and, where there is none, DT_RPATH of the caller, with $ORIGIN.
// Everything else is left to the original.
//
// dl_iterate_phdr calls the program while the loader's lock is held, which nobody
// sees. The name of a module is memory that the loader frees under the same lock
// when the module goes: what a callback reads of it is forgotten when it returns.
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/library_calls.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_memory.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

bool has_slash(const char* text) {
  for (; *text != 0; ++text) {
    if (*text == '/') return true;
  }
  return false;
}

// A path made piece by piece; one that does not fit is no path.
class PathBuffer {
 public:
  void clear() {
    size_ = 0;
    fits_ = true;
  }
  void append(const char* text, std::size_t size) {
    if (size_ + size >= sizeof(bytes_)) fits_ = false;
    if (!fits_) return;
    for (std::size_t at = 0; at < size; ++at) bytes_[size_++] = text[at];
    bytes_[size_] = 0;
  }
  void append(const char* text) {
    std::size_t size = 0;
    while (text[size] != 0) ++size;
    append(text, size);
  }
  [[nodiscard]] bool names_a_file() const {
    return fits_ && size_ != 0 && raw_call(SYS_access, reinterpret_cast<long>(bytes_), R_OK) == 0;
  }
  [[nodiscard]] const char* text() const { return bytes_; }

 private:
  char bytes_[PATH_MAX] = {};
  std::size_t size_ = 0;
  bool fits_ = true;
};

// The directory of the module, without the slash at its end.
void append_origin(PathBuffer& path, const char* module_path) {
  std::size_t end = 0;
  for (std::size_t at = 0; module_path[at] != 0; ++at) {
    if (module_path[at] == '/') end = at;
  }
  path.append(module_path, end);
}

bool starts_with(const char* text, const char* end, const char* prefix, std::size_t size) {
  if (static_cast<std::size_t>(end - text) < size) return false;
  for (std::size_t at = 0; at < size; ++at) {
    if (text[at] != prefix[at]) return false;
  }
  return true;
}

void append_expanded(PathBuffer& path, const char* begin, const char* end, const char* module_path) {
  static constexpr char kPlain[] = "$ORIGIN";
  static constexpr char kBraces[] = "${ORIGIN}";
  while (begin < end) {
    if (starts_with(begin, end, kPlain, sizeof(kPlain) - 1)) {
      append_origin(path, module_path);
      begin += sizeof(kPlain) - 1;
    } else if (starts_with(begin, end, kBraces, sizeof(kBraces) - 1)) {
      append_origin(path, module_path);
      begin += sizeof(kBraces) - 1;
    } else {
      path.append(begin++, 1);
    }
  }
}

// The list of directories that the module's author wants searched, or nullptr.
const char* run_path_of(const link_map& module) {
  const char* strings = nullptr;
  std::size_t run_path = 0;
  std::size_t old_run_path = 0;
  if (module.l_ld == nullptr) return nullptr;
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RUNPATH) run_path = entry->d_un.d_val;
    if (entry->d_tag == DT_RPATH) old_run_path = entry->d_un.d_val;
  }
  const std::size_t offset = run_path != 0 ? run_path : old_run_path;
  return strings != nullptr && offset != 0 ? strings + offset : nullptr;
}

// True if the caller's run path has a file of that name.
bool find_beside_caller(const char* name, Address caller, PathBuffer& path) {
  Dl_info info{};
  link_map* module = nullptr;
  if (dladdr1(reinterpret_cast<void*>(caller), &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 ||
      module == nullptr) {
    return false;
  }
  const char* at = run_path_of(*module);
  if (at == nullptr) return false;
  const char* const module_path = info.dli_fname != nullptr ? info.dli_fname : "";
  while (true) {
    const char* end = at;
    while (*end != 0 && *end != ':') ++end;
    path.clear();
    append_expanded(path, at, end, module_path);
    path.append("/");
    path.append(name);
    if (end != at && path.names_a_file()) return true;
    if (*end == 0) return false;
    at = end + 1;
  }
}

using ModuleVisit = int(dl_phdr_info* module, std::size_t size, void* argument);

struct ModuleVisitor {
  ModuleVisit* visit;
  void* argument;
};

int visit_module(dl_phdr_info* module, std::size_t size, void* argument) {
  const auto& visitor = *static_cast<const ModuleVisitor*>(argument);
  const char* const name = module->dlpi_name;
  const int result = visitor.visit(module, size, visitor.argument);
  if (name != nullptr && *name != 0 && is_observing()) {
    std::size_t length = 0;
    while (name[length] != 0) ++length;
    on_mapped(self(), address_of(name), length + 1, 0);
  }
  return result;
}

void report_modules() {
  if (current.inside == 0) find_missing_real();
  if (!is_observing()) return;
  const KeepErrno keep;
  on_modules_changed(self());
}

void report_new_modules() {
  if (is_observing()) {
    const KeepErrno keep;
    follow_library_calls();
  }
  report_modules();
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(void*, dlopen, const char* name, int mode) {
  DEADHEAT_ORIGINAL(dlopen);
  void* handle = nullptr;
  if (name != nullptr && *name != 0 && !has_slash(name)) {
    PathBuffer path;
    if (find_beside_caller(name, DEADHEAT_CALLER, path)) handle = original(path.text(), mode);
  }
  if (handle == nullptr) handle = original(name, mode);
  if (handle != nullptr && name != nullptr) report_new_modules();
  return handle;
}

DEADHEAT_REPLACE(void*, dlmopen, Lmid_t space, const char* name, int mode) {
  DEADHEAT_ORIGINAL(dlmopen);
  void* const handle = original(space, name, mode);
  if (handle != nullptr) report_new_modules();
  return handle;
}

DEADHEAT_REPLACE(int, dl_iterate_phdr, ModuleVisit* visit, void* argument) {
  DEADHEAT_ORIGINAL(dl_iterate_phdr);
  if (!is_observing()) return original(visit, argument);
  ModuleVisitor visitor{visit, argument};
  return original(visit_module, &visitor);
}

DEADHEAT_REPLACE(int, dlclose, void* handle) {
  DEADHEAT_ORIGINAL(dlclose);
  const int result = original(handle);
  if (result == 0) report_modules();
  return result;
}
