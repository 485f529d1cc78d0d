// SPDX-License-Identifier: Apache-2.0
// Counted references inside libstdc++ and libc++ but those to exceptions (cxx_exceptions.cpp):
//
//   messages   of std::runtime_error, std::logic_error and what is made of them: copies share one text
//   paths      of std::filesystem::filesystem_error, likewise
//   folders    std::filesystem::recursive_directory_iterator: copies share the folders that are open
//   locales    copies share one object, and facets; the last one ends facets of the program
//   texts      of the old ABI (std::string of -D_GLIBCXX_USE_CXX11_ABI=0): copies share one text
//   weak       libc++'s control blocks of shared pointers, after the object itself has ended
//
// The places of the members are part of the libraries' ABI, and the same in both but where the names differ.
#include "runtime/intercept/cxx_counts.h"

#include "runtime/intercept/library_calls.h"

namespace deadheat::runtime {

constinit thread_local ReferenceDrop* ReferenceDrop::innermost __attribute__((tls_model("initial-exec"))) = nullptr;

// An exception may have left a call: its part of the stack is gone then.
void ReferenceDrop::settle_innermost(Address code) {
  if (address_of(innermost) < reinterpret_cast<Address>(__builtin_frame_address(0))) innermost = nullptr;
  if (innermost != nullptr) innermost->take(code);
}

namespace {

// The object that the word so many bytes into the object points to.
Address counted_behind(const void* object, std::size_t offset) {
  return *reinterpret_cast<const Address*>(reinterpret_cast<Address>(object) + offset);
}

constexpr std::size_t kMessage = 8;
constexpr std::size_t kPaths = 40;   // behind the parts of std::system_error and a pointer
constexpr std::size_t kFolders = 8;  // behind a pointer
constexpr std::size_t kText = 0;     // of the old std::string
constexpr std::size_t kLocale = 0;
constexpr std::size_t kTextOfRep = 24;

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define DEADHEAT_DROPS(library, name, offset)                                  \
  DEADHEAT_LIBRARY_CALL(library, void, name, void* object) {                   \
    DEADHEAT_BEHIND(name);                                                     \
    const ReferenceDrop drop(counted_behind(object, offset), DEADHEAT_CALLER); \
    behind(object);                                                            \
  }
#define DEADHEAT_DROPS_BY_ASSIGNMENT(library, name, offset)                      \
  DEADHEAT_LIBRARY_CALL(library, void*, name, void* object, const void* other) { \
    DEADHEAT_BEHIND(name);                                                       \
    const ReferenceDrop drop(counted_behind(object, offset), DEADHEAT_CALLER);   \
    return behind(object, other);                                                \
  }

DEADHEAT_DROPS("libstdc++", _ZNSt13runtime_errorD0Ev, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt13runtime_errorD1Ev, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt13runtime_errorD2Ev, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt11logic_errorD0Ev, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt11logic_errorD1Ev, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt11logic_errorD2Ev, kMessage)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt13runtime_erroraSERKS_, kMessage)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt11logic_erroraSERKS_, kMessage)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem16filesystem_errorD0Ev, kPaths)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem16filesystem_errorD1Ev, kPaths)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem16filesystem_errorD2Ev, kPaths)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1116filesystem_errorD0Ev, kPaths)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1116filesystem_errorD1Ev, kPaths)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1116filesystem_errorD2Ev, kPaths)
DEADHEAT_DROPS("libc++", _ZNSt3__14__fs10filesystem16filesystem_errorD0Ev, kPaths)
DEADHEAT_DROPS("libc++", _ZNSt3__14__fs10filesystem16filesystem_errorD1Ev, kPaths)
DEADHEAT_DROPS("libc++", _ZNSt3__14__fs10filesystem16filesystem_errorD2Ev, kPaths)

DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem28recursive_directory_iteratorD1Ev, kFolders)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem28recursive_directory_iteratorD2Ev, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt10filesystem28recursive_directory_iteratoraSERKS0_, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt10filesystem28recursive_directory_iteratoraSEOS0_, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt10filesystem28recursive_directory_iterator9incrementERSt10error_code,
                             kFolders)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem28recursive_directory_iterator3popEv, kFolders)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1128recursive_directory_iteratorD1Ev, kFolders)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1128recursive_directory_iteratorD2Ev, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt10filesystem7__cxx1128recursive_directory_iteratoraSERKS1_, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSt10filesystem7__cxx1128recursive_directory_iteratoraSEOS1_, kFolders)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++",
                             _ZNSt10filesystem7__cxx1128recursive_directory_iterator9incrementERSt10error_code,
                             kFolders)
DEADHEAT_DROPS("libstdc++", _ZNSt10filesystem7__cxx1128recursive_directory_iterator3popEv, kFolders)

DEADHEAT_DROPS("libstdc++", _ZNSsD1Ev, kText)
DEADHEAT_DROPS("libstdc++", _ZNSsD2Ev, kText)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSsaSERKSs, kText)
DEADHEAT_DROPS_BY_ASSIGNMENT("libstdc++", _ZNSs6assignERKSs, kText)
DEADHEAT_LIBRARY_CALL("libstdc++", void, _ZNSs4_Rep10_M_disposeERKSaIcE, void* rep, const void* allocator) {
  DEADHEAT_BEHIND(_ZNSs4_Rep10_M_disposeERKSaIcE);
  const ReferenceDrop drop(address_of(rep) + kTextOfRep, DEADHEAT_CALLER);
  behind(rep, allocator);
}

DEADHEAT_LIBRARY_CALL("libc++", void, _ZNSt3__119__shared_weak_count14__release_weakEv, void* counts) {
  DEADHEAT_BEHIND(_ZNSt3__119__shared_weak_count14__release_weakEv);
  const ReferenceDrop drop(address_of(counts), DEADHEAT_CALLER);
  behind(counts);
}

// Locales. The classic one is counted by nobody. The end of a facet of the program comes after a
// take() of its own: between that and the library's counting another thread may give up
// its reference, and what that one has done with the facet then looks unordered.
DEADHEAT_LIBRARY_CALL("libstdc++", const void*, _ZNSt6locale7classicEv) {
  DEADHEAT_BEHIND(_ZNSt6locale7classicEv);
  return behind();
}
DEADHEAT_LIBRARY_CALL("libc++", const void*, _ZNSt3__16locale7classicEv) {
  DEADHEAT_BEHIND(_ZNSt3__16locale7classicEv);
  return behind();
}

namespace deadheat::runtime {
namespace {

template <class Classic>
Address counted_locale(const void* object, Classic* classic) {
  const Address counted = counted_behind(object, kLocale);
  return classic != nullptr && counted == counted_behind(classic(), kLocale) ? 0 : counted;
}

}  // namespace
}  // namespace deadheat::runtime

#define DEADHEAT_DROPS_LOCALE(library, name, classic)                                                  \
  DEADHEAT_LIBRARY_CALL(library, void, name, void* object) {                                           \
    DEADHEAT_BEHIND(name);                                                                             \
    auto* const classic_locale =                                                                       \
        reinterpret_cast<decltype(&called_##classic)>(real_##classic.load(std::memory_order_relaxed)); \
    ReferenceDrop drop;                                                                                \
    drop.add(counted_locale(object, classic_locale), DEADHEAT_CALLER);                                 \
    drop.take(DEADHEAT_CALLER);                                                                        \
    behind(object);                                                                                    \
  }
#define DEADHEAT_DROPS_LOCALE_BY_ASSIGNMENT(library, name, classic)                                    \
  DEADHEAT_LIBRARY_CALL(library, void*, name, void* object, const void* other) {                       \
    DEADHEAT_BEHIND(name);                                                                             \
    auto* const classic_locale =                                                                       \
        reinterpret_cast<decltype(&called_##classic)>(real_##classic.load(std::memory_order_relaxed)); \
    ReferenceDrop drop;                                                                                \
    drop.add(counted_locale(object, classic_locale), DEADHEAT_CALLER);                                 \
    drop.take(DEADHEAT_CALLER);                                                                        \
    return behind(object, other);                                                                      \
  }
DEADHEAT_DROPS_LOCALE("libstdc++", _ZNSt6localeD1Ev, _ZNSt6locale7classicEv)
DEADHEAT_DROPS_LOCALE("libstdc++", _ZNSt6localeD2Ev, _ZNSt6locale7classicEv)
DEADHEAT_DROPS_LOCALE_BY_ASSIGNMENT("libstdc++", _ZNSt6localeaSERKS_, _ZNSt6locale7classicEv)
DEADHEAT_DROPS_LOCALE("libc++", _ZNSt3__16localeD1Ev, _ZNSt3__16locale7classicEv)
DEADHEAT_DROPS_LOCALE("libc++", _ZNSt3__16localeD2Ev, _ZNSt3__16locale7classicEv)
DEADHEAT_DROPS_LOCALE_BY_ASSIGNMENT("libc++", _ZNSt3__16localeaSERKS0_, _ZNSt3__16locale7classicEv)
