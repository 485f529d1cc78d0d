// SPDX-License-Identifier: Apache-2.0
// Described functions: paths, directories, attributes of files, mounts. (described.h)
//
// The entry that readdir returns lies in the buffer of its directory stream: two threads that read
// one stream write it. Streams of different threads have nothing in common.
#include <dirent.h>
#include <fstab.h>
#include <fts.h>
#include <glob.h>
#include <mntent.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <utime.h>
#include <wordexp.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

void report_entry(const dirent* entry, Address code) {
  if (entry != nullptr) on_write(entry, entry->d_reclen, code);
}
void report_returned_entry(const DescribedCall& call) { report_entry(call.pointer<const dirent>(0), call.code); }
// readdir_r(stream, entry, result)
void report_copied_entry(const DescribedCall& call) {
  dirent* const* const result = call.pointer<dirent* const>(3);
  on_write(result, sizeof(*result), call.code);
  report_entry(*result, call.code);
}

// A new block of pointers to entries that each have a block; the pointer to it is written.
void report_entries(const DescribedCall& call, unsigned target) {
  dirent** const* const list = call.pointer<dirent** const>(target);
  on_write(list, sizeof(*list), call.code);
}
void report_scanned(const DescribedCall& call) { report_entries(call, 2); }
void report_scanned_at(const DescribedCall& call) { report_entries(call, 3); }

// glob(pattern, flags, failed, result): the list is libc's until it is returned.
void report_globbed(const DescribedCall& call) {
  const auto* const result = call.pointer<const glob_t>(4);
  on_write(result, sizeof(*result), call.code);
  if (result->gl_pathv == nullptr) return;
  on_write(result->gl_pathv,
           (result->gl_offs * ((call.integer(2) & GLOB_DOOFFS) != 0) + result->gl_pathc + 1) * sizeof(char*),
           call.code);
}
void report_words(const DescribedCall& call) {
  const auto* const result = call.pointer<const wordexp_t>(2);
  on_write(result, sizeof(*result), call.code);
}

// Templates of mkstemp and its relatives are read, and written if it worked.
void report_fts_entry(const DescribedCall& call) { on_write(call.pointer<const void>(0), sizeof(FTSENT), call.code); }

void report_mount_entry(const mntent* entry, Address code) {
  if (entry == nullptr) return;
  on_write(entry, sizeof(*entry), code);
  for (const char* text : {entry->mnt_fsname, entry->mnt_dir, entry->mnt_type, entry->mnt_opts}) {
    report_text_written(text, code);
  }
}
void report_returned_mount(const DescribedCall& call) { report_mount_entry(call.pointer<const mntent>(0), call.code); }

void report_path_list(const DescribedCall& call) {
  char* const* const paths = call.pointer<char* const>(1);
  std::size_t count = 0;
  for (; paths[count] != nullptr; ++count) report_text_read(paths[count], call.code);
  on_read(paths, (count + 1) * sizeof(char*), call.code);
}

// fgetxattr and its relatives ask for the size if there is no room.
}  // namespace
}  // namespace deadheat::runtime

using TwoTimes = struct timeval[2];
using TwoExactTimes = struct timespec[2];
using FileStatus = struct stat;

// Paths.
DEADHEAT_DESCRIBE(access, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(eaccess, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(euidaccess, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(faccessat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(acct, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(chdir, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(chflags, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(chmod, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(lchmod, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fchmodat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(chown, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(lchown, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fchownat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(chroot, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(ftok, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(link, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(linkat, kAlways, reads_text(2), reads_text(4))
DEADHEAT_DESCRIBE(symlink, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(symlinkat, kAlways, reads_text(1), reads_text(3))
DEADHEAT_DESCRIBE(unlink, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(unlinkat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(remove, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(rmdir, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(rename, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(renameat, kAlways, reads_text(2), reads_text(4))
DEADHEAT_DESCRIBE(renameat2, kAlways, reads_text(2), reads_text(4))
DEADHEAT_DESCRIBE(revoke, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(mkdir, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(mkdirat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(mkfifo, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(mkfifoat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(mknod, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(mknodat, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(__xmknod, kAlways, reads_text(2), reads(4, sizeof(dev_t)))
DEADHEAT_DESCRIBE(__xmknodat, kAlways, reads_text(3), reads(5, sizeof(dev_t)))
DEADHEAT_DESCRIBE(__fxstatat, kZero, reads_text(3), writes(4, sizeof(FileStatus)))
DEADHEAT_DESCRIBE(__fxstatat64, kZero, reads_text(3), writes(4, sizeof(FileStatus)))
DEADHEAT_DESCRIBE(truncate, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(truncate64, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(pathconf, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(swapon, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(swapoff, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(quotactl, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(inotify_add_watch, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(fanotify_mark, kAlways, reads_text(5))
DEADHEAT_DESCRIBE(memfd_create, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(utime, kAlways, reads_text(1), reads(2, sizeof(utimbuf)))
DEADHEAT_DESCRIBE(utimes, kAlways, reads_text(1), reads(2, sizeof(TwoTimes)))
DEADHEAT_DESCRIBE(lutimes, kAlways, reads_text(1), reads(2, sizeof(TwoTimes)))
DEADHEAT_DESCRIBE(futimes, kAlways, reads(2, sizeof(TwoTimes)))
DEADHEAT_DESCRIBE(futimesat, kAlways, reads_text(2), reads(3, sizeof(TwoTimes)))
DEADHEAT_DESCRIBE(futimens, kAlways, reads(2, sizeof(TwoExactTimes)))
DEADHEAT_DESCRIBE(utimensat, kAlways, reads_text(2), reads(3, sizeof(TwoExactTimes)))
DEADHEAT_DESCRIBE(statx, kZero, reads_text(2), writes(5, 256))
DEADHEAT_DESCRIBE(fstatfs64, kZero, writes(2, sizeof(struct statfs)))
DEADHEAT_DESCRIBE(fstatvfs64, kZero, writes(2, sizeof(struct statvfs)))
DEADHEAT_DESCRIBE(canonicalize_file_name, kNotNull, reads_text(1), writes_text(0))
DEADHEAT_DESCRIBE(__realpath_chk, kNotNull, reads_text(1), writes_text(0))
DEADHEAT_DESCRIBE(__readlink_chk, kCount, reads_text(1), writes_result(2))
DEADHEAT_DESCRIBE(__readlinkat_chk, kCount, reads_text(2), writes_result(3))
DEADHEAT_DESCRIBE(__getcwd_chk, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(getwd, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(__getwd_chk, kNotNull, writes_text(1))
DEADHEAT_DESCRIBE(get_current_dir_name, kNotNull, writes_text(0))
// These cut the text that they are given, or return a constant.
DEADHEAT_DESCRIBE(basename, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(__xpg_basename, kAlways, updates(1, 1), reads_text(1))
DEADHEAT_DESCRIBE(dirname, kAlways, updates(1, 1), reads_text(1))
DEADHEAT_DESCRIBE(name_to_handle_at, kZero, reads_text(2), writes(4, sizeof(int)))
DEADHEAT_DESCRIBE(open_by_handle_at, kAlways, reads(2, 8))

// Temporary files: the template becomes the name.
DEADHEAT_DESCRIBE(mktemp, kAlways, reads_text(1), writes_text(1))
DEADHEAT_DESCRIBE(mkdtemp, kNotNull, reads_text(1), writes_text(1))
DEADHEAT_DESCRIBE(tempnam, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(tmpnam, kNotNull, writes_text(0))
DEADHEAT_DESCRIBE(tmpnam_r, kNotNull, writes_text(0))

// Extended attributes.
DEADHEAT_DESCRIBE(getxattr, kCount, reads_text(1), reads_text(2), writes_result(3))
DEADHEAT_DESCRIBE(lgetxattr, kCount, reads_text(1), reads_text(2), writes_result(3))
DEADHEAT_DESCRIBE(fgetxattr, kCount, reads_text(2), writes_result(3))
DEADHEAT_DESCRIBE(listxattr, kCount, reads_text(1), writes_result(2))
DEADHEAT_DESCRIBE(llistxattr, kCount, reads_text(1), writes_result(2))
DEADHEAT_DESCRIBE(flistxattr, kCount, writes_result(2))
DEADHEAT_DESCRIBE(setxattr, kAlways, reads_text(1), reads_text(2), reads_bytes(3, 4))
DEADHEAT_DESCRIBE(lsetxattr, kAlways, reads_text(1), reads_text(2), reads_bytes(3, 4))
DEADHEAT_DESCRIBE(fsetxattr, kAlways, reads_text(2), reads_bytes(3, 4))
DEADHEAT_DESCRIBE(removexattr, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(lremovexattr, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(fremovexattr, kAlways, reads_text(2))

// Directories.
DEADHEAT_DESCRIBE(opendir, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(readdir, kNotNull, after(report_returned_entry))
DEADHEAT_DESCRIBE(readdir64, kNotNull, after(report_returned_entry))
DEADHEAT_DESCRIBE(readdir_r, kZero, after(report_copied_entry))
DEADHEAT_DESCRIBE(readdir64_r, kZero, after(report_copied_entry))
DEADHEAT_DESCRIBE(getdents64, kCount, writes_result(2))
DEADHEAT_DESCRIBE(getdirentries, kCount, writes_result(2), writes(4, sizeof(long)))
DEADHEAT_DESCRIBE(getdirentries64, kCount, writes_result(2), writes(4, sizeof(long)))
DEADHEAT_DESCRIBE(scandir, kNotNegative, reads_text(1), after(report_scanned))
DEADHEAT_DESCRIBE(scandir64, kNotNegative, reads_text(1), after(report_scanned))
DEADHEAT_DESCRIBE(scandirat, kNotNegative, reads_text(2), after(report_scanned_at))
DEADHEAT_DESCRIBE(scandirat64, kNotNegative, reads_text(2), after(report_scanned_at))
DEADHEAT_DESCRIBE(ftw, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(ftw64, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(nftw, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(nftw64, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fts_open, kAlways, before(report_path_list))
DEADHEAT_DESCRIBE(fts64_open, kAlways, before(report_path_list))
DEADHEAT_DESCRIBE(fts_read, kNotNull, updates(1, sizeof(FTS)), after(report_fts_entry))
DEADHEAT_DESCRIBE(fts64_read, kNotNull, updates(1, sizeof(FTS)), after(report_fts_entry))
DEADHEAT_DESCRIBE(fts_children, kAlways, updates(1, sizeof(FTS)))
DEADHEAT_DESCRIBE(fts64_children, kAlways, updates(1, sizeof(FTS)))
DEADHEAT_DESCRIBE(fts_set, kZero, writes(2, sizeof(FTSENT)))
DEADHEAT_DESCRIBE(fts64_set, kZero, writes(2, sizeof(FTSENT)))
DEADHEAT_DESCRIBE(fts_close, kAlways, updates(1, sizeof(FTS)))
DEADHEAT_DESCRIBE(fts64_close, kAlways, updates(1, sizeof(FTS)))
DEADHEAT_DESCRIBE(glob, kZero, reads_text(1), after(report_globbed))
DEADHEAT_DESCRIBE(glob64, kZero, reads_text(1), after(report_globbed))
DEADHEAT_DESCRIBE(globfree, kAlways, updates(1, sizeof(glob_t)))
DEADHEAT_DESCRIBE(globfree64, kAlways, updates(1, sizeof(glob_t)))
DEADHEAT_DESCRIBE(glob_pattern_p, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fnmatch, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(wordexp, kZero, reads_text(1), after(report_words))
DEADHEAT_DESCRIBE(wordfree, kAlways, updates(1, sizeof(wordexp_t)))
// An entry is read by versionsort and alphasort, and written by nobody.
DEADHEAT_DESCRIBE(alphasort, kAlways, reads(1, sizeof(dirent*)), reads(2, sizeof(dirent*)))
DEADHEAT_DESCRIBE(alphasort64, kAlways, reads(1, sizeof(dirent*)), reads(2, sizeof(dirent*)))
DEADHEAT_DESCRIBE(versionsort, kAlways, reads(1, sizeof(dirent*)), reads(2, sizeof(dirent*)))
DEADHEAT_DESCRIBE(versionsort64, kAlways, reads(1, sizeof(dirent*)), reads(2, sizeof(dirent*)))

// Mounts.
DEADHEAT_DESCRIBE(mount, kAlways, reads_text(1), reads_text(2), reads_text(3))
DEADHEAT_DESCRIBE(umount, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(umount2, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(pivot_root, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(fsopen, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(fspick, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(fsconfig, kAlways, reads_text(3))
DEADHEAT_DESCRIBE(move_mount, kAlways, reads_text(2), reads_text(4))
DEADHEAT_DESCRIBE(open_tree, kAlways, reads_text(2))
DEADHEAT_DESCRIBE(mount_setattr, kAlways, reads_text(2), reads_bytes(4, 5))
DEADHEAT_DESCRIBE(setmntent, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(__setmntent, kAlways, reads_text(1), reads_text(2))
DEADHEAT_DESCRIBE(getmntent, kNotNull, after(report_returned_mount))
DEADHEAT_DESCRIBE(getmntent_r, kNotNull, after(report_returned_mount))
DEADHEAT_DESCRIBE(__getmntent_r, kNotNull, after(report_returned_mount))
DEADHEAT_DESCRIBE(addmntent, kAlways, reads(2, sizeof(mntent)))
DEADHEAT_DESCRIBE(hasmntopt, kAlways, reads(1, sizeof(mntent)), reads_text(2))
DEADHEAT_DESCRIBE(getfsent, kNotNull, writes(0, sizeof(fstab)))
DEADHEAT_DESCRIBE(getfsspec, kNotNull, reads_text(1), writes(0, sizeof(fstab)))
DEADHEAT_DESCRIBE(getfsfile, kNotNull, reads_text(1), writes(0, sizeof(fstab)))
