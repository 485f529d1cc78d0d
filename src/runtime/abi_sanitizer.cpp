// SPDX-License-Identifier: Apache-2.0
// The rest of the sanitizers' interface, so that programs that use it link and
// run: questions about the heap and the stack are answered, settings that
// DEADHEAT_OPTIONS replaces are accepted and ignored, and what makes sense only
// in TSan's own reports says that there is none.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/heap_table.h"
#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_access.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

// Text of limited length, made without libc.
class Line {
 public:
  void append(const char* text) {
    while (*text != 0 && size_ + 1 < sizeof(bytes_)) bytes_[size_++] = *text++;
  }
  void append_number(std::uint64_t number, unsigned base) {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    while (count > 0 && size_ + 1 < sizeof(bytes_)) bytes_[size_++] = digits[--count];
  }
  void append_hexadecimal(std::uint64_t number) {
    append("0x");
    append_number(number, 16);
  }
  [[nodiscard]] const char* text() {
    bytes_[size_] = 0;
    return bytes_;
  }
  void print() { raw_call(SYS_write, STDERR_FILENO, reinterpret_cast<long>(bytes_), static_cast<long>(size_)); }

 private:
  char bytes_[1024] = {};
  std::size_t size_ = 0;
};

void append_place(Line& line, Address code) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(code), &info) == 0 || info.dli_fname == nullptr) return;
  if (info.dli_sname != nullptr) {
    line.append(" in ");
    line.append(info.dli_sname);
  }
  line.append(" (");
  line.append(info.dli_fname);
  line.append("+");
  line.append_hexadecimal(code - address_of(info.dli_fbase));
  line.append(")");
}

void print_frame(unsigned number, Address code) {
  Line line;
  line.append("    #");
  line.append_number(number, 10);
  line.append(" ");
  line.append_hexadecimal(code);
  append_place(line, code);
  line.append("\n");
  line.print();
}

void copy_text(char* to, std::size_t room, const char* from) {
  if (room == 0) return;
  std::size_t at = 0;
  for (; from[at] != 0 && at + 1 < room; ++at) to[at] = from[at];
  to[at] = 0;
}

HeapBlock block_at(const volatile void* begin) {
  const HeapBlock block = HeapTable::describe(address_of(begin));
  return block.kind == HeapKind::kLive && block.begin == address_of(begin) ? block : HeapBlock{};
}

template <class Value>
Value load(const void* from, Address code) {
  on_read(from, sizeof(Value), code);
  Value value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

template <class Value>
void store(void* to, Value value, Address code) {
  on_write(to, sizeof(Value), code);
  __builtin_memcpy(to, &value, sizeof(value));
}

constinit std::atomic<const char*> report_path{""};

}  // namespace

// Stacks and symbols.
DEADHEAT_COMMON_HOOK(void, __sanitizer_print_stack_trace) {
  print_frame(0, DEADHEAT_CALLER);
  if (!is_observing()) return;
  ThreadState& thread = self();
  const RuntimeScope scope;
  unsigned number = 1;
  for (const Frame* frame = current.top; frame != nullptr && frame > thread.frames;) {
    print_frame(number++, (--frame)->call);
  }
}
// One description, and an empty one that ends the list.
DEADHEAT_COMMON_HOOK(void, __sanitizer_symbolize_pc, void* code, const char*, char* text, std::size_t room) {
  Line line;
  line.append_hexadecimal(address_of(code));
  append_place(line, address_of(code));
  copy_text(text, room > 1 ? room - 1 : room, line.text());
  if (room > 1) {
    std::size_t end = 0;
    while (text[end] != 0) ++end;
    text[end + 1] = 0;
  }
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_symbolize_global, void* data, const char*, char* text, std::size_t room) {
  Line line;
  append_place(line, address_of(data));
  copy_text(text, room, line.text());
}
DEADHEAT_COMMON_HOOK(int, __sanitizer_get_module_and_offset_for_pc, void* code, char* path, std::size_t room,
                     void** offset) {
  Dl_info info{};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return 0;
  copy_text(path, room, info.dli_fname);
  if (offset != nullptr) *offset = reinterpret_cast<void*>(address_of(code) - address_of(info.dli_fbase));
  return 1;
}

// Unaligned accesses that the compiler does not see.
DEADHEAT_COMMON_HOOK(std::uint16_t, __sanitizer_unaligned_load16, const void* from) {
  return load<std::uint16_t>(from, DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(std::uint32_t, __sanitizer_unaligned_load32, const void* from) {
  return load<std::uint32_t>(from, DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(std::uint64_t, __sanitizer_unaligned_load64, const void* from) {
  return load<std::uint64_t>(from, DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_unaligned_store16, void* to, std::uint16_t value) {
  store(to, value, DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_unaligned_store32, void* to, std::uint32_t value) {
  store(to, value, DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_unaligned_store64, void* to, std::uint64_t value) {
  store(to, value, DEADHEAT_CALLER);
}

// The heap. Totals are not kept.
DEADHEAT_COMMON_HOOK(int, __sanitizer_get_ownership, const volatile void* block) {
  return block_at(block).kind == HeapKind::kLive ? 1 : 0;
}
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_allocated_size, const volatile void* block) {
  return block_at(block).size;
}
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_allocated_size_fast, const volatile void* block) {
  return block_at(block).size;
}
DEADHEAT_COMMON_HOOK(const void*, __sanitizer_get_allocated_begin, const void* inside) {
  const HeapBlock block = HeapTable::describe(address_of(inside));
  return block.kind == HeapKind::kLive ? reinterpret_cast<const void*>(block.begin) : nullptr;
}
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_estimated_allocated_size, std::size_t size) { return size; }
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_current_allocated_bytes) { return 0; }
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_heap_size) { return 0; }
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_free_bytes) { return 0; }
DEADHEAT_COMMON_HOOK(std::size_t, __sanitizer_get_unmapped_bytes) { return 0; }
DEADHEAT_COMMON_HOOK(void, __sanitizer_purge_allocator) {}
DEADHEAT_COMMON_HOOK(int, __sanitizer_install_malloc_and_free_hooks, void (*)(const volatile void*, std::size_t),
                     void (*)(const volatile void*)) {
  return 0;  // not supported
}

// Settings.
DEADHEAT_COMMON_HOOK(void, __sanitizer_set_report_path, const char* path) {
  report_path.store(path, std::memory_order_relaxed);
}
DEADHEAT_COMMON_HOOK(const char*, __sanitizer_get_report_path) { return report_path.load(std::memory_order_relaxed); }
DEADHEAT_COMMON_HOOK(void, __sanitizer_set_report_fd, void*) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_sandbox_on_notify, void*) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_report_error_summary, const char* summary) {
  if (summary != nullptr) say("summary: ", summary);
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_set_death_callback, void (*)()) {}
DEADHEAT_COMMON_HOOK(int, __sanitizer_acquire_crash_state) { return 1; }
DEADHEAT_COMMON_HOOK(void, __sanitizer_print_memory_profile, std::size_t, std::size_t) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_start_switch_fiber, void**, const void*, std::size_t) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_finish_switch_fiber, void*, const void**, std::size_t*) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_annotate_contiguous_container, const void*, const void*, const void*,
                     const void*) {}
DEADHEAT_COMMON_HOOK(int, __sanitizer_verify_contiguous_container, const void*, const void*, const void*) { return 1; }

// Around system calls that the program makes itself. Of the kernel's accesses only
// those of read and write are reported; fork is in intercept/processes.cpp.
DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_pre_impl_write, long descriptor, const void* buffer, long size) {
  if (size > 0) on_read(buffer, static_cast<std::size_t>(size), DEADHEAT_CALLER);
  before_sending(static_cast<int>(descriptor), DEADHEAT_CALLER);
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_post_impl_write, long, long, const void*, long) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_pre_impl_read, long, void*, long) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_post_impl_read, long result, long descriptor, void* buffer, long) {
  if (result < 0) return;
  after_receiving(static_cast<int>(descriptor), DEADHEAT_CALLER);
  if (result > 0) on_write(buffer, static_cast<std::size_t>(result), DEADHEAT_CALLER);
}
#define DEADHEAT_SYSTEM_CALL(name)                                   \
  DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_pre_impl_##name) {} \
  DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_post_impl_##name) {}
#include "runtime/system_call_hooks.def"
#undef DEADHEAT_SYSTEM_CALL

// Coverage: there is none.
DEADHEAT_COMMON_HOOK(void, __sanitizer_cov_dump) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_cov_reset) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_dump_coverage, const void*, std::size_t) {}
DEADHEAT_COMMON_HOOK(void, __sanitizer_dump_trace_pc_guard_coverage) {}
#define DEADHEAT_NO_COVERAGE(name) \
  DEADHEAT_COMMON_HOOK(void, __sanitizer_cov_##name) {}
DEADHEAT_NO_COVERAGE(8bit_counters_init)
DEADHEAT_NO_COVERAGE(bool_flag_init)
DEADHEAT_NO_COVERAGE(pcs_init)
DEADHEAT_NO_COVERAGE(trace_cmp)
DEADHEAT_NO_COVERAGE(trace_cmp1)
DEADHEAT_NO_COVERAGE(trace_cmp2)
DEADHEAT_NO_COVERAGE(trace_cmp4)
DEADHEAT_NO_COVERAGE(trace_cmp8)
DEADHEAT_NO_COVERAGE(trace_const_cmp1)
DEADHEAT_NO_COVERAGE(trace_const_cmp2)
DEADHEAT_NO_COVERAGE(trace_const_cmp4)
DEADHEAT_NO_COVERAGE(trace_const_cmp8)
DEADHEAT_NO_COVERAGE(trace_div4)
DEADHEAT_NO_COVERAGE(trace_div8)
DEADHEAT_NO_COVERAGE(trace_gep)
DEADHEAT_NO_COVERAGE(trace_pc_guard)
DEADHEAT_NO_COVERAGE(trace_pc_guard_init)
DEADHEAT_NO_COVERAGE(trace_pc_indir)
DEADHEAT_NO_COVERAGE(trace_switch)
