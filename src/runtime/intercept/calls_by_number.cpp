// SPDX-License-Identifier: Apache-2.0
// System calls by number, and the calls by which a program confines its system calls: what we may call ourselves
// changes with them (../confined.h).
#include <sys/prctl.h>

#include "runtime/confined.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/system_calls.h"
#include "runtime/on_thread.h"
#include "runtime/system.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

void before_meaning(const SystemCall& meaning, const DescribedCall& call) {
  if (is_observing_accesses()) report_before(meaning.touches, call);
  if (meaning.gives != nullptr) meaning.gives(call);
}
void after_meaning(const SystemCall& meaning, const DescribedCall& call) {
  const KeepErrno keep;
  if (meaning.takes != nullptr && static_cast<std::int64_t>(call.result) >= 0 && is_observing()) meaning.takes(call);
  if (is_observing_accesses()) report_after(meaning.touches, call);
}

// The call itself is the program's.
template <class Call>
auto confine(const Confining& confining, Call call) {
  begin_confinement(confining);
  const auto result = call();
  if (result < 0) {
    const KeepErrno keep;
    take_back_confinement();
  }
  return result;
}

}  // namespace

DEADHEAT_REPLACE(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  DEADHEAT_ORIGINAL(prctl);
  const Confining confining = confining_prctl(option, static_cast<long>(a), static_cast<long>(b));
  if (confining.kind != Confinement::kNone && runtime_is_ready.load(std::memory_order_relaxed)) {
    return confine(confining, [&] { return original(option, a, b, c, d); });
  }
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) ticks_are_forbidden = true;
  const int result = original(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0 && is_observing()) on_thread_named(0, reinterpret_cast<const char*>(a));
  return result;
}

// Whatever does not confine goes on as if we were not there: calls that return twice, or never.
DEADHEAT_REPLACE(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  DEADHEAT_ORIGINAL(syscall);
  const Confining confining = confining_call(number, a, b, c);
  if (!runtime_is_ready.load(std::memory_order_relaxed)) return original(number, a, b, c, d, e, f);
  if (confining.kind == Confinement::kNone) {
    const SystemCall* const meaning = is_observing() ? meaning_of(number) : nullptr;
    if (meaning == nullptr) return original(number, a, b, c, d, e, f);
    const auto in_registers = [](long value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t arguments[] = {in_registers(a), in_registers(b), in_registers(c),
                                       in_registers(d), in_registers(e), in_registers(f)};
    DescribedCall described{arguments, 0, DEADHEAT_CALLER};
    before_meaning(*meaning, described);
    described.result = in_registers(original(number, a, b, c, d, e, f));
    after_meaning(*meaning, described);
    return static_cast<long>(described.result);
  }
  return confine(confining, [&] { return original(number, a, b, c, d, e, f); });
}
