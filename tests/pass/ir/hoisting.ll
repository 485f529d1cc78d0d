; PASSES: function(deadheat-hoist)
; Loops whose accesses are checked before them, and loops where that would be wrong.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @may_synchronise()

; CHECK-LABEL: define void @sum
; CHECK: call void @__deadheat_range(ptr %p, i64 8, i64 %n, i64 16)
; CHECK: loop:
; CHECK: load i64, ptr %at, align 8, !llvm.access.group
; CHECK-NOT: __deadheat_range
define void @sum(ptr %p, i64 %n) sanitize_thread {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %at, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Downwards, and a write that stands for the read of the same element.
; CHECK-LABEL: define void @downwards
; CHECK: call void @__deadheat_range(ptr %{{.*}}, i64 -4, i64 100, i64 9)
; CHECK-NOT: __deadheat_range
; CHECK: ret
define void @downwards(ptr %p) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 99, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i32, ptr %p, i64 %i
  %value = load i32, ptr %at, align 4
  %more = add i32 %value, 1
  store i32 %more, ptr %at, align 4
  %next = add nsw i64 %i, -1
  %done = icmp eq i64 %i, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Rows of a matrix: one call before both loops.
; CHECK-LABEL: define void @nested
; CHECK: entry:
; CHECK: call void @__deadheat_range2(ptr %p, i64 8, i64 10, i64 800, i64 20, i64 17)
; CHECK: outer:
; CHECK-NOT: __deadheat_range
; CHECK: ret
define void @nested(ptr %p) sanitize_thread {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %at = getelementptr inbounds [100 x i64], ptr %p, i64 %i, i64 %j
  store i64 1, ptr %at, align 8
  %j.next = add nuw nsw i64 %j, 1
  %j.done = icmp eq i64 %j.next, 10
  br i1 %j.done, label %outer.latch, label %inner
outer.latch:
  %i.next = add nuw nsw i64 %i, 1
  %i.done = icmp eq i64 %i.next, 20
  br i1 %i.done, label %end, label %outer
end:
  ret void
}

; CHECK-LABEL: define void @with_call
; CHECK-NOT: __deadheat_range
; CHECK: ret
define void @with_call(ptr %p) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  store i64 1, ptr %at, align 8
  call void @may_synchronise()
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 100
  br i1 %done, label %end, label %loop
end:
  ret void
}

; CHECK-LABEL: define void @on_condition
; CHECK: call void @__deadheat_range(ptr %q
; CHECK-NOT: __deadheat_range(ptr %p
; CHECK: ret
define void @on_condition(ptr %p, ptr %q) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = getelementptr inbounds i64, ptr %q, i64 %i
  %value = load i64, ptr %from, align 8
  %is_wanted = icmp eq i64 %value, 0
  br i1 %is_wanted, label %then, label %latch
then:
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  store i64 1, ptr %at, align 8
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 100
  br i1 %done, label %end, label %loop
end:
  ret void
}

; An address that comes from memory.
; CHECK-LABEL: define void @indirect
; CHECK: call void @__deadheat_range(ptr %q, i64 8, i64 100, i64 16)
; CHECK-NOT: __deadheat_range
; CHECK: ret
define void @indirect(ptr %p, ptr %q) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr inbounds i64, ptr %q, i64 %i
  %index = load i64, ptr %from, align 8
  %at = getelementptr inbounds i64, ptr %p, i64 %index
  store i64 1, ptr %at, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 100
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Always the same address: one check, also where nobody knows how often it turns. A
; write further down the loop may not be reached.
; CHECK-LABEL: define void @same_address
; CHECK: entry:
; CHECK: call void @__deadheat_check(ptr %p, i64 12884901904)
; CHECK-NOT: __deadheat_
; CHECK: ret
define void @same_address(ptr %p, ptr %q) sanitize_thread {
entry:
  br label %loop
loop:
  %limit = load i64, ptr %p, align 8
  %done = icmp eq i64 %limit, 0
  br i1 %done, label %end, label %rest
rest:
  store i64 1, ptr %q, align 8
  br label %loop
end:
  ret void
}
