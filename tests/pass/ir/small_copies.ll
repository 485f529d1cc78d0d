; PASSES: function(deadheat)
; OPTIONS: --deadheat-two-versions=0
; Copies of a few bytes become moves, which are checked inline.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @escape(ptr)

; All reads before all writes: the memory may overlap.
; CHECK-LABEL: define void @structure
; CHECK-NOT: @llvm.mem
; CHECK: load <2 x i64>, ptr %from, align 8
; CHECK: load i64, ptr %{{.*}}, align 8
; CHECK: store <2 x i64> %{{.*}}, ptr %to, align 8
; CHECK: store i64 %{{.*}}, ptr %{{.*}}, align 8
; CHECK: ret
define void @structure(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 24, i1 false)
  ret void
}

; Both sides are checked.
; CHECK-LABEL: define void @checked
; CHECK: call {{.*}}__deadheat_leaf_unaligned_read16
; CHECK: load <2 x i64>, ptr %from, align 1
; CHECK: call {{.*}}__deadheat_leaf_unaligned_write16
; CHECK: store <2 x i64>
define void @checked(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 16, i1 false)
  ret void
}

; CHECK-LABEL: define void @odd
; CHECK: load i64
; CHECK: load i32
; CHECK: load i16
; CHECK: load i8
; CHECK: ret
define void @odd(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 15, i1 false)
  ret void
}

; CHECK-LABEL: define void @fill
; CHECK: store <2 x i64> {{.*}}217020518514230019
; CHECK: store i8 3
define void @fill(ptr %to) sanitize_thread {
  call void @llvm.memset.p0.i64(ptr align 16 %to, i8 3, i64 17, i1 false)
  ret void
}

; Left to clang's pass.
; CHECK-LABEL: define void @large
; CHECK: call void @llvm.memcpy
define void @large(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 65, i1 false)
  ret void
}
; CHECK-LABEL: define void @anywhere
; CHECK: call void @llvm.memcpy
define void @anywhere(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 4 %from, i64 24, i1 false)
  ret void
}
; CHECK-LABEL: define void @unknown
; CHECK: call void @llvm.memcpy
define void @unknown(ptr %to, ptr %from, i64 %size) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret void
}
; CHECK-LABEL: define void @volatile
; CHECK: call void @llvm.memcpy
define void @volatile(ptr %to, ptr %from) sanitize_thread {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 8, i1 true)
  ret void
}
