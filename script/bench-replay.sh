# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Part of script/bench: what replay rebuilds from samples of stepped programs, and which races it finds.
# Figures of time aside they do not depend on the machine.

measure_replay() {
  local recovery=(--limit 480000) bugs=(--traces 100) cases=500000
  if [[ "$quick" == yes ]]; then recovery=(--limit 20000) && bugs=(--traces 2) && cases=5000; fi
  say "replay: every rebuilt address against the true one; accesses per sample"
  "$build/bin/deadheat_bench_replay" recovery "${recovery[@]}" | tee "$results/replay-recovery.md"
  replace_section replay-recovery "$results/replay-recovery.md"
  say "replay: races found"
  "$build/bin/deadheat_bench_replay" bugs "${bugs[@]}" | tee "$results/replay-bugs.md"
  replace_section replay-bugs "$results/replay-bugs.md"
  say "replay: the interpreter against Unicorn"
  DEADHEAT_REPLAY_CASES="$cases" "$build/bin/deadheat_replay_test" --gtest_filter='InterpreterOracle.*' >"$results/replay-oracle.txt" ||
    die "the interpreter is wrong: see $results/replay-oracle.txt"
  grep cases "$results/replay-oracle.txt" | tee "$results/replay-oracle.md"
  replace_section replay-oracle "$results/replay-oracle.md"
}
