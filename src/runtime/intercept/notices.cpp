// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/notices.h"

#include <atomic>

#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/preparation.h"
#include "runtime/on_sync.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {

struct Notice {
  void (*function)(sigval);
  sigval value;
  NoticeLife life;
  std::atomic<KernelTag> tag;
};

namespace {

void run_notice(sigval value) {
  auto* const notice = static_cast<Notice*>(value.sival_ptr);
  void (*const function)(sigval) = notice->function;
  const sigval given = notice->value;
  const KernelTag tag = notice->tag.load(std::memory_order_relaxed);
  if (notice->life == NoticeLife::kOnce) drop_notice(notice);
  if (is_observing()) watch_end_of_thread();
  take_from_kernel(tag, 0);
  function(given);
}

constinit char unannounced_threads = 0;  // a tag

}  // namespace

void give_to_unannounced(Address code) {
  if (is_observing()) on_happens_before(self(), address_of(&unannounced_threads), code);
}

void greet_unannounced_thread(ThreadState& thread) { on_happens_after(thread, address_of(&unannounced_threads), 0); }

Notice* make_notice(sigevent& event, NoticeLife life) {
  const RuntimeScope scope;
  void* const memory = PageSource::try_allocate(sizeof(Notice));
  if (memory == nullptr) return nullptr;
  auto* const notice = ::new (memory) Notice{event.sigev_notify_function, event.sigev_value, life, {}};
  event.sigev_notify_function = run_notice;
  event.sigev_value.sival_ptr = notice;
  return notice;
}

void name_notice(Notice* notice, std::uint16_t tag) {
  if (notice != nullptr) notice->tag.store(tag, std::memory_order_relaxed);
}

void drop_notice(Notice* notice) {
  if (notice == nullptr) return;
  const RuntimeScope scope;
  PageSource::release(notice, sizeof(Notice));
}

}  // namespace deadheat::runtime
