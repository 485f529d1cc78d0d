/* SPDX-License-Identifier: Apache-2.0
 *
 * Confines the system calls of all threads (seccomp) to those of a list: any other call ends the process.
 * confine_basic is what a program with threads, locks and a heap needs of the C library.
 */
#ifndef DEADHEAT_TESTS_PROGRAMS_CONFINE_H
#define DEADHEAT_TESTS_PROGRAMS_CONFINE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFINE_MOST 64

static const int confine_basic[] = {SYS_read,     SYS_write,   SYS_futex,  SYS_mmap,           SYS_munmap,
                                    SYS_mprotect, SYS_madvise, SYS_exit,   SYS_exit_group,     SYS_rt_sigreturn,
                                    SYS_brk,      SYS_clone,   SYS_clone3, SYS_rt_sigprocmask, SYS_set_robust_list,
                                    SYS_rseq};
#define CONFINE_BASIC confine_basic, (int)(sizeof confine_basic / sizeof confine_basic[0])

/* By seccomp(2) for all threads, or by prctl for this one. Returns 0. */
enum confine_way { CONFINE_ALL, CONFINE_THREAD };
static inline int confine_to(const int* calls, int count, enum confine_way way, unsigned otherwise) {
  struct sock_filter code[2 * CONFINE_MOST + 2];
  struct sock_fprog program;
  int at = 0;
  int i;
  code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (i = 0; i < count; i++) {
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
  program.len = (unsigned short)at;
  program.filter = code;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (way == CONFINE_THREAD) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

#endif
