; PASSES: function(deadheat)
; OPTIONS: --deadheat-two-versions=0
; The call that stands for a check before a loop becomes the check.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__deadheat_check(ptr, i64)

; CHECK-LABEL: define void @before_loop
; CHECK-NOT: call void @__deadheat_check
; CHECK: load atomic i64
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8(ptr %p{{[,)]}}
; CHECK-NOT: __deadheat_check
; CHECK: ret
define void @before_loop(ptr %p) sanitize_thread {
  call void @__deadheat_check(ptr %p, i64 12884901904)
  %value = load i64, ptr %p, align 8
  ret void
}
