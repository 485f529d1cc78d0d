// SPDX-License-Identifier: Apache-2.0
// Bytes that the kernel moves from one descriptor to another, or between the memory of
// processes.
//
// A reader of what was spliced into a pipe has what was sent to the source, and the
// thread that splices may not know of it yet when the bytes arrive. So the target is
// told its source before the call: who receives from it receives from both
// (descriptor_order.h).
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

using Count = long;  // ssize_t
using Offset = long;

void before_transfer(int from, int to, Address code) {
  if (!is_observing()) return;
  before_forwarding(from, to);
  before_sending(to, code);
}

void after_transfer(int from, const Offset* from_offset, const Offset* to_offset, Count count, Address code) {
  if (count < 0 || !is_observing()) return;
  after_receiving(from, code);
  report_written(from_offset, sizeof(*from_offset), code);
  report_written(to_offset, sizeof(*to_offset), code);
}

bool is_own_process(pid_t process) { return process == raw_call(SYS_getpid); }

enum class Direction : bool { kReads, kWrites };

void report_pieces(const iovec* pieces, unsigned long piece_count, Count count, Direction direction, Address code) {
  std::size_t rest = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (unsigned long at = 0; at < piece_count && rest != 0; ++at) {
    const std::size_t part = pieces[at].iov_len < rest ? pieces[at].iov_len : rest;
    if (direction == Direction::kReads) {
      report_read(pieces[at].iov_base, part, code);
    } else {
      report_written(pieces[at].iov_base, part, code);
    }
    rest -= part;
  }
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(Count, sendfile, int to, int from, Offset* offset, std::size_t size) {
  DEADHEAT_ORIGINAL(sendfile);
  before_transfer(from, to, DEADHEAT_CALLER);
  const Count count = original(to, from, offset, size);
  after_transfer(from, offset, nullptr, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, sendfile64, int to, int from, Offset* offset, std::size_t size) {
  DEADHEAT_ORIGINAL(sendfile64);
  before_transfer(from, to, DEADHEAT_CALLER);
  const Count count = original(to, from, offset, size);
  after_transfer(from, offset, nullptr, count, DEADHEAT_CALLER);
  return count;
}

DEADHEAT_REPLACE(Count, splice, int from, Offset* from_offset, int to, Offset* to_offset, std::size_t size,
                 unsigned flags) {
  DEADHEAT_ORIGINAL(splice);
  before_transfer(from, to, DEADHEAT_CALLER);
  const Count count = original(from, from_offset, to, to_offset, size, flags);
  after_transfer(from, from_offset, to_offset, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, tee, int from, int to, std::size_t size, unsigned flags) {
  DEADHEAT_ORIGINAL(tee);
  before_transfer(from, to, DEADHEAT_CALLER);
  const Count count = original(from, to, size, flags);
  after_transfer(from, nullptr, nullptr, count, DEADHEAT_CALLER);
  return count;
}
// Between files, which order nothing unless asked to.
DEADHEAT_REPLACE(Count, copy_file_range, int from, Offset* from_offset, int to, Offset* to_offset, std::size_t size,
                 unsigned flags) {
  DEADHEAT_ORIGINAL(copy_file_range);
  before_transfer(from, to, DEADHEAT_CALLER);
  const Count count = original(from, from_offset, to, to_offset, size, flags);
  after_transfer(from, from_offset, to_offset, count, DEADHEAT_CALLER);
  return count;
}
// Into a pipe the memory is sent; out of one it is received.
DEADHEAT_REPLACE(Count, vmsplice, int descriptor, const iovec* pieces, std::size_t piece_count, unsigned flags) {
  DEADHEAT_ORIGINAL(vmsplice);
  if (is_observing()) {
    report_read(pieces, piece_count * sizeof(*pieces), DEADHEAT_CALLER);
    before_sending(descriptor, DEADHEAT_CALLER);
  }
  const Count count = original(descriptor, pieces, piece_count, flags);
  if (count < 0 || !is_observing()) return count;
  const KeepErrno keep;
  const bool is_sending = (raw_call(SYS_fcntl, descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (!is_sending) after_receiving(descriptor, DEADHEAT_CALLER);
  report_pieces(pieces, piece_count, count, is_sending ? Direction::kReads : Direction::kWrites, DEADHEAT_CALLER);
  return count;
}

// Only what is here is known of another process.
DEADHEAT_REPLACE(Count, process_vm_readv, pid_t process, const iovec* local, unsigned long local_count,
                 const iovec* remote, unsigned long remote_count, unsigned long flags) {
  DEADHEAT_ORIGINAL(process_vm_readv);
  const Count count = original(process, local, local_count, remote, remote_count, flags);
  if (count <= 0 || !is_observing()) return count;
  if (is_own_process(process)) report_pieces(remote, remote_count, count, Direction::kReads, DEADHEAT_CALLER);
  report_pieces(local, local_count, count, Direction::kWrites, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, process_vm_writev, pid_t process, const iovec* local, unsigned long local_count,
                 const iovec* remote, unsigned long remote_count, unsigned long flags) {
  DEADHEAT_ORIGINAL(process_vm_writev);
  const Count count = original(process, local, local_count, remote, remote_count, flags);
  if (count <= 0 || !is_observing()) return count;
  report_pieces(local, local_count, count, Direction::kReads, DEADHEAT_CALLER);
  if (is_own_process(process)) report_pieces(remote, remote_count, count, Direction::kWrites, DEADHEAT_CALLER);
  return count;
}
