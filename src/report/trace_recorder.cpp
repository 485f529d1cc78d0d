// SPDX-License-Identifier: Apache-2.0
#include "report/trace_recorder.h"

#include <utility>
#include <variant>
#include <vector>

namespace deadheat {

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::create(const std::string& path) {
  auto sink = create_trace(path, TraceFormat::kBinary);
  if (!sink.ok()) return sink.error();
  return std::unique_ptr<TraceRecorder>(new TraceRecorder(std::move(sink).value()));
}

Status TraceRecorder::add(const RawPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer) {
  const auto* sites = std::get_if<SitesPacket>(&packet.body);
  const auto* events = std::get_if<EventsPacket>(&packet.body);
  if (has_failed_ || (sites == nullptr && events == nullptr)) return {};
  if (!process_) {
    process_ = packet.process;
    name_globals(modules, symbolizer);
  }
  if (packet.process != *process_) {
    if (events != nullptr) left_out_ += events->events.size();
    return {};
  }
  if (sites != nullptr) {
    add_sites(*sites, modules, symbolizer);
    return {};
  }
  Status status = write(*events);
  has_failed_ = !status.ok();
  return status;
}

// The variables of the program itself; those of the system's libraries are many
// and say little.
void TraceRecorder::name_globals(const ModuleMap& modules, Symbolizer& symbolizer) {
  for (const auto& [begin, module] : modules.present()) {
    if (module.path.starts_with("/lib") || module.path.starts_with("/usr/lib")) continue;
    Address free_from = 0;
    for (const GlobalSymbol& symbol : symbolizer.globals(module.path)) {
      const Address address = symbol.address + module.load_bias;
      if (address < free_from || address < module.begin || address >= module.end) continue;
      if (symbol.size > module.end - address) continue;
      dictionary_.ranges[address] = {symbol.size, symbol.name};
      free_from = address + symbol.size;
    }
  }
  has_news_ = !dictionary_.ranges.empty();
}

void TraceRecorder::add_sites(const SitesPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer) {
  for (const raw_report::RecordedSite& recorded : packet.sites) {
    if (sites_.contains(recorded.site)) continue;
    // Return addresses: the instruction is the one before.
    const auto place = recorded.code == 0 ? std::nullopt : modules.find(recorded.code - 1);
    if (!place) continue;
    // One site per address: the innermost function stands for those it is inlined into.
    sites_[recorded.site] = dictionary_.sites.add(symbolizer.frames(*place).front());
    has_news_ = true;
  }
}

void TraceRecorder::add_names(const LiveFinding& finding) {
  if (process_ != finding.process) return;
  for (const auto& [thread, name] : finding.dictionary.threads) {
    if (raw(thread) < kThreadLimit && dictionary_.threads.try_emplace(thread, name).second) has_news_ = true;
  }
}

Status TraceRecorder::write(const EventsPacket& packet) {
  if (std::exchange(has_news_, false)) {
    if (Status status = sink_->update(dictionary_); !status.ok()) return status;
  }
  std::vector<Event> events = packet.events;
  for (Event& event : events) {
    const auto site = sites_.find(raw(event.site));
    event.site = site == sites_.end() ? SiteId::kUnknown : site->second;
  }
  Status status = sink_->write(events);
  if (status.ok()) event_count_ += events.size();
  return status;
}

Status TraceRecorder::close() {
  if (has_failed_) return {};
  if (std::exchange(has_news_, false)) {
    if (Status status = sink_->update(dictionary_); !status.ok()) return status;
  }
  return sink_->close();
}

}  // namespace deadheat
