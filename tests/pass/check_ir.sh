#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_ir.sh PLUGIN LLVM_BIN FILE.ll: sends the file through the passes that its line
# "; PASSES: ..." names and compares the result with its comments (FileCheck).
# "; OPTIONS: ..." has further options.
set -euo pipefail

plugin="$1" bin="$2" file="$3"
passes="$(sed -n 's/^; PASSES: //p' "$file")"
read -r -a options < <(sed -n 's/^; OPTIONS: //p' "$file") || true
"$bin/opt" -load="$plugin" -load-pass-plugin="$plugin" "${options[@]}" -passes="$passes" -S "$file" -o - |
  "$bin/FileCheck" "$file"
# What comes out must be correct IR, also for the code generator.
"$bin/opt" -load="$plugin" -load-pass-plugin="$plugin" "${options[@]}" -passes="$passes,verify" "$file" -o - |
  "$bin/llc" -O2 -filetype=null -o /dev/null -
