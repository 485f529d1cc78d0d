# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Part of script/bench: what replay rebuilds from samples of stepped programs, and which races it finds.
# Figures of time aside they do not depend on the machine.

measure_replay() {
  local recovery=(--limit 560000) bugs=(--traces 100) cases=500000
  if [[ "$quick" == yes ]]; then recovery=(--limit 20000) && bugs=(--traces 2) && cases=5000; fi
  say "replay: every rebuilt address against the true one; accesses per sample"
  "$build/bin/deadheat_bench_replay" recovery "${recovery[@]}" | tee "$results/replay-recovery.md"
  replace_section replay-recovery "$results/replay-recovery.md"
  say "replay: races found"
  "$build/bin/deadheat_bench_replay" bugs "${bugs[@]}" | tee "$results/replay-bugs.md"
  replace_section replay-bugs "$results/replay-bugs.md"
  say "replay: the interpreter against Unicorn"
  # Two processes: each makes some 800 cases a second.
  local at jobs=() parts=2
  for ((at = 1; at <= parts; ++at)); do
    DEADHEAT_REPLAY_CASES="$((cases / parts))" DEADHEAT_REPLAY_SEED="$at" "$build/bin/deadheat_replay_test" \
      --gtest_filter='InterpreterOracle.*' >"$results/replay-oracle.$at.txt" &
    jobs+=("$!")
  done
  for at in "${jobs[@]}"; do
    wait "$at" || die "the interpreter is wrong: see $results/replay-oracle.*.txt"
  done
  grep -h cases "$results"/replay-oracle.[0-9].txt | sed 's/^/- /' | tee "$results/replay-oracle.md"
  replace_section replay-oracle "$results/replay-oracle.md"
}
