// SPDX-License-Identifier: Apache-2.0
#include "runtime/hand_off.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "runtime/counters.h"
#include "runtime/environment.h"
#include "runtime/options.h"
#include "runtime/page_source.h"
#include "runtime/system.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {
namespace {

using raw_report::PacketHeader;
using raw_report::PacketKind;

int listener = -1;
struct stat listener_identity;  // what the descriptor was at start
int file = -1;                  // O_APPEND; -1 until the first packet without a listener
bool file_failed = false;
SpinLock opening;
char file_path[512];

std::uint32_t own_process() { return static_cast<std::uint32_t>(raw_call(SYS_getpid)); }

bool describe(int descriptor, struct stat& identity) {
  return raw_call(SYS_fstat, descriptor, reinterpret_cast<long>(&identity)) == 0;
}

bool listener_is_ours() {
  struct stat now;
  return listener >= 0 && describe(listener, now) && now.st_ino == listener_identity.st_ino &&
         now.st_dev == listener_identity.st_dev;
}

char* append_text(char* to, const char* end, const char* text) {
  while (*text != 0 && to < end) *to++ = *text++;
  return to;
}

char* append_number(char* to, const char* end, std::uint64_t number) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0 && to < end) *to++ = digits[--count];
  return to;
}

// "log_path.PID", or "deadheat.PID.raw" here.
bool open_file() {
  SpinHolder hold(opening);
  if (file >= 0 || file_failed) return file >= 0;
  const char* end = file_path + sizeof file_path - 1;
  char* at = file_path;
  if (options().log_path[0] != 0) {
    at = append_text(at, end, options().log_path);
    at = append_text(at, end, ".");
    at = append_number(at, end, own_process());
  } else {
    at = append_text(at, end, "deadheat.");
    at = append_number(at, end, own_process());
    at = append_text(at, end, ".raw");
  }
  *at = 0;
  const long opened = raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(file_path),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (opened < 0) {
    file_failed = true;
    say("cannot write a report to ", file_path);
    return false;
  }
  file = static_cast<int>(opened);
  if (file <= 2) {
    // A standard descriptor was closed; what the program prints must not go here.
    const long moved = raw_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 3);
    raw_call(SYS_close, file);
    file = moved < 0 ? -1 : static_cast<int>(moved);
    file_failed = moved < 0;
  }
  return file >= 0;
}

HandOff send_to_listener(const PacketHeader* packet) {
  for (;;) {
    const long sent = raw_call(SYS_sendto, listener, reinterpret_cast<long>(packet), packet->size, MSG_NOSIGNAL, 0, 0);
    if (sent == static_cast<long>(packet->size)) return HandOff::kSent;
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN || sent == -ENOBUFS) {
      struct pollfd wait{listener, POLLOUT, 0};
      raw_call(SYS_poll, reinterpret_cast<long>(&wait), 1, 1000);
      continue;
    }
    if (sent == -ENOTSOCK) {
      const long written = raw_call(SYS_write, listener, reinterpret_cast<long>(packet), packet->size);
      return written == static_cast<long>(packet->size) ? HandOff::kSent : HandOff::kFailed;
    }
    return HandOff::kFailed;
  }
}

// Only a listener has use for these.
bool is_stream_packet(PacketKind kind) { return kind == PacketKind::kEvents || kind == PacketKind::kSites; }

// write(2) to the file; a limit on file sizes is an error, not the end of the
// program, which is what its signal would make of it.
long write_to_file(const PacketHeader* packet) {
  constexpr std::uint64_t kFileTooLarge = std::uint64_t{1} << (SIGXFSZ - 1);
  std::uint64_t before = 0;
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&kFileTooLarge), reinterpret_cast<long>(&before),
           sizeof before);
  const long written = raw_call(SYS_write, file, reinterpret_cast<long>(packet), packet->size);
  if (written == -EFBIG) {
    const struct timespec at_once = {};
    raw_call(SYS_rt_sigtimedwait, reinterpret_cast<long>(&kFileTooLarge), 0, reinterpret_cast<long>(&at_once),
             sizeof kFileTooLarge);
  }
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, sizeof before);
  return written;
}

bool starts_a_file(PacketKind kind) { return kind == PacketKind::kFinding; }

// The first finding opens the file; what is needed to read it comes before it.
HandOff send_to_file(const PacketHeader* packet) {
  if (file < 0) {
    if (!starts_a_file(packet->kind) || !open_file()) return HandOff::kFailed;
    say("data race found; 'deadheat report FILE' shows it, with FILE = ", file_path);
    send_hello();
    send_modules();
  }
  const long written = write_to_file(packet);
  if (written == static_cast<long>(packet->size)) return HandOff::kSent;
  if (!file_failed) {
    file_failed = true;
    say("cannot write the report (disk full?): ", file_path);
  }
  return HandOff::kFailed;
}

constexpr std::size_t kModulesPacket = raw_report::kMaxPacket;

struct ModulesBuilder {
  char* buffer = nullptr;
  std::uint32_t count = 0;
  std::uint32_t path_bytes = 0;
  const char* paths[512];
  std::uint64_t hash = 0;
};

raw_report::Module* modules_of(char* buffer) {
  return reinterpret_cast<raw_report::Module*>(buffer + sizeof(PacketHeader) + sizeof(raw_report::Modules));
}

std::uint32_t length_of(const char* text) {
  std::uint32_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

int add_module(struct dl_phdr_info* info, std::size_t /*size*/, void* context) {
  auto& builder = *static_cast<ModulesBuilder*>(context);
  if (builder.count >= sizeof builder.paths / sizeof builder.paths[0]) return 1;
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    const auto& header = info->dlpi_phdr[index];
    if (header.p_type != PT_LOAD) continue;
    const std::uint64_t first = info->dlpi_addr + header.p_vaddr;
    if (first < begin) begin = first;
    if (first + header.p_memsz > end) end = first + header.p_memsz;
  }
  if (end <= begin) return 0;
  static char program[512];
  const char* path = info->dlpi_name;
  if (path == nullptr || path[0] == 0) {
    if (builder.count != 0) return 0;  // the vdso
    const long size = raw_call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"), reinterpret_cast<long>(program),
                               sizeof program - 1);
    program[size > 0 ? size : 0] = 0;
    path = program;
  }
  const std::uint32_t length = length_of(path);
  raw_report::Module& module = modules_of(builder.buffer)[builder.count];
  module.begin = begin;
  module.end = end;
  module.load_bias = info->dlpi_addr;
  module.path_offset = builder.path_bytes;
  module.path_size = length;
  builder.paths[builder.count++] = path;
  builder.path_bytes += length;
  builder.hash = (builder.hash + begin + length) * 0x9e3779b97f4a7c15ULL;
  return 0;
}

struct ModuleRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
constexpr std::uint32_t kKnownModules = 512;
ModuleRange known_modules[kKnownModules];
std::uint32_t known_module_count = 0;
SpinLock knowing_modules;

}  // namespace

void forget_unloaded_modules(void (*visit)(std::uint64_t begin, std::uint64_t end)) {
  char* buffer = static_cast<char*>(PageSource::try_allocate(kModulesPacket));
  if (buffer == nullptr) return;
  ModulesBuilder builder;
  builder.buffer = buffer;
  dl_iterate_phdr(add_module, &builder);
  const raw_report::Module* now = modules_of(buffer);
  SpinHolder hold(knowing_modules);
  for (std::uint32_t index = 0; index < known_module_count; ++index) {
    bool is_there = false;
    for (std::uint32_t other = 0; other < builder.count; ++other) {
      is_there =
          is_there || (now[other].begin == known_modules[index].begin && now[other].end == known_modules[index].end);
    }
    if (!is_there) visit(known_modules[index].begin, known_modules[index].end);
  }
  known_module_count = builder.count < kKnownModules ? builder.count : kKnownModules;
  for (std::uint32_t index = 0; index < known_module_count; ++index) {
    known_modules[index] = {now[index].begin, now[index].end};
  }
  PageSource::release(buffer, kModulesPacket);
}

void open_hand_off() {
  const char* number = environment(raw_report::kDescriptorVariable);
  if (number == nullptr || *number == 0) return;
  int descriptor = 0;
  for (; *number >= '0' && *number <= '9' && descriptor < 1 << 20; ++number)
    descriptor = descriptor * 10 + *number - '0';
  if (*number != 0 || !describe(descriptor, listener_identity)) return;
  // Somebody may have put another file there before this program was started.
  int type = 0;
  unsigned size = sizeof type;
  const long known = raw_call(SYS_getsockopt, descriptor, SOL_SOCKET, SO_TYPE, reinterpret_cast<long>(&type),
                              reinterpret_cast<long>(&size));
  if (known == 0 && type == SOCK_SEQPACKET) listener = descriptor;
}

void reopen_hand_off() {
  opening.reset();
  if (file >= 0) raw_call(SYS_close, file);
  file = -1;
  file_failed = false;
}

bool is_listener(int descriptor) { return descriptor >= 0 && descriptor == listener && listener_is_ours(); }

int listener_descriptor() { return listener; }

void move_listener() {
  const long elsewhere = raw_call(SYS_fcntl, listener, F_DUPFD, 3);
  if (elsewhere >= 0) listener = static_cast<int>(elsewhere);
}

bool has_listener() { return listener >= 0; }

HandOff send_packet(PacketHeader* packet) {
  packet->magic = raw_report::kMagic;
  packet->reserved = 0;
  packet->process = own_process();
  HandOff result = HandOff::kFailed;
  if (listener_is_ours()) result = send_to_listener(packet);
  if (result == HandOff::kFailed && !is_stream_packet(packet->kind)) result = send_to_file(packet);
  return result;
}

void send_hello() {
  struct {
    PacketHeader header;
    raw_report::Hello hello;
  } packet;
  packet.header.kind = PacketKind::kHello;
  packet.header.size = sizeof packet;
  packet.hello.parent_process = static_cast<std::uint32_t>(raw_call(SYS_getppid));
  raw_call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"), reinterpret_cast<long>(packet.hello.program),
           sizeof packet.hello.program - 1);
  send_packet(&packet.header);
}

void send_modules() {
  char* buffer = static_cast<char*>(PageSource::try_allocate(kModulesPacket));
  if (buffer == nullptr) return;
  ModulesBuilder builder;
  builder.buffer = buffer;
  dl_iterate_phdr(add_module, &builder);
  char* paths = reinterpret_cast<char*>(modules_of(buffer) + builder.count);
  const std::size_t room = static_cast<std::size_t>(buffer + kModulesPacket - paths);
  std::size_t used = 0;
  for (std::uint32_t index = 0; index < builder.count; ++index) {
    raw_report::Module& module = modules_of(buffer)[index];
    if (used + module.path_size > room) module.path_size = 0;
    module.path_offset = static_cast<std::uint32_t>(used);
    for (std::uint32_t at = 0; at < module.path_size; ++at) paths[used++] = builder.paths[index][at];
  }
  auto* header = reinterpret_cast<PacketHeader*>(buffer);
  auto* modules = reinterpret_cast<raw_report::Modules*>(buffer + sizeof(PacketHeader));
  modules->count = builder.count;
  modules->path_bytes = static_cast<std::uint32_t>(used);
  header->kind = PacketKind::kModules;
  header->size = static_cast<std::uint32_t>(paths + used - buffer);
  send_packet(header);
  PageSource::release(buffer, kModulesPacket);
}

void send_notice(const char* text) {
  struct {
    PacketHeader header;
    char text[256];
  } packet;
  const std::uint32_t length = length_of(text) < sizeof packet.text ? length_of(text) : sizeof packet.text;
  for (std::uint32_t at = 0; at < length; ++at) packet.text[at] = text[at];
  packet.header.kind = PacketKind::kNotice;
  packet.header.size = static_cast<std::uint32_t>(sizeof(PacketHeader)) + length;
  if (!has_listener() || send_packet(&packet.header) == HandOff::kFailed) say(text);
}

bool listener_wants_halt() {
  if (!listener_is_ours()) return true;
  char answer = 'h';
  struct pollfd wait{listener, POLLIN, 0};
  if (raw_call(SYS_poll, reinterpret_cast<long>(&wait), 1, 10000) != 1) return true;
  raw_call(SYS_read, listener, reinterpret_cast<long>(&answer), 1);
  return answer != 'c';
}

}  // namespace deadheat::runtime
