# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Part of script/bench: what replay rebuilds from samples of stepped programs, and which races it finds.
# Figures of time aside they do not depend on the machine.

# `replay` is the three parts replay-recovery, replay-bugs and replay-oracle.

measure_replay() {
  measure_replay_recovery
  measure_replay_bugs
  measure_replay_oracle
}

measure_replay_recovery() {
  local limit=560000
  if [[ "$quick" == yes ]]; then limit=20000; fi
  say "replay: every rebuilt address against the true one; accesses per sample"
  "$build/bin/deadheat_bench_replay" recovery --limit "$limit" | tee "$results/replay-recovery.md"
  replace_section replay-recovery "$results/replay-recovery.md"
}

measure_replay_bugs() {
  local traces=100
  if [[ "$quick" == yes ]]; then traces=2; fi
  say "replay: races found"
  "$build/bin/deadheat_bench_replay" bugs --traces "$traces" | tee "$results/replay-bugs.md"
  replace_section replay-bugs "$results/replay-bugs.md"
}

# Many short processes, because Unicorn itself dies of some instructions: such a process
# counts for nothing.
measure_replay_oracle() {
  local processes=110 each=5000 clean died
  if [[ "$quick" == yes ]]; then processes=4 each=1000; fi
  say "replay: the interpreter against Unicorn"
  rm -f "$results"/replay-oracle.*.txt
  # shellcheck disable=SC2016 # expanded by the inner shell
  seq 1 "$processes" | DEADHEAT_REPLAY_CASES="$each" xargs -P "$cores" -I{} bash -c '
    status=0
    DEADHEAT_REPLAY_SEED="$1" "$2" --gtest_filter="InterpreterOracle.*" >"$3.$1.txt" 2>&1 || status=$?
    echo "$1 $status"' _ {} "$build/bin/deadheat_replay_test" "$results/replay-oracle" >"$results/replay-oracle.status" \
    2>/dev/null
  if awk '$2 != 0 && $2 < 128 { bad = 1 } END { exit !bad }' "$results/replay-oracle.status"; then
    die "the interpreter is wrong: see $results/replay-oracle.*.txt"
  fi
  clean="$(awk '$2 == 0' "$results/replay-oracle.status" | wc -l)"
  died="$((processes - clean))"
  echo "$((clean * each)) cases, known and partly unknown, and no disagreement; $died of $processes processes of $each cases died in Unicorn." |
    tee "$results/replay-oracle.md"
  replace_section replay-oracle "$results/replay-oracle.md"
}
