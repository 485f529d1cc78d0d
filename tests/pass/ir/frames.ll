; PASSES: function(deadheat)
; OPTIONS: --deadheat-two-versions=0
; Open calls: a function that calls others notes its caller itself; one that calls nobody
; leaves it to the hook of a failed check.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @other()
declare void @quiet() nounwind
declare i32 @personality(...)
declare double @llvm.fabs.f64(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; CHECK-LABEL: define i64 @leaf
; CHECK-NOT: @__tsan_func_entry
; CHECK: %[[CALLER:.*]] = call ptr @llvm.returnaddress(i32 0)
; CHECK-NEXT: call preserve_mostcc void @__deadheat_leaf_read8(ptr %p, ptr %[[CALLER]])
; CHECK-NOT: __deadheat_thread, i64 0, i64 4
; CHECK: ret i64
define i64 @leaf(ptr %p) sanitize_thread {
  %value = load i64, ptr %p, align 8
  ret i64 %value
}

; Nothing at all.
; CHECK-LABEL: define double @intrinsic
; CHECK-NEXT: call double @llvm.fabs.f64
; CHECK-NEXT: ret
define double @intrinsic(double %x) sanitize_thread {
  %y = call double @llvm.fabs.f64(double %x)
  ret double %y
}

; CHECK-LABEL: define void @calls
; CHECK: %[[TOP:.*]] = load ptr, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 4)
; CHECK: %[[CALLER:.*]] = call ptr @llvm.returnaddress(i32 0)
; CHECK: br i1
; CHECK: call void @__tsan_func_entry(ptr %[[CALLER]])
; CHECK: getelementptr i8, ptr %[[TOP]], i64 -16
; CHECK: store ptr %[[CALLER]], ptr %[[TOP]]
; CHECK: mul i64 %{{.*}}, -2960836687051489901
; CHECK: getelementptr i8, ptr %[[TOP]], i64 24
; CHECK: store ptr %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 4)
; CHECK: call preserve_mostcc void @__deadheat_write8(ptr %p)
; CHECK: call void @quiet()
; CHECK: %[[LAST:.*]] = load ptr, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 4)
; CHECK: getelementptr i8, ptr %[[LAST]], i64 -24
; CHECK: store ptr
; CHECK: ret void
define void @calls(ptr %p) sanitize_thread {
  store i64 1, ptr %p, align 8
  call void @quiet()
  ret void
}

; Also on the way of an exception.
; CHECK-LABEL: define void @throws
; CHECK: invoke void @other()
; CHECK: landingpad
; CHECK: getelementptr i8, ptr %{{.*}}, i64 -24
; CHECK: resume
define void @throws() sanitize_thread personality ptr @personality {
  call void @other()
  ret void
}

; Without checks, but on the way to functions that have some.
; CHECK-LABEL: define void @unchecked
; CHECK: call void @__tsan_func_entry
; CHECK-NOT: @__deadheat_{{(leaf_)?}}write8
; CHECK: call void @quiet()
define void @unchecked(ptr %p) {
  store i64 1, ptr %p, align 8
  call void @quiet()
  ret void
}

; clang's pass makes a call of it.
; CHECK-LABEL: define void @clears
; CHECK: call void @__tsan_func_entry
define void @clears(ptr %p) sanitize_thread {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 128, i1 false)
  ret void
}

; CHECK-LABEL: define i64 @atomic
; CHECK: call void @__tsan_func_entry
define i64 @atomic(ptr %p) sanitize_thread {
  %value = load atomic i64, ptr %p acquire, align 8
  ret i64 %value
}

; Variables stay in the first block, where they have their place in the stack frame.
; CHECK-LABEL: define void @variable
; CHECK-NEXT: %{{.*}} = alloca i64
; CHECK-NEXT: %{{.*}} = alloca i64
; CHECK: call void @__tsan_func_entry
define void @variable(i64 %x) sanitize_thread {
  %first = alloca i64
  %sum = add i64 %x, 1
  %second = alloca i64
  store i64 %sum, ptr %first
  call void @quiet()
  ret void
}

; CHECK-LABEL: define void @left_alone
; CHECK-NEXT: call void @quiet()
; CHECK-NEXT: ret
define void @left_alone() disable_sanitizer_instrumentation {
  call void @quiet()
  ret void
}
