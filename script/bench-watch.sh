# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `watch` of script/bench, which sources this: `deadheat watch` on programs as they are.
#
#   watch-clean    lock-free programs without races: a minute each
#   watch-found    seeded races by method and by time between calls of synchronisation
#   watch-cost     pbzip2 and pigz with and without; by rate (script/bench-watch-cost.sh)
#   watch-servers  redis, memcached and nginx likewise
#   watch-attach   a redis under load that is attached to and left again
#   watch-stress   tens of thousands of traps
#
# `watch` is all of them. Cost and attaching need a quiet machine. Programs of Debian that are not installed are
# left out with a line.

# shellcheck source=script/bench-watch-cost.sh
source script/bench-watch-cost.sh

measure_watch() {
  measure_watch_clean
  measure_watch_found
  measure_watch_cost
  measure_watch_servers
  measure_watch_attach
  measure_watch_stress
}

# A line of the number that comes before the words in a file, 0 if there is none.
number_before() { grep -oE "[0-9][0-9,]* $1" "$2" | head -n 1 | cut -d' ' -f1 | tr -d , | grep . || echo 0; }

# Two at a time: more of them would hardly run at the same time as their own threads.
measure_watch_clean() {
  local seconds=60 name what=(ring publish ping-pong seqlock hazard)
  if [[ "$quick" == yes ]]; then seconds=3; fi
  say "watch: lock-free programs without races"
  g++ -std=c++20 -O2 -g -pthread bench/programs/watch_lockfree.cpp -o "$results/watch_lockfree"
  for name in "${what[@]}"; do
    "$deadheat" watch "$results/watch_lockfree" "$name" "$seconds" >"$results/watch-$name.out" 2>"$results/watch-$name.err" &
    if (($(jobs -rp | wc -l) == 2)); then wait -n || true; fi
  done
  wait
  {
    echo "| program | seconds | looks | stops | races reported | suspects | output |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for name in "${what[@]}"; do
      printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$seconds" \
        "$(number_before 'looks?' "$results/watch-$name.err")" "$(number_before 'stops?' "$results/watch-$name.err")" \
        "$(number_before 'data races?' "$results/watch-$name.err")" \
        "$(grep -c 'suspect, not' "$results/watch-$name.err" || true)" "$(cat "$results/watch-$name.out")"
    done
  } | tee "$results/watch-clean.md"
  replace_section watch-clean "$results/watch-clean.md"
}

build_seeded() {
  local race compiler debug
  for race in 1 2 3; do
    for compiler in g++ clang++-19; do
      for debug in g g0; do
        "$compiler" -std=c++20 -O2 "-$debug" -pthread "-DRACE=$race" bench/programs/watch_seeded.cpp \
          -o "$results/watch_seeded_${race}_${compiler%%+*}_$debug"
      done
    done
  done
}

measure_watch_found() {
  local seconds=1.5 method pause binary found total looks
  if [[ "$quick" == yes ]]; then seconds=0.5; fi
  say "watch: seeded races"
  build_seeded
  rm -f "$results"/watch-found-*.spent
  {
    echo "| time between locks | clock (suspected) | collide | confirm | binaries |"
    echo "| ---: | ---: | ---: | ---: | ---: |"
    for pause in 5 1000 5000 0; do
      printf '| %s |' "$([[ $pause == 0 ]] && echo 'no locks' || echo "$pause us")"
      for method in clock collide confirm; do
        found=0 total=0
        for binary in "$results"/watch_seeded_?_*_g "$results"/watch_seeded_?_*_g0; do
          total=$((total + 1))
          "$deadheat" watch --method "$method" --seed "$total" "$binary" "$pause" "$seconds" >/dev/null 2>"$results/watch.err" || true
          looks="$(number_before 'data races?' "$results/watch.err")"
          if [[ "$method" == clock ]]; then looks="$(grep -c 'suspect, not' "$results/watch.err" || true)"; fi
          if ((looks > 0)); then found=$((found + 1)); fi
          grep -oE 'stops [0-9.]+% of|processor time [0-9.]+% of' "$results/watch.err" >>"$results/watch-found-$method.spent" || true
        done
        printf ' %s |' "$found"
      done
      printf ' %s |\n' "$total"
    done
    printf '\nBinaries: three races, built by g++ and clang++ with -O2, with and without -g. Each ran for %s s with four threads\n' "$seconds"
    printf 'on %s cores (load average %s), at the default budget, and touches the racing variable every 100 us in each thread.\n' "$cores" \
      "$(cut -d' ' -f1 /proc/loadavg)"
    printf '\nSpent on average, of the time of threads in stops and of the processor time, by the account of the agent:'
    for method in clock collide confirm; do
      awk -v method="$method" '
        { share = substr($(NF - 1), 1) + 0 }
        /^stops/ { stops += share; ++runs }
        /^processor/ { processor += share }
        END { if (runs) printf " %s %.1f%% and %.1f%%;", method, stops / runs, processor / runs }' "$results/watch-found-$method.spent"
    done
    echo
  } | tee "$results/watch-found.md"
  replace_section watch-found "$results/watch-found.md"
}

commands_of_redis() { redis-cli -p 7391 info stats | awk -F: '/total_commands_processed/ { printf "%d", $2 }'; }

measure_watch_attach() {
  local seconds=30 process load first second third fourth began between verdict maps
  if [[ "$quick" == yes ]]; then seconds=3; fi
  if ! has_programs redis-server redis-benchmark; then return; fi
  say "watch: attaching to a redis under load"
  process="$(start_redis 7391)"
  redis-benchmark -p 7391 -c 20 -n 100000000 -t get,set -q >"$results/redis-load.txt" 2>&1 &
  load=$!
  sleep 2
  # Threads that redis starts late, and its allocator's memory, are there by now.
  cp "/proc/$process/maps" "$results/maps-before.txt"
  first="$(commands_of_redis)"
  sleep 8
  second="$(commands_of_redis)"
  began="$(date +%s.%N)"
  "$deadheat" watch --duration "${seconds}s" --pid "$process" 2>"$results/watch.err" || true
  between="$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')"
  third="$(commands_of_redis)"
  cp "/proc/$process/maps" "$results/maps-after.txt"
  sleep 8
  fourth="$(commands_of_redis)"
  verdict="none failed"
  if ! kill -0 "$load" 2>/dev/null; then verdict="the load ended: $(tail -c 200 "$results/redis-load.txt")"; fi
  kill "$load" 2>/dev/null || true
  wait "$load" 2>/dev/null || true
  maps="$(cmp -s "$results/maps-before.txt" "$results/maps-after.txt" && echo "identical" || echo "differ")"
  verdict+="; error replies: $(redis-cli -p 7391 info stats | awk -F: '/total_error_replies/ { printf "%d", $2 }')"
  redis-cli -p 7391 shutdown nosave || true
  {
    echo "| | before | attached for $seconds s | after |"
    echo "| --- | ---: | ---: | ---: |"
    awk -v a="$first" -v b="$second" -v c="$third" -v d="$fourth" -v t="$between" \
      'BEGIN { printf "| requests per second | %.0f | %.0f | %.0f |\n", (b - a) / 8, (c - b) / t, (d - c) / 8 }'
    printf '\nLoad average meanwhile: %s.\n' "$(cut -d' ' -f1 /proc/loadavg)"
    printf 'Requests: %s. Memory maps of the process before and after: %s.\n' "$verdict" "$maps"
    printf 'What it said: %s\n' "$(grep -m 1 'watched for' "$results/watch.err" | sed 's/^deadheat: //')"
  } | tee "$results/watch-attach.md"
  replace_section watch-attach "$results/watch-attach.md"
}

measure_watch_stress() {
  local repeat=3
  say "watch: many traps"
  if [[ ! -x "$build/bin/deadheat_watch_agent_test" ]]; then
    say "watch: deadheat_watch_agent_test was not built: left out"
    return
  fi
  "$build/bin/deadheat_watch_agent_test" --gtest_filter='*TenThousandsOfTrapsChangeNothing' --gtest_repeat="$repeat" \
    >"$results/watch-stress.txt" 2>&1 || true
  {
    awk '/hits [0-9]+/ { match($0, /hits [0-9]+/); hits += substr($0, RSTART + 5, RLENGTH - 5) }
      /\[       OK \]/ { ++good } /\[  FAILED  \] Watch/ { ++bad }
      END { printf "%d traps in %d runs with 8 threads; output as without the agent in %d of them.\n", hits, good + bad, good }' \
      "$results/watch-stress.txt"
  } | tee "$results/watch-stress.md"
  replace_section watch-stress "$results/watch-stress.md"
}
