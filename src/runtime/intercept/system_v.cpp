// SPDX-License-Identifier: Apache-2.0
// Semaphores and message queues of System V.
//
// An operation that raises a semaphore happens before those that lower it
// afterwards, one that lowers it before those that wait for zero; setting its value
// may let both through. Looking at a value takes what led to it. A message is of who
// sent one of its type to its queue. Removing either wakes who waits, with an error.
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <cstdarg>
#include <cstddef>

#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

using Count = long;  // ssize_t

void before_operations(int set, const sembuf* operations, std::size_t count, Address code) {
  if (!is_observing()) return;
  report_read(operations, count * sizeof(*operations), code);
  for (std::size_t at = 0; at < count; ++at) {
    if (operations[at].sem_op == 0) continue;
    const KernelObject object =
        operations[at].sem_op > 0 ? KernelObject::kSemaphoreRaised : KernelObject::kSemaphoreLowered;
    give_to_kernel(object, static_cast<unsigned>(set), operations[at].sem_num, code);
  }
  give_to_relatives(code);
}

void after_operations(int result, int set, const sembuf* operations, std::size_t count, Address code) {
  if (!is_observing()) return;
  if (result != 0) {
    if (errno == EIDRM || errno == EINVAL)
      take_from_kernel(KernelObject::kEndOfSet, static_cast<unsigned>(set), 0, code);
    return;
  }
  for (std::size_t at = 0; at < count; ++at) {
    if (operations[at].sem_op > 0) continue;
    const KernelObject object =
        operations[at].sem_op < 0 ? KernelObject::kSemaphoreRaised : KernelObject::kSemaphoreLowered;
    take_from_kernel(object, static_cast<unsigned>(set), operations[at].sem_num, code);
  }
  take_from_relatives(code);
}

void give_semaphore(int set, unsigned number, Address code) {
  give_to_kernel(KernelObject::kSemaphoreRaised, static_cast<unsigned>(set), number, code);
  give_to_kernel(KernelObject::kSemaphoreLowered, static_cast<unsigned>(set), number, code);
}
void take_semaphore(int set, unsigned number, Address code) {
  take_from_kernel(KernelObject::kSemaphoreRaised, static_cast<unsigned>(set), number, code);
  take_from_kernel(KernelObject::kSemaphoreLowered, static_cast<unsigned>(set), number, code);
}

union SemaphoreArgument {  // that programs declare themselves
  int value;
  semid_ds* about;
  unsigned short* all;
};

unsigned semaphores_in(int set) {
  semid_ds about{};
  SemaphoreArgument argument{};
  argument.about = &about;
  const KeepErrno keep;
  static constinit RealFunction<int(int, int, int, ...)> original;
  return original.get("semctl")(set, 0, IPC_STAT, argument) < 0 ? 0 : static_cast<unsigned>(about.sem_nsems);
}

void before_control(int set, int number, int command, SemaphoreArgument argument, Address code) {
  if (!is_observing()) return;
  if (command == SETVAL) give_semaphore(set, static_cast<unsigned>(number), code);
  if (command == SETALL) {
    const unsigned count = semaphores_in(set);
    report_read(argument.all, count * sizeof(*argument.all), code);
    for (unsigned at = 0; at < count; ++at) give_semaphore(set, at, code);
  }
  if (command == IPC_RMID) give_to_kernel(KernelObject::kEndOfSet, static_cast<unsigned>(set), 0, code);
  if (command == SETVAL || command == SETALL || command == IPC_RMID) give_to_relatives(code);
}

void after_control(int result, int set, int number, int command, SemaphoreArgument argument, Address code) {
  if (result < 0 || !is_observing()) return;
  if (command == GETVAL) take_semaphore(set, static_cast<unsigned>(number), code);
  if (command == GETALL) {
    const unsigned count = semaphores_in(set);
    report_written(argument.all, count * sizeof(*argument.all), code);
    for (unsigned at = 0; at < count; ++at) take_semaphore(set, at, code);
  }
  if (command == GETVAL || command == GETALL) take_from_relatives(code);
  if (command == IPC_STAT || command == SEM_STAT) report_written(argument.about, sizeof(*argument.about), code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, semop, int set, sembuf* operations, std::size_t count) {
  DEADHEAT_ORIGINAL(semop);
  before_operations(set, operations, count, DEADHEAT_CALLER);
  const int result = original(set, operations, count);
  after_operations(result, set, operations, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, semtimedop, int set, sembuf* operations, std::size_t count, const timespec* limit) {
  DEADHEAT_ORIGINAL(semtimedop);
  before_operations(set, operations, count, DEADHEAT_CALLER);
  const int result = original(set, operations, count, limit);
  after_operations(result, set, operations, count, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, semctl, int set, int number, int command, ...) {
  DEADHEAT_ORIGINAL(semctl);
  va_list rest;
  va_start(rest, command);
  const auto argument = va_arg(rest, SemaphoreArgument);  // rubbish if there is none, and then not looked at
  va_end(rest);
  before_control(set, number, command, argument, DEADHEAT_CALLER);
  const int result = original(set, number, command, argument);
  after_control(result, set, number, command, argument, DEADHEAT_CALLER);
  return result;
}

// A message begins with its type, which `size` does not count.
DEADHEAT_REPLACE(int, msgsnd, int queue, const void* message, std::size_t size, int flags) {
  DEADHEAT_ORIGINAL(msgsnd);
  if (is_observing() && message != nullptr) {
    report_read(message, sizeof(long) + size, DEADHEAT_CALLER);
    const long type = *static_cast<const long*>(message);
    give_to_kernel(KernelObject::kMessages, static_cast<unsigned>(queue), static_cast<std::uint64_t>(type),
                   DEADHEAT_CALLER);
    give_to_relatives(DEADHEAT_CALLER);
  }
  return original(queue, message, size, flags);
}
DEADHEAT_REPLACE(Count, msgrcv, int queue, void* message, std::size_t size, long type, int flags) {
  DEADHEAT_ORIGINAL(msgrcv);
  const Count count = original(queue, message, size, type, flags);
  if (!is_observing()) return count;
  if (count >= 0) {
    const long received = *static_cast<const long*>(message);
    take_from_kernel(KernelObject::kMessages, static_cast<unsigned>(queue), static_cast<std::uint64_t>(received),
                     DEADHEAT_CALLER);
    take_from_relatives(DEADHEAT_CALLER);
    report_written(message, sizeof(long) + static_cast<std::size_t>(count), DEADHEAT_CALLER);
  } else if (errno == EIDRM || errno == EINVAL) {
    take_from_kernel(KernelObject::kEndOfSet, static_cast<unsigned>(queue), 1, DEADHEAT_CALLER);
  }
  return count;
}
DEADHEAT_REPLACE(int, msgctl, int queue, int command, msqid_ds* about) {
  DEADHEAT_ORIGINAL(msgctl);
  if (command == IPC_RMID) {
    give_to_kernel(KernelObject::kEndOfSet, static_cast<unsigned>(queue), 1, DEADHEAT_CALLER);
    give_to_relatives(DEADHEAT_CALLER);
  }
  const int result = original(queue, command, about);
  if (result >= 0 && (command == IPC_STAT || command == MSG_STAT))
    report_written(about, sizeof(*about), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, shmctl, int segment, int command, shmid_ds* about) {
  DEADHEAT_ORIGINAL(shmctl);
  if (command == IPC_SET) report_read(about, sizeof(*about), DEADHEAT_CALLER);
  const int result = original(segment, command, about);
  if (result >= 0 && (command == IPC_STAT || command == SHM_STAT))
    report_written(about, sizeof(*about), DEADHEAT_CALLER);
  return result;
}
