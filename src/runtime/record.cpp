// SPDX-License-Identifier: Apache-2.0
#include "runtime/record.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>

#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/hand_off.h"
#include "runtime/options.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

bool recording = false;

namespace {

using raw_report::PacketHeader;
using raw_report::PacketKind;
using raw_report::RecordingBuffer;

// Deeper calls are left out, as the analysers do.
constexpr std::uint32_t kRecordedCalls = 4096;

SpinLock lock;  // of all below
// The thread that holds it; compared only by that thread.
std::atomic<const ThreadLocal*> holder{nullptr};
std::uint32_t times_held = 0;

constinit RecordingBuffer own_buffer;
constinit RecordingBuffer* buffer = &own_buffer;
constinit Immortal<FlatMap<std::uint32_t, PageSource>> sites;
std::uint32_t recorded_process = 0;
std::uint64_t forks = 0;

// A store that a reader of the shared buffer sees after those before it, even if
// the process ends right here.
template <class Number>
void publish(Number& number, Number value) {
  __atomic_store_n(&number, value, __ATOMIC_RELEASE);  // pairs with the listener's loads
}

void send_items(PacketHeader& header, PacketKind kind, std::uint32_t count, std::size_t item_size) {
  if (count == 0) return;
  header.kind = kind;
  header.size = static_cast<std::uint32_t>(sizeof header + count * item_size);
  send_packet(&header);
}

void append(const Event& event) {
  static_assert(sizeof(Event) == sizeof buffer->events[0]);
  if (buffer->event_count == RecordingBuffer::kEvents) flush_recording();
  // Word by word: a plain copy could become a call of memcpy.
  const auto* const words = reinterpret_cast<const std::uint64_t*>(&event);
  for (int word = 0; word < 4; ++word) buffer->events[buffer->event_count][word] = words[word];
  publish(buffer->event_count, buffer->event_count + 1);
}

// A site is announced before the events that refer to it are sent.
SiteId site_of(Address code) {
  if (code == 0) return SiteId::kUnknown;
  std::uint32_t& number = (*sites)[code];
  if (number == 0) {
    number = sites->size();
    if (buffer->site_count == RecordingBuffer::kSites) flush_recording();
    buffer->sites[buffer->site_count] = {number, 0, code};
    publish(buffer->site_count, buffer->site_count + 1);
  }
  return SiteId{number};
}

// The calls that the thread has left and entered since its event before. What they
// have in common with those of then is found by the hashes of their paths.
void record_calls(ThreadState& self) {
  const Frame* const calls = current.bottom;
  std::uint32_t depth = current.top > calls ? static_cast<std::uint32_t>(current.top - calls) : 0;
  if (depth > kRecordedCalls) depth = kRecordedCalls;
  auto& known = self.recorded_calls;
  std::uint32_t same = depth < known.size() ? depth : known.size();
  while (same > 0 && known[same - 1] != calls[same - 1].path) --same;
  for (std::uint32_t left = known.size(); left > same; --left) {
    append(events::plain(EventKind::kFunctionExit, self.clock.id()));
  }
  known.resize(same);
  for (; same < depth; ++same) {
    append(events::at(events::plain(EventKind::kFunctionEnter, self.clock.id()), site_of(calls[same].call)));
    known.push_back(calls[same].path);
  }
}

void copy_words(RecordingBuffer* to, const RecordingBuffer* from) {
  auto* const into = reinterpret_cast<volatile std::uint64_t*>(to);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(from);
  for (std::size_t word = 0; word < sizeof(RecordingBuffer) / sizeof(std::uint64_t); ++word) into[word] = words[word];
}

// Memory that survives us, and goes to the listener; or our own, which is empty
// except at start.
void share_buffer(std::uint64_t fork) {
  struct {
    PacketHeader header;
    raw_report::Recording recording;
  } packet;
  packet.header.kind = PacketKind::kRecording;
  packet.header.size = sizeof packet;
  packet.recording = {recorded_process, 0, fork};
  recorded_process = static_cast<std::uint32_t>(raw_call(SYS_getpid));
  buffer = &own_buffer;
  const auto file =
      static_cast<int>(raw_call(SYS_memfd_create, reinterpret_cast<long>("deadheat-recording"), MFD_CLOEXEC));
  if (file >= 0 && raw_call(SYS_ftruncate, file, sizeof(RecordingBuffer)) == 0) {
    const long memory = raw_call(SYS_mmap, 0, sizeof(RecordingBuffer), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory > 0) {
      buffer = reinterpret_cast<RecordingBuffer*>(memory);
      copy_words(buffer, &own_buffer);
    }
  }
  send_with_descriptor(&packet.header, buffer == &own_buffer ? -1 : file);
  if (file >= 0) raw_call(SYS_close, file);
}

}  // namespace

void start_recording() { share_buffer(0); }

void record_more(const Event& event, Address code) {
  ThreadState* const self = current.state;
  if (self != nullptr && self->clock.id() == event.thread) record_calls(*self);
  append(events::at(event, site_of(code)));
}

void begin_recorded_step(const Event& event, Address code) {
  lock_recording();
  record_more(event, code);
}

void end_recorded_step() { unlock_recording(); }

void flush_recording() {
  send_items(buffer->sites_header, PacketKind::kSites, buffer->site_count, sizeof buffer->sites[0]);
  send_items(buffer->events_header, PacketKind::kEvents, buffer->event_count, sizeof buffer->events[0]);
  const std::uint64_t sent = buffer->sent + buffer->event_count;
  publish(buffer->site_count, 0U);
  publish(buffer->event_count, 0U);
  publish(buffer->sent, sent);
}

void lock_recording() {
  if (holder.load(std::memory_order_relaxed) != &current) {
    lock.lock();
    holder.store(&current, std::memory_order_relaxed);
  }
  ++times_held;
}

void unlock_recording() {
  if (--times_held != 0) return;
  holder.store(nullptr, std::memory_order_relaxed);
  lock.unlock();
}

void on_recording_fork() {
  lock_recording();
  flush_recording();
  struct {
    PacketHeader header;
    raw_report::Forking forking;
  } packet;
  packet.header.kind = PacketKind::kForking;
  packet.header.size = sizeof packet;
  packet.forking.fork = ++forks;
  send_packet(&packet.header);
}

void on_recording_parent() { unlock_recording(); }

void on_recording_child() {
  if (buffer != &own_buffer) raw_munmap(buffer, sizeof(RecordingBuffer));
  // What was in it has been sent, in the parent's name.
  own_buffer.sent = 0;
  own_buffer.site_count = 0;
  own_buffer.event_count = 0;
  share_buffer(forks);
  unlock_recording();
}

}  // namespace deadheat::runtime
