// SPDX-License-Identifier: Apache-2.0
// Which words of which modules lead to the wrappers, and what libraries that order
// threads by themselves ask of libc.
//
// Two walks over the modules. The first finds the libraries: a wrapper is in use when its library is
// loaded and no module before it, in the order of search, defines the same function. The
// second changes words. All happens in callbacks of dl_iterate_phdr(), with the linker's
// lock held, so no two threads do it at once and no module goes away meanwhile.
//
// A runtime of OpenMP is special. It orders its threads by means that only wrappers
// and tools tell us of. Everything else it does to its own data: it copies them by
// memcpy() and guards them by mutexes and its own atomics. Seen from outside that would be races that are
// none, and order that the program does not have. So its calls of such functions lead to libc's,
// past us. Threads, memory and signals stay visible; only its free() does not count as a use of
// the block. The unwinder is another such library. For the C++ library only what it initialises for
// itself, such as the classic locale, goes past us: whoever comes second would seem to follow whoever was first.
#include "runtime/intercept/library_calls.h"

#include <link.h>

#include "runtime/elf_module.h"
#include "runtime/intercept/heap.h"

// The linker's names for the ends of the section that DEADHEAT_LIBRARY_CALL fills.
extern "C" __attribute__((visibility("hidden"))) const deadheat::runtime::LibraryCall __start_deadheat_calls[];
extern "C" __attribute__((visibility("hidden"))) const deadheat::runtime::LibraryCall __stop_deadheat_calls[];

extern "C" __attribute__((visibility("hidden"))) const deadheat::runtime::LibraryVariable __start_deadheat_variables[];
extern "C" __attribute__((visibility("hidden"))) const deadheat::runtime::LibraryVariable __stop_deadheat_variables[];

namespace deadheat::runtime {
namespace {

constexpr const char* kPrivateLibraries[] = {"libgomp", "libomp", "libiomp5", "libgcc_s", "libatomic"};
constexpr const char* kInitialisesItself = "libstdc++";

// Functions that such a library calls for its own sake; those that are not intercepted do not matter.
constexpr const char* kPrivateCalls[] = {
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "strlen",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strchr",
    "strrchr",
    "strcpy",
    "strncpy",
    "strncat",
    "strdup",
    "strstr",
    "strcasestr",
    "strspn",
    "strtok_r",
    "strtol",
    "strtoul",
    "strtoull",
    "strtod",
    "strerror",
    "strerror_r",
    "__strncpy_chk",
    "__vsnprintf_chk",
    "snprintf",
    "sprintf",
    "pthread_mutex_init",
    "pthread_mutex_destroy",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_cond_init@GLIBC_2.3.2",
    "pthread_cond_destroy@GLIBC_2.3.2",
    "pthread_cond_wait@GLIBC_2.3.2",
    "pthread_cond_timedwait@GLIBC_2.3.2",
    "pthread_cond_signal@GLIBC_2.3.2",
    "pthread_cond_broadcast@GLIBC_2.3.2",
    "sem_init",
    "sem_destroy",
    "sem_post",
    "sem_wait",
    "pthread_once",
    "syscall",
    "sched_yield",
};
constexpr const char* kOwnInitialisation = "pthread_once";

// The names of wrappers, by hash. Filled once.
constexpr std::size_t kPlaces = 4096;
constinit std::atomic<const LibraryCall*> places[kPlaces];

std::size_t place_of(const char* name) {
  std::uint64_t hash = 0;
  for (; *name != 0; ++name) hash = (hash + static_cast<unsigned char>(*name)) * 0x9e3779b97f4a7c15ULL;
  return hash >> 52;
}
static_assert(kPlaces == std::size_t{1} << 12);

void enter_names() {
  for (const LibraryCall* call = __start_deadheat_calls; call != __stop_deadheat_calls; ++call) {
    std::size_t at = place_of(call->name);
    while (true) {
      const LibraryCall* seen = nullptr;
      places[at].compare_exchange_strong(seen, call, std::memory_order_release);
      if (seen == nullptr || seen == call) break;
      at = (at + 1) % kPlaces;
    }
  }
}

bool is_private(const ElfModule& module) {
  for (const char* name : kPrivateLibraries) {
    if (module.is_named(name)) return true;
  }
  return false;
}

// The C++ libraries call themselves through words that others may change, as their destructors do, and have such
// words in the tables of their virtual functions.
bool calls_itself(const ElfModule& module) {
  return module.is_named("libstdc++") || module.is_named("libc++") || module.is_named("libc++abi");
}

void free_privately(void* block) { free_unchecked(block); }

struct Search {
  bool finds_library = false;
  bool finds_private = false;
};

// Whether there is anything to do at all, at the cost of comparing some names.
int look_for_libraries(dl_phdr_info* info, std::size_t /*size*/, void* context) {
  auto& search = *static_cast<Search*>(context);
  const ElfModule module(*info);
  search.finds_private = search.finds_private || is_private(module) || module.is_named(kInitialisesItself);
  const char* seen = "";
  for (const LibraryCall* call = __start_deadheat_calls; call != __stop_deadheat_calls; ++call) {
    if (call->library == seen) continue;  // those of one file share the name's address
    seen = call->library;
    search.finds_library = search.finds_library || module.is_named(seen);
  }
  return 0;
}

// The addresses found so far of a wrapper in this walk: 0, or where. kTaken: somebody else has the name.
struct Found {
  Address* functions;
};
constexpr Address kTaken = 1;

int find_functions(dl_phdr_info* info, std::size_t /*size*/, void* context) {
  const auto& found = *static_cast<Found*>(context);
  const ElfModule module(*info);
  for (const LibraryCall* call = __start_deadheat_calls; call != __stop_deadheat_calls; ++call) {
    Address& function = found.functions[call - __start_deadheat_calls];
    if (function != 0) continue;
    const Address defined = module.find_function(call->name);
    if (defined != 0) function = module.is_named(call->library) ? defined : kTaken;
  }
  for (const auto* each = __start_deadheat_variables; each != __stop_deadheat_variables; ++each) {
    if (!module.is_named(each->library)) continue;
    if (const Address variable = module.find_object(each->name)) each->found(variable);
  }
  return 0;
}

struct Change {
  const ElfModule& module;
  bool is_private;
  bool initialises_itself;
};

// The listed name may have a version behind it.
bool is_same_function(const char* name, const char* listed) {
  for (; *name != 0 && *name == *listed; ++name) ++listed;
  return *name == 0 && (*listed == 0 || *listed == '@');
}

void lead_past_us(const char* listed, Address* slot, const Change& change) {
  if (void* const function = find_listed_real(listed)) change.module.fill_slot(slot, address_of(function));
}

bool lead_to_libc(const char* name, Address* slot, const Change& change) {
  if (is_same_name(name, "free")) {
    change.module.fill_slot(slot, reinterpret_cast<Address>(&free_privately));
    return true;
  }
  for (const char* listed : kPrivateCalls) {
    if (!is_same_function(name, listed)) continue;
    lead_past_us(listed, slot, change);
    return true;
  }
  return false;
}

void lead_import(const char* name, Address* slot, void* context) {
  const auto& change = *static_cast<Change*>(context);
  if (change.is_private && lead_to_libc(name, slot, change)) return;
  if (change.initialises_itself && is_same_function(name, kOwnInitialisation)) {
    lead_past_us(kOwnInitialisation, slot, change);
    return;
  }
  for (std::size_t at = place_of(name);; at = (at + 1) % kPlaces) {
    const LibraryCall* const call = places[at].load(std::memory_order_acquire);  // pairs with enter_names()
    if (call == nullptr) return;
    if (!is_same_name(call->name, name)) continue;
    if (call->real->load(std::memory_order_relaxed) == 0) continue;  // another library may have that name, too
    const Address ours = call->ours();
    if (*slot != ours) change.module.fill_slot(slot, ours);
    return;
  }
}

int lead_imports(dl_phdr_info* info, std::size_t /*size*/, void* /*context*/) {
  const ElfModule module(*info);
  if (module.holds(reinterpret_cast<Address>(&lead_import)) && *info->dlpi_name != 0) return 0;  // our own file
  Change change{module, is_private(module), module.is_named(kInitialisesItself)};
  const auto which = calls_itself(module) ? ElfModule::Symbols::kAll : ElfModule::Symbols::kOfOthers;
  module.for_each_import(which, lead_import, &change);
  return 0;
}

}  // namespace

void follow_library_calls() {
  const RuntimeScope scope;
  Search search;
  dl_iterate_phdr(look_for_libraries, &search);
  if (!search.finds_library && !search.finds_private) return;
  enter_names();
  const auto count = static_cast<std::size_t>(__stop_deadheat_calls - __start_deadheat_calls);
  auto* const functions = static_cast<Address*>(PageSource::try_allocate(count * sizeof(Address)));
  if (functions == nullptr) return;
  for (std::size_t index = 0; index < count; ++index) functions[index] = 0;
  Found found{functions};
  dl_iterate_phdr(find_functions, &found);
  for (std::size_t index = 0; index < count; ++index) {
    const Address function = functions[index] == kTaken ? 0 : functions[index];
    if (function != 0) __start_deadheat_calls[index].real->store(function, std::memory_order_relaxed);
  }
  PageSource::release(functions, count * sizeof(Address));
  dl_iterate_phdr(lead_imports, nullptr);
}

}  // namespace deadheat::runtime
