# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The parts watch-cost and watch-servers of script/bench-watch.sh, which sources this: what `deadheat watch` costs
# programs of Debian as they are.
# The ways run in turns (script/bench-turns.sh).

# Of three ways each has its turn for a third of the time. Rates are by the clock, which goes on.
watches_of() { echo $((($1 + 1) / 3)); }

# compress_command LABEL SCRATCH PROGRAM...: what one_round is to run. It succeeds if the output is as expected.
compress_command() {
  local label="$1" scratch="$2" prefix=""
  shift 2
  case "$label" in
    plain | again) ;;
    *) prefix="$(printf '%q ' "$deadheat" watch -q --watches "$(watches_of "$label")" --)" ;;
  esac
  echo "$label=$prefix$* >$scratch/$label.out 2>/dev/null"
}

# measure_compressor ROUNDS FILE SCRATCH NAME PROGRAM...: in each round unwatched, once more, and at the default; in every second
# one after that also at other rates.
measure_compressor() {
  local rounds="$1" file="$2" scratch="$3" name="$4" round labels label ways
  shift 4
  for ((round = 0; round < rounds + rounds / 2; ++round)); do
    labels=(plain again 100)
    if ((round >= rounds)); then labels=(plain 10 1000); fi
    ways=()
    for label in "${labels[@]}"; do ways+=("$(compress_command "$label" "$scratch" "$@")"); done
    one_round "$round" "$name" "$file" "${ways[@]}"
    check_outputs "$round" "$name" "$file" "$scratch" "${labels[@]}"
  done
}

# highest_memory WAY COMMAND...: kilobytes that the program had resident at most.
highest_memory() {
  local way="$1" prefix=() process="" seen=0 now job
  shift
  if [[ "$way" != plain ]]; then prefix=("$deadheat" watch -q --watches "$way" --); fi
  "${prefix[@]}" "$@" >/dev/null 2>&1 &
  job=$!
  if [[ "$way" == plain ]]; then process="$job"; fi
  while kill -0 "$job" 2>/dev/null; do
    if [[ -z "$process" ]]; then process="$(pgrep -P "$job" -x "$1" | head -n 1 || true)"; fi
    now="$(awk '/^VmHWM:/ { print $2 }' "/proc/${process:-none}/status" 2>/dev/null || true)"
    if ((${now:-0} > seen)); then seen="$now"; fi
    sleep 0.02
  done
  wait "$job" 2>/dev/null || true
  echo "$seen"
}

# run_little PROGRAM [COMMAND...]
run_little() {
  local program="$1"
  shift
  "$@" "$program" -p2 -c -k "$scratch/little"
}

measure_watch_cost() {
  local rounds=9 megabytes=90 scratch data part
  if [[ "$quick" == yes ]]; then rounds=2 megabytes=6; fi
  if ! has_programs pbzip2 pigz; then return; fi
  say "watch: cost"
  build_in_turns
  scratch="$(make_scratch)"
  data="$scratch/data"
  # Text and code that compress as such do.
  for ((part = 0; part * 6 < megabytes; ++part)); do
    cat "$build/bin/deadheat" docs/*.md src/*/*.cpp | head -c 6000000
  done >"$data"
  head -c 100 "$data" >"$scratch/little"
  rm -f "$results/watch.costs"
  measure_compressor "$rounds" "$results/watch.costs" "$scratch" pbzip2 pbzip2 -p2 -c -k "$data"
  measure_compressor "$rounds" "$results/watch.costs" "$scratch" pigz pigz -p2 -c -k "$data" "$data" "$data"
  {
    printf 'Measured on: %s; load average %s. Whole commands in turns of %s ms: CPU time and elapsed time with the start of the\n' "$(machine)" \
      "$(cut -d' ' -f1 /proc/loadavg)" "$turn_ms"
    printf 'agent and of the command. Medians; against plain: the median of the ratios of %s rounds (of %s at 10 and 1000 watches a second)\n' "$rounds" "$((rounds / 2))"
    printf 'and its interval of 95%% (of fewer than six: all of them). "again" is the unwatched program once more; 100 is the default.\n\n'
    echo "| program | watches per second | CPU seconds | against plain | elapsed seconds | against plain | output |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    compare_ways "$results/watch.costs" "as unwatched"
    printf '\nRuns with nothing to do: pbzip2 %s; pigz %s.\n' "$(start_cost "run_little pbzip2" watched "$deadheat" watch -q --)" \
      "$(start_cost "run_little pigz" watched "$deadheat" watch -q --)"
    printf 'Memory that pbzip2 had resident at most: %s KB without, %s KB with the agent.\n' \
      "$(highest_memory plain pbzip2 -p2 -c -k "$data")" "$(highest_memory 100 pbzip2 -p2 -c -k "$data")"
    printf '\n![CPU time against watches per second](watch-cost.svg)\n'
  } | tee "$results/watch-cost.md"
  rm -rf "$scratch"
  replace_section watch-cost "$results/watch-cost.md"
  awk -F'|' '$3 ~ /^ *(10|100|1000) *$/ { split($5, part, "%"); print $2, $3 + 0, part[1] + 0 }' "$results/watch-cost.md" >"$results/watch-cost.dat"
  gnuplot <<'PLOT'
set terminal svg size 720,400 font "sans,13" background "white"
set output "build/bench/watch-cost.svg"
set title "deadheat watch: CPU time against an unwatched run"
set xlabel "watches per second that were asked for"
set ylabel "more CPU time, percent"
set logscale x
set xtics (10, 100, 1000)
set yrange [0:*]
set grid ytics
set key top left
plot for [program in "pbzip2 pigz"] \
  "< grep '^ *".program." ' build/bench/watch-cost.dat" using 2:3 with linespoints lw 2 pt 7 title program
PLOT
  publish_plot watch-cost.svg
}

memory_of() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }

# measure_server ROUNDS FILE NAME: fresh servers in each round, one of which is attached to.
measure_server() {
  local rounds="$1" file="$2" name="$3" round at port started process watcher before label ways processes ports=(7391 7392 7393)
  for ((round = 0; round < rounds; ++round)); do
    ways=() processes=() watcher="" at=0
    for label in plain again watched; do
      port="${ports[(at + round) % 3]}" at=$((at + 1))
      "start_$name" "$port"
      process="$started"
      processes+=("$process")
      # shellcheck disable=SC2064
      trap "end_processes ${processes[*]}" EXIT
      if [[ "$label" == watched ]]; then
        before="$(memory_of "$process")"
        "$deadheat" watch -q --watches "$(watches_of 100)" --duration 120s --pid "$process" >/dev/null 2>&1 &
        watcher=$!
        sleep 1 # attaching is not what is measured
        echo "$name $(($(memory_of "$process") - before))" >>"$file.memory"
      fi
      ways+=("$label=@$process:$("load_$name" "$port" "${requests[$name]}" "${test_of[$name]:-}")")
    done
    one_round "$round" "$name" "$file" "${ways[@]}"
    if ! kill -0 "$watcher" 2>/dev/null; then echo "$name $round watched 0 0 1" >>"$file"; fi
    kill -TERM "$watcher" 2>/dev/null || true
    wait "$watcher" || true
    for port in "${ports[@]}"; do "stop_$name" "$port"; done
    for process in "${processes[@]}"; do wait_until has_ended "$process"; done
    trap - EXIT
  done
}

measure_watch_servers() {
  local rounds=9 watch_requests=200000 name
  local -A requests test_of=([redis]=get [memcached]=set)
  local -A needs=([redis]="redis-server redis-benchmark redis-cli" [memcached]="memcached memcslap" [nginx]="nginx ab")
  if [[ "$quick" == yes ]]; then rounds=2 watch_requests=30000; fi
  requests=([redis]="$watch_requests" [memcached]="$((watch_requests * 2 / 3))" [nginx]="$watch_requests")
  say "watch: cost of servers that run already"
  build_in_turns
  rm -f "$results/watch.servers" "$results/watch.servers.memory"
  for name in redis memcached nginx; do
    # shellcheck disable=SC2086
    if has_programs ${needs[$name]}; then measure_server "$rounds" "$results/watch.servers" "$name"; fi
  done
  if [[ ! -s "$results/watch.servers" ]]; then return; fi
  {
    printf 'Servers that run already, likewise, at the default budget (load average %s): CPU time of the server and elapsed time of\n' "$(cut -d' ' -f1 /proc/loadavg)"
    printf 'the same %s requests (memcached: %s). redis and nginx work with one thread, on a processor of their own, memcached with two.\n\n' "$watch_requests" "$((watch_requests * 2 / 3))"
    echo "| server | | CPU seconds | against plain | elapsed seconds | against plain | requests |"
    echo "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    compare_ways "$results/watch.servers" "as unwatched"
    printf '\nMemory that the agent took (Pss), MB at most:'
    awk '$2 > most[$1] { most[$1] = $2 } END { for (name in most) printf " %s %.1f;", name, most[name] / 1024; print "" }' "$results/watch.servers.memory"
  } | tee "$results/watch-servers.md"
  replace_section watch-servers "$results/watch-servers.md"
}
