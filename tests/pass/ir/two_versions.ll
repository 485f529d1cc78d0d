; PASSES: function(deadheat-hoist,deadheat)
; Two versions of a function: where they meet, and that one of them has no checks.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @sleep() nounwind

; An inner loop: the version without checks asks at the end of each iteration, that with
; checks never. It goes on with the node that the other one has come to.
; CHECK-LABEL: define i64 @list
; CHECK: entry:
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10), align 8
; CHECK-NEXT: %[[WORD:.*]] = load volatile i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 8)
; CHECK-NEXT: %[[IS:.*]] = icmp ne i64 %[[WORD]], 0
; CHECK-NEXT: br i1 %[[IS]], label %[[UNCHECKED:.*]], label
; CHECK: loop:
; CHECK-NEXT: %node = phi ptr [ %first, %{{.*}} ], [ %next, %{{.*}} ], [ %[[NEXT:next[^ ]*]], %{{.*}} ]
; CHECK: call preserve_mostcc void @__deadheat_leaf_read8
; CHECK: load volatile i64
; CHECK: br i1 %{{.*}}, label %loop.unchecked, label %loop
; CHECK: loop.unchecked:
; CHECK-NOT: __deadheat_leaf
; CHECK: {{^}}}
define i64 @list(ptr %first) sanitize_thread {
entry:
  br label %loop
loop:
  %node = phi ptr [ %first, %entry ], [ %next, %loop ]
  %next = load ptr, ptr %node, align 8
  %is_last = icmp eq ptr %next, null
  br i1 %is_last, label %end, label %loop
end:
  ret i64 0
}

; A loop that is checked as a whole asks nowhere, and the other version has no check.
; CHECK-LABEL: define i64 @sum
; CHECK: call void @__deadheat_range(ptr %from
; CHECK: loop.unchecked:
; CHECK-NOT: __deadheat_range
; CHECK-NOT: load volatile
; CHECK: br i1 %{{.*}}, label %{{.*}}, label %loop.unchecked
; CHECK-NOT: __deadheat_range
; CHECK: {{^}}}
define i64 @sum(ptr %from, i64 %count) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi i64 [ 0, %entry ], [ %more, %loop ]
  %at = getelementptr inbounds i64, ptr %from, i64 %i
  %value = load i64, ptr %at, align 8
  %more = add i64 %total, %value
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret i64 %more
}

; The thread may sleep in the call: the version without checks asks when it comes back.
; CHECK-LABEL: define i64 @after_call
; CHECK: call void @sleep()
; CHECK-NEXT: br label %[[CHECKED:.*]]
; CHECK: [[CHECKED]]:
; CHECK: call preserve_mostcc void @__deadheat_read8
; CHECK: call void @sleep()
; CHECK: load volatile i64
; CHECK: br i1 %{{.*}}, label %{{.*}}, label %[[CHECKED]]
; CHECK-NOT: __deadheat_read8
; CHECK: {{^}}}
define i64 @after_call(ptr %from) sanitize_thread {
  call void @sleep()
  %value = load i64, ptr %from, align 8
  ret i64 %value
}

; A loop around a call: one block for both, which goes on in either.
; CHECK-LABEL: define void @around_call
; CHECK: loop:
; CHECK-NEXT: %i = phi i64 [ 0, %{{.*}} ], [ %next, %{{.*}} ], [ %next.unchecked, %{{.*}} ], [ 0, %{{.*}} ]
; CHECK: load volatile i64
; CHECK-NEXT: icmp ne
; CHECK-NEXT: br i1 %{{.*}}, label %{{.*}}, label %{{.*}}
; CHECK: {{^}}}
define void @around_call(ptr %to, i64 %count) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %to, i64 %i
  store i64 %i, ptr %at, align 8
  call void @sleep()
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Nothing to check: one version.
; CHECK-LABEL: define i64 @nothing
; CHECK-NOT: load volatile
; CHECK: {{^}}}
define i64 @nothing(i64 %value) sanitize_thread {
  %more = add i64 %value, 1
  ret i64 %more
}
