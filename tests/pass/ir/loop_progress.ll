; PASSES: function(deadheat-hoist,deadheat)
; How far the program has got is counted alike in both versions, and costs nothing per iteration where there are
; no checks.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; With checks each iteration counts, also the last one. The other version counts when it is left for that one, and at
; its end, as much per iteration.
; CHECK-LABEL: define void @gather
; CHECK: load volatile i64
; CHECK: %[[A:.*]] = load i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK-NEXT: add i64 %[[A]], 7
; CHECK: [[CHANGE:[0-9]+]]:
; CHECK-NEXT: %[[B:.*]] = sub i64 %next.unchecked, %first
; CHECK-NEXT: mul i64 %[[B]], 7
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: br label %loop
; CHECK: br i1 %done, label %[[LAST:.*]], label
; CHECK: [[LAST]]:
; CHECK-NEXT: %[[C:.*]] = load i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK-NEXT: add i64 %[[C]], 7
; CHECK: br i1 %{{.*}}, label %loop.unchecked, label %[[CHANGE]]
; CHECK: loop.unchecked:
; CHECK-NOT: ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: end.unchecked:
; CHECK-NEXT: %[[D:.*]] = sub i64 %next.unchecked, %first
; CHECK-NEXT: mul i64 %[[D]], 7
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: {{^}}}
define void @gather(ptr %to, ptr %from, i64 %first, i64 %count) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %from, i64 %i
  %index = load i64, ptr %at, align 8
  %place = getelementptr inbounds i64, ptr %to, i64 %index
  store i64 1, ptr %place, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret void
}

; Checked as a whole: both versions count at the end. Eight bytes per iteration.
; CHECK-LABEL: define i64 @sum
; CHECK: %[[E:.*]] = ptrtoint ptr %next to i64
; CHECK-NEXT: %[[F:.*]] = sub i64 %[[E]], %{{.*}}
; CHECK-NEXT: lshr i64 %[[F]], 1
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: loop.unchecked:
; CHECK-NOT: ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: %[[G:.*]] = ptrtoint ptr %next.unchecked to i64
; CHECK-NEXT: %[[H:.*]] = sub i64 %[[G]], %{{.*}}
; CHECK-NEXT: lshr i64 %[[H]], 1
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: {{^}}}
define i64 @sum(ptr %from, ptr %end_of_all) sanitize_thread {
entry:
  br label %loop
loop:
  %at = phi ptr [ %from, %entry ], [ %next, %loop ]
  %total = phi i64 [ 0, %entry ], [ %more, %loop ]
  %value = load i64, ptr %at, align 8
  %more = add i64 %total, %value
  %next = getelementptr inbounds i8, ptr %at, i64 8
  %done = icmp eq ptr %next, %end_of_all
  br i1 %done, label %end, label %loop
end:
  ret i64 %more
}

; Loops in another one that are not as long each time do not count: at the function's entry and in
; each row, nowhere else.
; CHECK-LABEL: define void @rows
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: row:
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK-NOT: ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: {{^}}}
define void @rows(ptr %begins, ptr %to, i64 %count) sanitize_thread {
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %next_row, %row_end ]
  %begin_at = getelementptr inbounds i64, ptr %begins, i64 %r
  %begin = load i64, ptr %begin_at, align 8
  %end_at = getelementptr inbounds i8, ptr %begin_at, i64 8
  %end = load i64, ptr %end_at, align 8
  br label %loop
loop:
  %i = phi i64 [ %begin, %row ], [ %next, %loop ]
  %from = getelementptr inbounds i64, ptr %to, i64 %i
  %index = load i64, ptr %from, align 8
  %place = getelementptr inbounds i64, ptr %to, i64 %index
  store i64 1, ptr %place, align 8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %end
  br i1 %done, label %row_end, label %loop
row_end:
  %next_row = add nuw nsw i64 %r, 1
  %is_last = icmp eq i64 %next_row, %count
  br i1 %is_last, label %end_of_all, label %row
end_of_all:
  ret void
}

; With vectors they do: such a loop is expected to be long.
; CHECK-LABEL: define void @vector_rows
; CHECK: row:
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: sub i64 %next, %begin
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: {{^}}}
define void @vector_rows(ptr %begins, ptr %to, i64 %count) sanitize_thread {
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %next_row, %row_end ]
  %begin_at = getelementptr inbounds i64, ptr %begins, i64 %r
  %begin = load i64, ptr %begin_at, align 8
  %end_at = getelementptr inbounds i8, ptr %begin_at, i64 8
  %end = load i64, ptr %end_at, align 8
  br label %loop
loop:
  %i = phi i64 [ %begin, %row ], [ %next, %loop ]
  %place = getelementptr inbounds i64, ptr %to, i64 %i
  %two = load <2 x i64>, ptr %place, align 8
  %more = add <2 x i64> %two, <i64 1, i64 2>
  store <2 x i64> %more, ptr %place, align 8
  %next = add nuw nsw i64 %i, 2
  %done = icmp eq i64 %next, %end
  br i1 %done, label %row_end, label %loop
row_end:
  %next_row = add nuw nsw i64 %r, 1
  %is_last = icmp eq i64 %next_row, %count
  br i1 %is_last, label %end_of_all, label %row
end_of_all:
  ret void
}

; Loops without accesses: the outer one counts each time round, in both versions, the inner one is known to be short.
; CHECK-LABEL: define i64 @rounds(
; CHECK: outer:
; CHECK: store i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 10)
; CHECK: {{^}}}
define i64 @rounds(ptr %from, i64 %count) sanitize_thread {
entry:
  %first = load i64, ptr %from, align 8
  br label %outer
outer:
  %r = phi i64 [ 0, %entry ], [ %next_outer, %outer_end ]
  %sum = phi i64 [ %first, %entry ], [ %more, %outer_end ]
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %next, %inner ]
  %part = phi i64 [ %sum, %outer ], [ %more, %inner ]
  %more = mul i64 %part, 3
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 4
  br i1 %done, label %outer_end, label %inner
outer_end:
  %next_outer = add nuw nsw i64 %r, 1
  %is_last = icmp eq i64 %next_outer, %count
  br i1 %is_last, label %end, label %outer
end:
  ret i64 %more
}
