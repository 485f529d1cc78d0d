; PASSES: function(deadheat-hoist,deadheat)
; OPTIONS: --deadheat-two-versions=0
; What becomes of the checks of a loop whose end is found on the way.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; Both checks of an iteration are made at the second access. That the first one has been
; executed is no reason to leave its check out: it is the check of that access. The
; function calls nobody else and needs no frame.
; CHECK-LABEL: define void @two_reads
; CHECK: icmp ult i64 %i, 32
; CHECK: call preserve_mostcc void @__deadheat_leaf_read8(ptr %from
; CHECK: call preserve_mostcc void @__deadheat_leaf_read8(ptr %other
; CHECK: end:
; CHECK: %[[CALLER:.*]] = call ptr @llvm.returnaddress(i32 0)
; CHECK: call preserve_mostcc void @__deadheat_leaf_after_range(ptr %p, i64 8, i64 %{{.*}}, i64 16, ptr %[[CALLER]])
; CHECK: call preserve_mostcc void @__deadheat_leaf_after_range(ptr %q, i64 8, i64 %{{.*}}, i64 16, ptr %{{.*}})
; CHECK-NOT: __tsan_func_entry
; CHECK: ret
define void @two_reads(ptr %p, ptr %q) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %from, align 8
  %other = getelementptr inbounds i64, ptr %q, i64 %i
  %end_value = load i64, ptr %other, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %value, %end_value
  br i1 %done, label %end, label %loop
end:
  ret void
}
