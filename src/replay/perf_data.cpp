// SPDX-License-Identifier: Apache-2.0
#include "replay/perf_data.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <tuple>

namespace deadheat::replay {
namespace {

constexpr std::uint64_t kMagic = 0x32454c4946524550ULL;  // "PERFILE2"
constexpr std::uint64_t kSwappedMagic = 0x50455246494c4532ULL;
constexpr std::uint64_t kSmallestAttribute = 64;
constexpr std::uint32_t kAuxTraceInfo = 70;  // not in the kernel's header: written by perf itself
constexpr std::uint32_t kAuxTrace = 71;
constexpr std::uint32_t kCompressed = 81;   // likewise
constexpr std::uint32_t kCommandLine = 11;  // a feature
constexpr unsigned kFeatures = 256;
constexpr std::uint16_t kExecutable = PERF_RECORD_MISC_MMAP_DATA;  // set for data mappings

// A trace of a thread alone has no processor; as if each thread had one of its own.
constexpr std::uint32_t kPerThread = 1U << 31U;

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct FileHeader {
  std::uint64_t magic = 0;
  std::uint64_t size = 0;
  std::uint64_t attribute_size = 0;
  Section attributes;
  Section data;
  Section event_types;
  std::uint64_t features[4] = {};
};

struct Attribute {
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t registers = 0;
  std::uint64_t branch_type = 0;
  std::uint32_t kind = 0;  // of the event, as the system numbers them
  std::uint64_t config = 0;
  bool has_ids = false;  // every event ends with some fields of a sample
  std::vector<std::uint64_t> ids;
};

// Fields one after another; once one does not fit, nothing does.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T = std::uint64_t>
  T take() {
    T value{};
    const auto taken = bytes(sizeof value);
    if (taken.size() == sizeof value) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > bytes_.size()) {
      is_good_ = false;
      bytes_ = {};
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  void skip(std::uint64_t count, std::uint64_t each = 1) {
    if (count > bytes_.size() / each) count = bytes_.size() + 1;
    (void)bytes(count * each);
  }
  // Up to a zero or the end.
  std::string text() {
    if (bytes_.empty()) return {};
    const auto* begin = reinterpret_cast<const char*>(bytes_.data());
    return {begin, ::strnlen(begin, bytes_.size())};
  }
  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  bool is_good_ = true;
};

// perf's own order of the registers.
constexpr std::array<int, 24> kPerfRegisters = {0,  3,  1,  2,  6, 7, 5,  4,  -1, -2, -3, -3,
                                                -3, -3, -3, -3, 8, 9, 10, 11, 12, 13, 14, 15};

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<PerfData> run();

 private:
  struct Identity {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::uint64_t time = 0;
    std::optional<std::uint32_t> processor;
  };

  [[nodiscard]] Error malformed(std::uint64_t at, std::string_view what) const {
    return {ErrorCode::kMalformed, fmt::format("'{}' is damaged at byte {}: {}", name_, at, what)};
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> slice(const Section& section) const {
    if (section.offset > bytes_.size() || section.size > bytes_.size() - section.offset) return std::nullopt;
    return bytes_.subspan(section.offset, section.size);
  }
  Status attributes(const FileHeader& header);
  Status events(const FileHeader& header);
  Result<std::uint64_t> aux(std::uint64_t at, std::span<const std::byte> body);
  void trace_range(std::span<const std::byte> body);
  void trace_timing(std::span<const std::byte> body);
  void features(const FileHeader& header);
  void mapping(const perf_event_header& header, std::span<const std::byte> body);
  bool sample(std::span<const std::byte> body);
  [[nodiscard]] const Attribute& attribute_of(std::span<const std::byte> sample) const;
  [[nodiscard]] Identity identity(std::span<const std::byte> body) const;
  RecordedThread& thread(std::uint32_t id);

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::vector<Attribute> attributes_;
  std::map<std::uint32_t, std::size_t> threads_;
  PerfData result_;
};

RecordedThread& Parser::thread(std::uint32_t id) {
  auto& threads = result_.recording.threads;
  const auto [place, is_new] = threads_.try_emplace(id, threads.size());
  if (is_new) {
    threads.emplace_back();
    threads.back().id = static_cast<ThreadId>(threads.size() - 1);
    threads.back().system_id = id;
  }
  return threads[place->second];
}

Status Parser::attributes(const FileHeader& header) {
  const auto bytes = slice(header.attributes);
  if (!bytes) return malformed(16, "its attributes are beyond its end");
  const std::uint64_t each = header.attribute_size;
  if (each < kSmallestAttribute + sizeof(Section) || each > 4096)
    return malformed(16, "attributes of an impossible size");
  for (std::uint64_t at = 0; at + each <= bytes->size(); at += each) {
    perf_event_attr raw{};
    const std::uint64_t raw_size = each - sizeof(Section);
    std::memcpy(&raw, bytes->data() + at, std::min<std::uint64_t>(sizeof raw, raw_size));
    Attribute attribute;
    attribute.sample_type = raw.sample_type;
    attribute.read_format = raw.read_format;
    attribute.registers = raw.sample_regs_user;
    attribute.branch_type = raw.branch_sample_type;
    attribute.kind = raw.type;
    attribute.config = raw.config;
    attribute.has_ids = raw.sample_id_all != 0;
    Section ids;
    std::memcpy(&ids, bytes->data() + at + raw_size, sizeof ids);
    const auto id_bytes = slice(ids);
    if (!id_bytes) return malformed(header.attributes.offset + at, "the ids of an event are beyond its end");
    Fields fields(*id_bytes);
    while (fields.rest().size() >= sizeof(std::uint64_t)) attribute.ids.push_back(fields.take());
    attributes_.push_back(std::move(attribute));
  }
  if (attributes_.empty()) return malformed(16, "it has no attributes");
  return {};
}

// With an identifier in front samples may be of any event; without, all must look alike.
const Attribute& Parser::attribute_of(std::span<const std::byte> sample) const {
  const bool has_identifier = (attributes_.front().sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
  if (!has_identifier || attributes_.size() == 1) return attributes_.front();
  const auto id = Fields(sample).take();
  for (const Attribute& attribute : attributes_) {
    if (std::ranges::find(attribute.ids, id) != attribute.ids.end()) return attribute;
  }
  return attributes_.front();
}

// The fields at the end of events that are no samples.
Parser::Identity Parser::identity(std::span<const std::byte> body) const {
  const std::uint64_t type = attributes_.front().sample_type;
  constexpr std::uint64_t kAtEnd = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  const std::uint64_t size = 8 * static_cast<std::uint64_t>(std::popcount(type & kAtEnd));
  Identity identity;
  if (!attributes_.front().has_ids || size > body.size()) return identity;
  Fields fields(body.last(size));
  if ((type & PERF_SAMPLE_TID) != 0) {
    identity.process = fields.take<std::uint32_t>();
    identity.thread = fields.take<std::uint32_t>();
  }
  if ((type & PERF_SAMPLE_TIME) != 0) identity.time = fields.take();
  if ((type & PERF_SAMPLE_ID) != 0) fields.skip(8);
  if ((type & PERF_SAMPLE_STREAM_ID) != 0) fields.skip(8);
  if ((type & PERF_SAMPLE_CPU) != 0) identity.processor = fields.take<std::uint32_t>();
  return identity;
}

void Parser::mapping(const perf_event_header& header, std::span<const std::byte> body) {
  Fields fields(body);
  const auto process = fields.take<std::uint32_t>();
  (void)fields.take<std::uint32_t>();
  CodeMapping mapping;
  mapping.begin = fields.take();
  mapping.end = mapping.begin + fields.take();
  mapping.file_offset = fields.take();
  bool is_code = (header.misc & kExecutable) == 0;
  if (header.type == PERF_RECORD_MMAP2) {
    const auto identity_bytes = fields.bytes(24);
    is_code = (fields.take<std::uint32_t>() & 4U) != 0;  // PROT_EXEC
    (void)fields.take<std::uint32_t>();
    constexpr std::uint16_t kBuildId = 1U << 14;  // the same bytes: a length, and the id
    if ((header.misc & kBuildId) != 0 && !identity_bytes.empty()) {
      const auto size = std::min<std::size_t>(std::to_integer<std::size_t>(identity_bytes[0]), 20);
      mapping.build_id.assign(identity_bytes.begin() + 4,
                              identity_bytes.begin() + 4 + static_cast<std::ptrdiff_t>(size));
    }
  }
  mapping.path = fields.text();
  mapping.from_time = identity(body).time;
  const bool is_kernel =
      process == 0xffffffffU || (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (!fields.is_good() || !is_code || is_kernel || mapping.end <= mapping.begin) return;
  if (result_.recording.process == 0) result_.recording.process = process;
  if (mapping.path.starts_with('/')) result_.recording.mappings.push_back(std::move(mapping));
}

bool Parser::sample(std::span<const std::byte> body) {
  const Attribute& attribute = attribute_of(body);
  const std::uint64_t type = attribute.sample_type;
  const auto has = [type](std::uint64_t field) { return (type & field) != 0; };
  Fields fields(body);
  RegisterSample made;
  std::uint32_t id = 0;
  if (has(PERF_SAMPLE_IDENTIFIER)) fields.skip(8);
  if (has(PERF_SAMPLE_IP)) made.registers.ip = fields.take();
  if (has(PERF_SAMPLE_TID)) {
    fields.skip(4);
    id = fields.take<std::uint32_t>();
  }
  if (has(PERF_SAMPLE_TIME)) made.time = fields.take();
  for (const std::uint64_t field :
       {std::uint64_t{PERF_SAMPLE_ADDR}, std::uint64_t{PERF_SAMPLE_ID}, std::uint64_t{PERF_SAMPLE_STREAM_ID},
        std::uint64_t{PERF_SAMPLE_CPU}, std::uint64_t{PERF_SAMPLE_PERIOD}}) {
    if (has(field)) fields.skip(8);
  }
  if (has(PERF_SAMPLE_READ)) {
    const std::uint64_t format = attribute.read_format;
    const bool is_group = (format & PERF_FORMAT_GROUP) != 0;
    const auto times = static_cast<std::uint64_t>(
        std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)));
    const auto extras = static_cast<std::uint64_t>(std::popcount(format & (PERF_FORMAT_ID | std::uint64_t{1U << 4})));
    const std::uint64_t values = is_group ? fields.take() : 1;
    fields.skip(times, 8);
    fields.skip(values, 8 * (1 + extras));
  }
  if (has(PERF_SAMPLE_CALLCHAIN)) fields.skip(fields.take(), 8);
  if (has(PERF_SAMPLE_RAW)) fields.skip(fields.take<std::uint32_t>());
  if (has(PERF_SAMPLE_BRANCH_STACK)) {
    const std::uint64_t count = fields.take();
    if ((attribute.branch_type & (1ULL << 17)) != 0) fields.skip(8);
    fields.skip(count, 24);
  }
  if (!has(PERF_SAMPLE_REGS_USER)) return fields.is_good();
  const std::uint64_t abi = fields.take();
  for (unsigned bit = 0; bit < 64 && abi != 0; ++bit) {
    if ((attribute.registers >> bit & 1) == 0) continue;
    const std::uint64_t value = fields.take();
    const int place = bit < kPerfRegisters.size() ? kPerfRegisters[bit] : -3;
    if (place >= 0) made.registers.general[static_cast<std::size_t>(place)] = value;
    if (place == -1) made.registers.ip = value;
    if (place == -2) made.registers.flags = value;
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    const std::uint64_t size = fields.take();
    const auto stack = fields.bytes(size);
    const std::uint64_t used = size != 0 ? fields.take() : 0;
    made.stack.assign(stack.begin(),
                      stack.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(used, stack.size())));
  }
  if (!fields.is_good()) return false;
  // All registers that replay needs, of a 64-bit program.
  constexpr std::uint64_t kNeeded = 0xff03ff;
  if (abi == PERF_SAMPLE_REGS_ABI_64 && (attribute.registers & kNeeded) == kNeeded) {
    thread(id).samples.push_back(std::move(made));
  }
  return true;
}

// Returns how many bytes of raw data follow the event.
Result<std::uint64_t> Parser::aux(std::uint64_t at, std::span<const std::byte> body) {
  Fields fields(body);
  const std::uint64_t size = fields.take();
  AuxBlock block;
  block.offset = fields.take();
  fields.skip(8 + 4);
  block.thread = fields.take<std::int32_t>();
  block.cpu = fields.take<std::uint32_t>();
  const std::uint64_t begin = at + sizeof(perf_event_header) + body.size();
  const auto bytes = slice({begin, size});
  if (!fields.is_good() || !bytes) return malformed(at, "its trace data is cut off");
  block.bytes = *bytes;
  result_.aux.push_back(block);
  return size;
}

// Which thread wrote which bytes: the system says so when it takes a thread off its processor.
void Parser::trace_range(std::span<const std::byte> body) {
  Fields fields(body);
  TraceRange range;
  range.offset = fields.take();
  range.size = fields.take();
  range.has_loss = (fields.take() & PERF_AUX_FLAG_TRUNCATED) != 0;
  if (!fields.is_good()) return;
  if (range.has_loss) ++result_.aux_lost;
  const Identity by = identity(body);
  range.system_id = by.thread;
  range.time = by.time;
  range.processor = by.processor.value_or(kPerThread + by.thread);
  if (by.thread == 0) return;
  (void)thread(by.thread);
  result_.recording.trace_ranges.push_back(range);
}

// What perf found out about the processor: how its counter becomes perf's time, and its trace's stamps the counter.
void Parser::trace_timing(std::span<const std::byte> body) {
  constexpr std::uint32_t kIntelPt = 1;
  Fields fields(body);
  if (fields.take<std::uint32_t>() != kIntelPt) return;
  fields.skip(4);
  std::array<std::uint64_t, 16> about{};
  for (std::uint64_t& value : about) value = fields.take();
  const auto [kind, shift, multiplier, zero] = std::tuple(about[0], about[1], about[2], about[3]);
  // Far apart, so that the line through both is exact for all that lies between.
  constexpr unsigned kFar = 56;
  if (shift >= kFar - 32 && shift <= kFar && multiplier != 0 && multiplier < (1ULL << 31U)) {
    result_.recording.clocks = {{0, zero}, {1ULL << kFar, zero + (multiplier << (kFar - shift))}};
  }
  const std::uint64_t period_bits = about[11];
  if (!fields.is_good() || period_bits == 0) return;
  for (const Attribute& attribute : attributes_) {
    if (attribute.kind != kind) continue;
    TraceTiming& timing = result_.recording.trace_timing;
    timing.mtc_period = (attribute.config & period_bits) >> static_cast<unsigned>(std::countr_zero(period_bits));
    timing.counter_ratio = about[12];
    timing.ratio_divisor = about[13];
    timing.nominal_frequency = about[15];
  }
}

Status Parser::events(const FileHeader& header) {
  const std::uint64_t end = header.data.offset + header.data.size;
  if (!slice(header.data)) return malformed(40, "its events are beyond its end");
  std::uint64_t at = header.data.offset;
  while (at + sizeof(perf_event_header) <= end) {
    perf_event_header event{};
    std::memcpy(&event, bytes_.data() + at, sizeof event);
    if (event.size < sizeof event || event.size > end - at) return malformed(at, "an event of an impossible size");
    const auto body = bytes_.subspan(at + sizeof event, event.size - sizeof event);
    ++result_.events[event.type];
    std::uint64_t skipped = event.size;
    Fields fields(body);
    switch (event.type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        mapping(event, body);
        break;
      case PERF_RECORD_COMM: {
        fields.skip(4);
        const auto id = fields.take<std::uint32_t>();
        const std::string name = fields.text();
        if (fields.is_good() && id != 0) thread(id).name = name;
        break;
      }
      case PERF_RECORD_FORK: {
        fields.skip(8);
        const auto id = fields.take<std::uint32_t>();
        if (fields.is_good() && id != 0) (void)thread(id);
        break;
      }
      case PERF_RECORD_LOST:
        fields.skip(8);
        result_.recording.lost_samples += fields.take();
        break;
      case PERF_RECORD_AUX:
        trace_range(body);
        break;
      case kAuxTraceInfo:
        trace_timing(body);
        break;
      case PERF_RECORD_SAMPLE:
        if (!sample(body)) return malformed(at, "a sample that ends before its fields do");
        break;
      case kAuxTrace: {
        const auto size = aux(at, body);
        if (!size) return size.error();
        skipped += size.value();
        break;
      }
      case kCompressed:
        return Error{ErrorCode::kUnsupported, fmt::format("'{}' has compressed events; record without -z", name_)};
      default:
        break;
    }
    if (skipped > end - at) return malformed(at, "an event that ends after the file does");
    at += skipped;
  }
  return {};
}

// Their sections follow the data; one that makes no sense says nothing.
void Parser::features(const FileHeader& header) {
  std::uint64_t table = header.data.offset + header.data.size;
  for (unsigned feature = 0; feature < kFeatures; ++feature) {
    if ((header.features[feature / 64] >> (feature % 64) & 1) == 0) continue;
    const auto entry = slice({table, sizeof(Section)});
    table += sizeof(Section);
    if (!entry) return;
    Section section;
    std::memcpy(&section, entry->data(), sizeof section);
    const auto bytes = slice(section);
    if (feature != kCommandLine || !bytes) continue;
    Fields fields(*bytes);
    const auto count = fields.take<std::uint32_t>();
    for (std::uint32_t index = 0; index < count && fields.is_good(); ++index) {
      const auto word = fields.bytes(fields.take<std::uint32_t>());
      const auto* begin = reinterpret_cast<const char*>(word.data());
      if (fields.is_good()) result_.recording.arguments.emplace_back(begin, ::strnlen(begin, word.size()));
    }
  }
}

Result<PerfData> Parser::run() {
  FileHeader header;
  if (bytes_.size() < 16) return malformed(0, "it is too short for perf.data");
  std::memcpy(&header, bytes_.data(), std::min(sizeof header, bytes_.size()));
  if (header.magic == kSwappedMagic) {
    return Error{ErrorCode::kUnsupported, fmt::format("'{}' was recorded with another byte order", name_)};
  }
  if (header.magic != kMagic) return malformed(0, "it is not perf.data");
  if (header.size == 16) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'{}' has the format for pipes; record with 'perf record -o FILE'", name_)};
  }
  if (header.size < sizeof header || bytes_.size() < sizeof header) return malformed(8, "its header is too short");
  if (Status status = attributes(header); !status) return status.error();
  if (Status status = events(header); !status) return status.error();
  features(header);
  Recording& recording = result_.recording;
  recording.backend = "intel";
  for (RecordedThread& one : recording.threads) {
    std::ranges::sort(one.samples, {}, &RegisterSample::time);
  }
  if (!recording.arguments.empty()) recording.program = recording.arguments.front();
  return std::move(result_);
}

}  // namespace

Result<PerfData> parse_perf_data(std::span<const std::byte> bytes, const std::string& name) {
  return Parser(bytes, name).run();
}

Result<Recording> read_perf_data(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, fmt::format("cannot read '{}': {}", path, std::strerror(errno))};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto parsed = parse_perf_data(std::as_bytes(std::span(text)), path);
  if (!parsed) return parsed.error();
  PerfData& data = parsed.value();
  for (const AuxBlock& block : data.aux) {
    data.recording.trace.push_back({block.cpu, block.offset, {block.bytes.begin(), block.bytes.end()}});
    // Of a thread alone, by 'perf record --per-thread': no processor, and no inherited threads.
    const bool is_of_thread = block.cpu == ~0U && block.thread > 0;
    if (is_of_thread) data.recording.trace.back().processor = kPerThread + static_cast<std::uint32_t>(block.thread);
  }
  // Then the thread that the system names is whichever ran when it looked.
  const bool is_system_wide = std::ranges::any_of(data.aux, [](const AuxBlock& block) { return block.thread < 0; });
  if (is_system_wide) {
    data.recording.trace.clear();
    data.recording.incomplete =
        "its Intel PT data is of whole processors, which does not say the thread; record with 'perf record -e "
        "intel_pt//u PROGRAM'";
  } else if (data.aux_lost > 0) {
    data.recording.incomplete = fmt::format("{} pieces of Intel PT data were lost", data.aux_lost);
  }
  return std::move(data.recording);
}

}  // namespace deadheat::replay
