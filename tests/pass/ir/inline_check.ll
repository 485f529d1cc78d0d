; PASSES: function(deadheat)
; OPTIONS: --deadheat-two-versions=0
; The fast path: the cell of the address, its first entry, epoch, bytes and kind in one
; comparison; then the second entry; then the hook.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: @__deadheat_thread = external thread_local(initialexec) global [11 x i64]

; CHECK-LABEL: define i64 @read8
; CHECK: %[[TWICE:.*]] = shl i64 %{{.*}}, 1
; CHECK: and i64 %[[TWICE]]
; CHECK: xor i64 %{{.*}}, 4278190080
; CHECK: load atomic i64, {{.*}} unordered
; CHECK: lshr i64 %{{.*}}, 23
; CHECK: br i1
; CHECK: load atomic i64
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8(ptr %p{{[,)]}}
; CHECK: load i64, ptr %p
define i64 @read8(ptr %p) sanitize_thread {
  %value = load i64, ptr %p, align 8
  ret i64 %value
}

; CHECK-LABEL: define void @write8
; CHECK: lshr i64 %{{.*}}, 22
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8(ptr %p{{[,)]}}
define void @write8(ptr %p) sanitize_thread {
  store i64 1, ptr %p, align 8
  ret void
}

; The position in the word is not known: the mask is shifted.
; CHECK-LABEL: define i32 @read4
; CHECK: shl i64 251658240
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read4(ptr %p{{[,)]}}
define i32 @read4(ptr %p) sanitize_thread {
  %value = load i32, ptr %p, align 4
  ret i32 %value
}

; It is known: the upper half of a word.
; CHECK-LABEL: define i32 @read4_upper
; CHECK-NOT: shl i64 251658240
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read4(ptr %upper{{[,)]}}
define i32 @read4_upper(ptr align 8 %p) sanitize_thread {
  %upper = getelementptr i8, ptr %p, i64 4
  %value = load i32, ptr %upper, align 4
  ret i32 %value
}

; May lie in two words.
; CHECK-LABEL: define i64 @read8_anywhere
; CHECK: add i64 %{{.*}}, 7
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}unaligned_read8(ptr %p{{[,)]}}
define i64 @read8_anywhere(ptr %p) sanitize_thread {
  %value = load i64, ptr %p, align 1
  ret i64 %value
}

; CHECK-LABEL: define <4 x i64> @read32
; CHECK-COUNT-4: load atomic i64
; CHECK: call void @__tsan_read_range(ptr %p, i64 32)
define <4 x i64> @read32(ptr %p) sanitize_thread {
  %value = load <4 x i64>, ptr %p, align 32
  ret <4 x i64> %value
}

; CHECK-LABEL: define i24 @read3
; CHECK-COUNT-2: load atomic i64
; CHECK: call void @__tsan_read_range(ptr %p, i64 3)
define i24 @read3(ptr %p) sanitize_thread {
  %value = load i24, ptr %p, align 1
  ret i24 %value
}

; In three or four words, nobody knows how: always a call.
; CHECK-LABEL: define <3 x i64> @read24
; CHECK-NOT: load atomic
; CHECK: call void @__tsan_read_range(ptr %p, i64 24)
define <3 x i64> @read24(ptr %p) sanitize_thread {
  %value = load <3 x i64>, ptr %p, align 1
  ret <3 x i64> %value
}

; CHECK-LABEL: define void @masked
; CHECK: extractelement <2 x i1> %mask, i64 0
; CHECK: call void @__tsan_write8
; CHECK: extractelement <2 x i1> %mask, i64 1
; CHECK: call void @__tsan_write8
define void @masked(ptr %p, <2 x i64> %value, <2 x i1> %mask) sanitize_thread {
  call void @llvm.masked.store.v2i64.p0(<2 x i64> %value, ptr %p, i32 8, <2 x i1> %mask)
  ret void
}

; CHECK-LABEL: define i32 @maximum
; CHECK: call i32 @__tsan_atomic32_load(ptr %p, i32 0)
; CHECK: icmp sgt i32
; CHECK: call i32 @__tsan_atomic32_compare_exchange_val(ptr %p, i32 %{{.*}}, i32 %{{.*}}, i32 4, i32 2)
; CHECK-NOT: atomicrmw
define i32 @maximum(ptr %p, i32 %value) sanitize_thread {
  %old = atomicrmw max ptr %p, i32 %value acq_rel
  ret i32 %old
}

; CHECK-LABEL: define void @pointer_to_table
; CHECK: call void @__tsan_vptr_update(ptr %object, ptr @table)
; CHECK: call void @__tsan_vptr_read(ptr %other)
define void @pointer_to_table(ptr %object, ptr %other) sanitize_thread {
  store ptr @table, ptr %object, align 8, !tbaa !0
  %read = load ptr, ptr %other, align 8, !tbaa !0
  %entry = load ptr, ptr %read, align 8
  call void %entry()
  ret void
}

@table = external constant [3 x ptr]
declare void @llvm.masked.store.v2i64.p0(<2 x i64>, ptr, i32, <2 x i1>)
!0 = !{!1, !1, i64 0}
!1 = !{!"vtable pointer", !2}
!2 = !{!"Simple C++ TBAA"}
