; PASSES: function(deadheat)
; Atomic operations of code that runs without checks: not seen by the pass that makes calls of
; hooks of all others. Those that read and write are marked.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; A function that has nothing to check has one version, and its operations have two.
; CHECK-LABEL: define i32 @ticket
; CHECK: %[[BEFORE:.*]] = load volatile i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 9)
; CHECK: store volatile i64 %{{.*}}, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 9)
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: %[[WORD:.*]] = load volatile i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 8)
; CHECK-NEXT: %[[IS:.*]] = icmp ne i64 %[[WORD]], 0
; CHECK-NEXT: br i1 %[[IS]], label %[[UNSEEN:.*]], label %[[SEEN:[^,]*]]
; CHECK: [[UNSEEN]]:
; CHECK-NEXT: %[[FIRST:.*]] = atomicrmw add ptr %at, i32 1 acq_rel, align 4, !nosanitize
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: store volatile i64 %[[BEFORE]], ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 9)
; CHECK: [[SEEN]]:
; CHECK-NEXT: store volatile i64 %[[BEFORE]], ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 9)
; CHECK-NEXT: %[[SECOND:.*]] = atomicrmw add ptr %at, i32 1 acq_rel, align 4{{$}}
; CHECK: phi i32 [ %[[FIRST]], %[[UNSEEN]] ], [ %[[SECOND]], %[[SEEN]] ]
define i32 @ticket(ptr %at) sanitize_thread {
  %number = atomicrmw add ptr %at, i32 1 acq_rel, align 4
  ret i32 %number
}

; A load is asked about when it was made, and cannot be overtaken by the question.
; CHECK-LABEL: define i32 @look
; CHECK-NOT: i64 9)
; CHECK: %[[FIRST:.*]] = load atomic i32, ptr %at acquire, align 4, !nosanitize
; CHECK-NEXT: %[[WORD:.*]] = load volatile i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 8)
; CHECK: br i1 %{{.*}}, label %[[SEEN:.*]], label %[[AFTER:[^,]*]]
; CHECK: [[SEEN]]:
; CHECK-NEXT: %[[SECOND:.*]] = load atomic i32, ptr %at monotonic, align 4{{$}}
; CHECK: [[AFTER]]:
; CHECK-NEXT: phi i32 [ %[[FIRST]], %{{.*}} ], [ %[[SECOND]], %[[SEEN]] ]
; CHECK: {{^}}}
define i32 @look(ptr %at) sanitize_thread {
  %number = load atomic i32, ptr %at monotonic, align 4
  ret i32 %number
}

; A store is asked about before it is made.
; CHECK-LABEL: define void @give
; CHECK-NOT: i64 9)
; CHECK: %[[WORD:.*]] = load volatile i64, ptr getelementptr inbounds ([11 x i64], ptr @__deadheat_thread, i64 0, i64 8)
; CHECK-NEXT: %[[IS:.*]] = icmp ne i64 %[[WORD]], 0
; CHECK-NEXT: br i1 %[[IS]], label %[[UNSEEN:.*]], label %[[SEEN:[^,]*]]
; CHECK: [[UNSEEN]]:
; CHECK-NEXT: store atomic i32 1, ptr %at release, align 4, !nosanitize
; CHECK: [[SEEN]]:
; CHECK-NEXT: store atomic i32 1, ptr %at release, align 4{{$}}
; CHECK: {{^}}}
define void @give(ptr %at) sanitize_thread {
  store atomic i32 1, ptr %at release, align 4
  ret void
}

; In a function of two versions those of the one with checks stay as they are.
; CHECK-LABEL: define i32 @publish
; CHECK: store atomic i32 1, ptr %flag release, align 4{{$}}
; CHECK: store atomic i32 1, ptr %flag release, align 4, !nosanitize
; CHECK: store atomic i32 1, ptr %flag release, align 4{{$}}
; CHECK-NOT: store atomic
; CHECK: {{^}}}
define i32 @publish(ptr %data, ptr %flag) sanitize_thread {
  store i32 7, ptr %data, align 4
  store atomic i32 1, ptr %flag release, align 4
  ret i32 0
}

; Two words at once have no instruction that does nothing else, and what only handlers of signals
; see is not order.
; CHECK-LABEL: define void @others
; CHECK-NOT: i64 9)
; CHECK: {{^}}}
define void @others(ptr %at) sanitize_thread {
  %wide = load atomic i128, ptr %at monotonic, align 16
  store atomic i32 1, ptr %at syncscope("singlethread") release, align 4
  ret void
}
