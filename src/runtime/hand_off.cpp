// SPDX-License-Identifier: Apache-2.0
#include "runtime/hand_off.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "runtime/counters.h"
#include "runtime/default_suppressions.h"
#include "runtime/environment.h"
#include "runtime/mailbox.h"
#include "runtime/modules.h"
#include "runtime/options.h"
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
std::uint32_t stream_process = 0;  // whose events are recorded

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
bool is_stream_packet(PacketKind kind) { return kind >= PacketKind::kEvents && kind <= PacketKind::kForking; }

// Who sends. A child of vfork() works in its parent's memory and name.
std::uint32_t sender_of(PacketKind kind) {
  return is_stream_packet(kind) && stream_process != 0 ? stream_process : own_process();
}

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
    send_suppressions();
  }
  const long written = write_to_file(packet);
  if (written == static_cast<long>(packet->size)) return HandOff::kSent;
  if (!file_failed) {
    file_failed = true;
    say("cannot write the report (disk full?): ", file_path);
  }
  return HandOff::kFailed;
}

HandOff leave_in_mailbox(const PacketHeader& packet) {
  const KeepRoom keep = is_stream_packet(packet.kind) ? KeepRoom::kYes : KeepRoom::kNo;
  if (put_in_mailbox(packet, keep)) return HandOff::kSent;
  if (keep == KeepRoom::kYes) count_loss(Loss::kReportNotSent);  // who sends reports counts them
  return HandOff::kFailed;
}

}  // namespace

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
  packet->process = sender_of(packet->kind);
  if (has_mailbox()) return leave_in_mailbox(*packet);
  HandOff result = HandOff::kFailed;
  if (listener_is_ours()) result = send_to_listener(packet);
  if (result == HandOff::kFailed && !is_stream_packet(packet->kind)) result = send_to_file(packet);
  return result;
}

HandOff send_with_descriptor(PacketHeader* packet, int descriptor) {
  stream_process = own_process();
  if (descriptor < 0) return send_packet(packet);
  packet->magic = raw_report::kMagic;
  packet->reserved = 0;
  packet->process = stream_process;
  if (!listener_is_ours()) return HandOff::kFailed;
  struct iovec piece{packet, packet->size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr* const attached = CMSG_FIRSTHDR(&message);
  attached->cmsg_level = SOL_SOCKET;
  attached->cmsg_type = SCM_RIGHTS;
  attached->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(attached)) = descriptor;
  long sent = 0;
  do {
    sent = raw_call(SYS_sendmsg, listener, reinterpret_cast<long>(&message), MSG_NOSIGNAL);
  } while (sent == -EINTR);
  return sent == static_cast<long>(packet->size) ? HandOff::kSent : send_packet(packet);
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
  if (has_mailbox()) return !program_has_suppressions();
  if (!listener_is_ours()) return true;
  if (program_has_suppressions()) return false;  // it ends us if the race counts
  char answer = 'h';
  struct pollfd wait{listener, POLLIN, 0};
  if (raw_call(SYS_poll, reinterpret_cast<long>(&wait), 1, 10000) != 1) return true;
  raw_call(SYS_read, listener, reinterpret_cast<long>(&answer), 1);
  return answer != 'c';
}

}  // namespace deadheat::runtime
