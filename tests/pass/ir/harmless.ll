; PASSES: function(deadheat)
; OPTIONS: --deadheat-level=plain
; What no other thread can have anything to do with, and what looks like it.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@constant = constant [4 x i64] zeroinitializer
@variable = global [4 x i64] zeroinitializer
declare void @consume(ptr)
declare noalias ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0)
declare void @free(ptr nocapture) allockind("free")

; CHECK-LABEL: define i64 @constants
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define i64 @constants(i64 %i) sanitize_thread {
  %p = getelementptr [4 x i64], ptr @constant, i64 0, i64 %i
  %value = load i64, ptr %p, align 8
  ret i64 %value
}

; CHECK-LABEL: define i64 @own_variable
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define i64 @own_variable(i64 %i) sanitize_thread {
  %array = alloca [4 x i64], align 8
  %p = getelementptr [4 x i64], ptr %array, i64 0, i64 %i
  store i64 1, ptr %p, align 8
  %value = load i64, ptr %array, align 8
  ret i64 %value
}

; The address of the whole is known to others, that of the field is only used here.
; CHECK-LABEL: define void @field_of_escaped
; CHECK: __deadheat_{{(leaf_)?}}write8
; CHECK: ret
define void @field_of_escaped() sanitize_thread {
  %array = alloca [4 x i64], align 8
  call void @consume(ptr %array)
  %field = getelementptr i8, ptr %array, i64 8
  store i64 1, ptr %field, align 8
  ret void
}

; CHECK-LABEL: define void @own_block
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define void @own_block() sanitize_thread {
  %block = call ptr @malloc(i64 8)
  store i64 1, ptr %block, align 8
  call void @free(ptr %block)
  ret void
}

; Published afterwards: who reads it races with the store.
; CHECK-LABEL: define void @published_block
; CHECK: __deadheat_{{(leaf_)?}}write8(ptr %block{{[0-9,)]}}
; CHECK: __deadheat_{{(leaf_)?}}write8(ptr @variable{{[,)]}}
define void @published_block() sanitize_thread {
  %block = call ptr @malloc(i64 8)
  store i64 1, ptr %block, align 8
  store ptr %block, ptr @variable, align 8
  ret void
}

; CHECK-LABEL: define void @not_for_us
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define void @not_for_us(ptr %p, ptr addrspace(256) %q) sanitize_thread {
  store i64 1, ptr %p, align 8, !nosanitize !0
  store i64 1, ptr addrspace(256) %q, align 8
  ret void
}

; CHECK-LABEL: define void @without_attribute
; CHECK-NOT: call {{.*}}@__{{tsan|deadheat}}_
; CHECK: ret
define void @without_attribute(ptr %p) {
  store i64 1, ptr %p, align 8
  ret void
}

!0 = !{}
