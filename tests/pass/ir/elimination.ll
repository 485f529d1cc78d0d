; PASSES: function(deadheat)
; OPTIONS: --deadheat-two-versions=0
; Which checks stand for others, and what ends that.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @may_synchronise()
declare double @sqrt(double)

; CHECK-LABEL: define void @same_again
; CHECK-COUNT-1: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define void @same_again(ptr %p, i1 %c) sanitize_thread {
  store i64 1, ptr %p, align 8
  br i1 %c, label %more, label %end
more:
  %value = load i64, ptr %p, align 8
  %next = add i64 %value, 1
  store i64 %next, ptr %p, align 8
  br label %end
end:
  %half = load i32, ptr %p, align 4
  ret void
}

; CHECK-LABEL: define void @on_one_path_only
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8
define void @on_one_path_only(ptr %p, i1 %c) sanitize_thread {
  br i1 %c, label %more, label %end
more:
  store i64 1, ptr %p, align 8
  br label %end
end:
  %value = load i64, ptr %p, align 8
  ret void
}

; CHECK-LABEL: define void @call_between
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK: {{call|invoke}} void @may_synchronise
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @call_between(ptr %p) sanitize_thread {
  store i64 1, ptr %p, align 8
  call void @may_synchronise()
  store i64 2, ptr %p, align 8
  ret void
}

; CHECK-LABEL: define void @fence_between
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @fence_between(ptr %p) sanitize_thread {
  store i64 1, ptr %p, align 8
  fence release
  store i64 2, ptr %p, align 8
  ret void
}

; A read says nothing of a write, and the write is checked.
; CHECK-LABEL: define void @read_on_the_way
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @read_on_the_way(ptr %p, i1 %c) sanitize_thread {
  %value = load i64, ptr %p, align 8
  br i1 %c, label %more, label %end
more:
  store i64 2, ptr %p, align 8
  br label %end
end:
  ret void
}

; CHECK-LABEL: define void @read_before_write
; CHECK-NOT: {{__tsan_|__deadheat_}}read
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define void @read_before_write(ptr %p) sanitize_thread {
  %value = load i64, ptr %p, align 8
  %next = add i64 %value, 1
  store i64 %next, ptr %p, align 8
  ret void
}

; CHECK-LABEL: define void @read_then_call_then_write
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8
; CHECK: {{call|invoke}} void @may_synchronise
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @read_then_call_then_write(ptr %p) sanitize_thread {
  %value = load i64, ptr %p, align 8
  call void @may_synchronise()
  store i64 %value, ptr %p, align 8
  ret void
}

; The name stands for another address in each turn.
; CHECK-LABEL: define void @pointer_moves_on
; CHECK: loop:
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @pointer_moves_on(ptr %p, i64 %n) sanitize_thread {
entry:
  br label %loop
loop:
  %at = phi ptr [ %p, %entry ], [ %next, %loop ]
  store i64 1, ptr %at, align 8
  %next = getelementptr i8, ptr %at, i64 8
  %done = icmp eq ptr %next, null
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Four fields, one comparison with the epoch, four calls if it fails.
; CHECK-LABEL: define i64 @neighbours
; CHECK-COUNT-3: load atomic i64
; CHECK: br i1
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8(ptr %p{{[,)]}}
; CHECK: %[[SECOND:.*]] = getelementptr i8, ptr %p, i64 8
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read4(ptr %[[SECOND]]{{[,)]}}
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read4
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define i64 @neighbours(ptr %p) sanitize_thread {
  %a = load i64, ptr %p, align 8
  %pb = getelementptr i8, ptr %p, i64 8
  %b = load i32, ptr %pb, align 8
  %pc = getelementptr i8, ptr %p, i64 12
  %c = load i32, ptr %pc, align 4
  %pd = getelementptr i8, ptr %p, i64 16
  %d = load i64, ptr %pd, align 8
  ret i64 %a
}

; A write among them has a check of its own; so has what follows a call.
; CHECK-LABEL: define void @not_together
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}read8
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
; CHECK: {{call|invoke}} void @may_synchronise
; CHECK: call preserve_mostcc void @__deadheat_{{(leaf_)?}}write8
define void @not_together(ptr %p) sanitize_thread {
  %a = load i64, ptr %p, align 8
  %pb = getelementptr i8, ptr %p, i64 8
  store i64 1, ptr %pb, align 8
  call void @may_synchronise()
  %pc = getelementptr i8, ptr %p, i64 16
  store i64 1, ptr %pc, align 8
  ret void
}
