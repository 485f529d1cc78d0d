; PASSES: deadheat-announce
; Code of the pass says that it is there, before any of it runs.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @deadheat.module_ctor, ptr null }]
; CHECK: define internal void @deadheat.module_ctor()
; CHECK: call void @__deadheat_inline_frames()
define void @some() {
  ret void
}
