; PASSES: function(deadheat-hoist)
; Loops whose end is found on the way: the first iterations are checked one by one, all of
; them after the loop.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @may_synchronise()

; The read is executed before both exits: once more than there are complete iterations. The
; write is between them.
; CHECK-LABEL: define void @two_exits
; CHECK: loop:
; CHECK: %[[FIRST:.*]] = icmp ult i64 %i, 32
; CHECK: br i1 %[[FIRST]]
; CHECK: call void @__deadheat_check(ptr %from, i64 12884901904)
; CHECK: load i64, ptr %from, align 8, !llvm.access.group
; CHECK: found:
; CHECK: %[[LAST_WRITE:.*]] = phi i64 [ 0, %{{.*}} ]
; CHECK: %[[LAST_READ:.*]] = phi i64 [ 1, %{{.*}} ]
; CHECK: %[[COMPLETE:.*]] = phi i64 [ %i, %{{.*}} ]
; CHECK: %[[MORE:.*]] = icmp uge i64 %[[COMPLETE]], 32
; CHECK: br i1 %[[MORE]]
; CHECK: %[[READS:.*]] = add i64 %[[COMPLETE]], %[[LAST_READ]]
; CHECK: call preserve_mostcc void @__deadheat_after_range(ptr %p, i64 8, i64 %[[READS]], i64 16)
; CHECK: %[[WRITES:.*]] = add i64 %[[COMPLETE]], %[[LAST_WRITE]]
; CHECK: call preserve_mostcc void @__deadheat_after_range(ptr %q, i64 8, i64 %[[WRITES]], i64 17)
; CHECK: call void @may_synchronise()
; CHECK: end.loopexit:
; CHECK: phi i64 [ 1, %{{.*}} ]
; CHECK: phi i64 [ 1, %{{.*}} ]
; CHECK: __deadheat_after_range(ptr %p
; CHECK: __deadheat_after_range(ptr %q
; CHECK: ret
define void @two_exits(ptr %p, ptr %q, i64 %n) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %from, align 8
  %is_wanted = icmp eq i64 %value, 0
  br i1 %is_wanted, label %found, label %latch
latch:
  %to = getelementptr inbounds i64, ptr %q, i64 %i
  store i64 1, ptr %to, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
found:
  call void @may_synchronise()
  br label %end
end:
  ret void
}

; One block that both exits lead to: the edge says whether the write was executed.
; CHECK-LABEL: define void @one_exit_block
; CHECK: end:
; CHECK: phi i64 [ 1, %[[LATCH:.*]] ], [ 0, %[[LOOP:.*]] ]
; CHECK: phi i64 [ 1, %[[LATCH]] ], [ 1, %[[LOOP]] ]
; CHECK: phi i64 [ %i, %[[LATCH]] ], [ %i, %[[LOOP]] ]
; CHECK: ret
define void @one_exit_block(ptr %p, ptr %q, i64 %n) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %from, align 8
  %is_wanted = icmp eq i64 %value, 0
  br i1 %is_wanted, label %end, label %latch
latch:
  %to = getelementptr inbounds i64, ptr %q, i64 %i
  store i64 1, ptr %to, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}

; No bound: the access goes on, and memory does not. Counts from 0, which the loop does not.
; CHECK-LABEL: define void @downwards
; CHECK: entry:
; CHECK: %[[START:.*]] = getelementptr {{.*}}ptr %p, i64 40
; CHECK: loop:
; CHECK: %[[COUNT:.*]] = phi i64 [ %{{.*}}, %{{.*}} ], [ 0, %entry ]
; CHECK: end:
; CHECK: phi i64 [ %[[COUNT]], %{{.*}} ]
; CHECK: call preserve_mostcc void @__deadheat_after_range(ptr %[[START]], i64 -4, i64 %{{.*}}, i64 8)
; CHECK: ret
define void @downwards(ptr %p) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 10, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i32, ptr %p, i64 %i
  %value = load i32, ptr %at, align 4
  %next = add nsw i64 %i, -1
  %done = icmp eq i32 %value, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}

; A step that may be 0: the loop may wait for someone.
; CHECK-LABEL: define void @unknown_step
; CHECK-NOT: __deadheat_
; CHECK: ret
define void @unknown_step(ptr %p, i64 %step) sanitize_thread {
entry:
  br label %loop
loop:
  %at = phi ptr [ %p, %entry ], [ %next, %loop ]
  %value = load i64, ptr %at, align 8
  %next = getelementptr inbounds i64, ptr %at, i64 %step
  %done = icmp eq i64 %value, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}

; CHECK-LABEL: define void @with_call
; CHECK-NOT: __deadheat_
; CHECK: ret
define void @with_call(ptr %p) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %at, align 8
  call void @may_synchronise()
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %value, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Only the read is executed in every iteration.
; CHECK-LABEL: define void @on_condition
; CHECK-NOT: __deadheat_{{.*}}(ptr %q
; CHECK: __deadheat_after_range(ptr %p
; CHECK-NOT: __deadheat_{{.*}}(ptr %q
; CHECK: ret
define void @on_condition(ptr %p, ptr %q) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %from, align 8
  %is_wanted = icmp sgt i64 %value, 7
  br i1 %is_wanted, label %then, label %latch
then:
  %to = getelementptr inbounds i64, ptr %q, i64 %i
  store i64 1, ptr %to, align 8
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %value, 0
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Several exits, each at a known number: before the loop. The write is executed in all
; iterations but the last if the first exit ends the loop.
; CHECK-LABEL: define void @known_exits
; CHECK: entry:
; CHECK: %[[COUNT:.*]] = call i64 @llvm.umin.i64(i64 {{.*}}%n
; CHECK: call void @__deadheat_range(ptr %p, i64 8, i64 %[[COUNT]], i64 17)
; CHECK: loop:
; CHECK-NOT: __deadheat_
; CHECK: ret
define void @known_exits(ptr %p, i64 %n) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %is_wanted = icmp eq i64 %i, %n
  br i1 %is_wanted, label %end, label %latch
latch:
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  store i64 1, ptr %at, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 100
  br i1 %done, label %end, label %loop
end:
  ret void
}

; An inner loop that leaves both: the rows are counted on every way out. It is finite, so the
; rows can be checked as a whole.
; CHECK-LABEL: define void @leaves_both
; CHECK: outer:
; CHECK: %[[LINE:.*]] = getelementptr i8, ptr %p
; CHECK: found:
; CHECK-DAG: phi i64 [ %column, %{{.*}} ]
; CHECK-DAG: phi i64 [ %row, %{{.*}} ]
; CHECK-DAG: call {{.*}} @__deadheat_after_range(ptr %q
; CHECK-DAG: call {{.*}} @__deadheat_after_range(ptr %[[LINE]]
; CHECK: ret
define void @leaves_both(ptr %p, ptr %q, i64 %n) sanitize_thread {
entry:
  br label %outer
outer:
  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.latch ]
  %line = getelementptr inbounds [100 x i64], ptr %p, i64 %row
  %name = getelementptr inbounds i64, ptr %q, i64 %row
  %wanted = load i64, ptr %name, align 8
  br label %inner
inner:
  %column = phi i64 [ 0, %outer ], [ %column.next, %inner.latch ]
  %at = getelementptr inbounds i64, ptr %line, i64 %column
  %value = load i64, ptr %at, align 8
  %is_found = icmp eq i64 %value, %wanted
  br i1 %is_found, label %found, label %inner.latch
inner.latch:
  %column.next = add nuw nsw i64 %column, 1
  %column.done = icmp eq i64 %column.next, 100
  br i1 %column.done, label %outer.latch, label %inner
outer.latch:
  %row.next = add nuw nsw i64 %row, 1
  %row.done = icmp eq i64 %row.next, %n
  br i1 %row.done, label %end, label %outer
found:
  br label %end
end:
  ret void
}

; CHECK-LABEL: define void @few_iterations
; CHECK-NOT: __deadheat_
; CHECK: ret
define void @few_iterations(ptr %p) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  %value = load i64, ptr %at, align 8
  %is_wanted = icmp eq i64 %value, 0
  br i1 %is_wanted, label %end, label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 10
  br i1 %done, label %end, label %loop
end:
  ret void
}
