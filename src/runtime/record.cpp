// SPDX-License-Identifier: Apache-2.0
#include "runtime/record.h"

#include <atomic>

#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/hand_off.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"

namespace deadheat::runtime {

bool recording = false;

namespace {

constexpr std::uint32_t kEvents = 2048;
constexpr std::uint32_t kSites = 512;

template <class Item, std::uint32_t kCapacity>
struct Batch {
  raw_report::PacketHeader header;
  Item items[kCapacity];
  std::uint32_t count = 0;

  void send(raw_report::PacketKind kind) {
    if (count == 0) return;
    header.kind = kind;
    header.size = static_cast<std::uint32_t>(sizeof header + count * sizeof(Item));
    send_packet(&header);
    count = 0;
  }
};

SpinLock lock;  // of all below
constinit Batch<Event, kEvents> events_out;
constinit Batch<raw_report::RecordedSite, kSites> sites_out;
constinit Immortal<FlatMap<std::uint32_t, PageSource>> sites;

// A site is announced before the events that refer to it are sent.
SiteId site_of(Address code) {
  if (code == 0) return SiteId::kUnknown;
  std::uint32_t& number = (*sites)[code];
  if (number == 0) {
    number = sites->size();
    if (sites_out.count == kSites) sites_out.send(raw_report::PacketKind::kSites);
    sites_out.items[sites_out.count++] = {number, 0, code};
  }
  return SiteId{number};
}

}  // namespace

void record_more(const Event& event, Address code) {
  if (events_out.count == kEvents) flush_recording();
  events_out.items[events_out.count++] = events::at(event, site_of(code));
}

void begin_recorded_step(const Event& event, Address code) {
  lock.lock();
  record_more(event, code);
}

void end_recorded_step() { lock.unlock(); }

void flush_recording() {
  sites_out.send(raw_report::PacketKind::kSites);
  events_out.send(raw_report::PacketKind::kEvents);
}

void lock_recording() { lock.lock(); }
void unlock_recording() { lock.unlock(); }

}  // namespace deadheat::runtime
