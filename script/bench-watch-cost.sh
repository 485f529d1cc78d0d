# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The parts watch-cost and watch-servers of script/bench-watch.sh, which sources this: what `deadheat watch` costs
# programs of Debian as they are.
#
# Two runs of the same command differ by several percent, on a machine that others use by ten. So the ways that are
# compared (unwatched, unwatched once more, watched) run at the same time, but only one of them at any moment, in turns
# of some milliseconds (bench/programs/in_turns.cpp). A round is one run of each. Each round has its ratio to the first
# way; the table has the median of them and an interval that holds the true median in 95 of 100 cases: between two of
# the sorted ratios, by the binomial distribution. The second unwatched way shows what can be told apart.

readonly turn_ms=40
# Of three ways each has its turn for a third of the time. Rates are by the clock, which goes on.
watches_of() { echo $((($1 + 1) / 3)); }

build_in_turns() { g++ -std=c++20 -O2 bench/programs/in_turns.cpp -o "$results/in_turns"; }

# A directory in memory, so that no disk has a part in what is measured.
make_scratch() { mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "$results")" deadheat-bench.XXXXXX; }

# one_round NUMBER NAME FILE LABEL=COMMAND...: adds "NAME NUMBER LABEL CPU ELAPSED STATUS" of each to the file. Another
# one begins each time.
one_round() {
  local number="$1" name="$2" file="$3" ways=() at=0 cpu elapsed status
  shift 3
  ways=("${@:1 + number % $#}" "${@:1:number % $#}")
  while read -r cpu elapsed status; do
    echo "$name $number ${ways[at]%%=*} $cpu $elapsed $status" >>"$file"
    at=$((at + 1))
  done < <("$results/in_turns" "$turn_ms" "${ways[@]#*=}")
}

# compare_ways FILE: rows of a table from what one_round has written; the first way of a name is what the others are
# compared to, and has no row.
compare_ways() {
  awk '
    function sort(values, number,    at, other, kept) {
      for (at = 2; at <= number; ++at) {
        kept = values[at]
        for (other = at - 1; other >= 1 && values[other] > kept; --other) values[other + 1] = values[other]
        values[other + 1] = kept
      }
    }
    function median(values, number) {
      sort(values, number)
      return number % 2 ? values[(number + 1) / 2] : (values[number / 2] + values[number / 2 + 1]) / 2
    }
    # How many of the sorted values are left out at each end.
    function left_out(number,    term, sum, count) {
      term = 0.5 ^ number
      for (count = 0; 2 * (sum + term) <= 0.05; ++count) {
        sum += term
        term *= (number - count) / (count + 1)
      }
      return count > 0 ? count - 1 : 0
    }
    # "+1.2% (+0.8 to +1.5)" of a column, over the first way of the same round.
    function compared(name, label, column,    values, number, round, middle, out) {
      for (round = 0; round < rounds[name]; ++round) {
        if (!((name, round, label) in seen) || !((name, round, first[name]) in seen)) continue
        values[++number] = 100 * (figure[name, round, label, column] / figure[name, round, first[name], column] - 1)
      }
      middle = median(values, number)
      out = left_out(number)
      return sprintf("%+.1f%% (%+.1f to %+.1f)", middle, values[1 + out], values[number - out])
    }
    function typical(name, label, column,    values, number, round) {
      for (round = 0; round < rounds[name]; ++round) {
        if ((name, round, label) in seen) values[++number] = figure[name, round, label, column]
      }
      return median(values, number)
    }
    {
      if (!($1 in rounds)) names[++name_count] = $1
      if (!($1 in first)) first[$1] = "plain"
      if ($2 + 1 > rounds[$1]) rounds[$1] = $2 + 1
      if (!(($1, $3) in known)) { known[$1, $3] = 1; labels[$1] = labels[$1] " " $3 }
      if ($6 != 0) { failed[$1, $3] = 1; next }
      seen[$1, $2, $3] = 1
      figure[$1, $2, $3, 1] = $4
      figure[$1, $2, $3, 2] = $5
    } END {
      for (n = 1; n <= name_count; ++n) {
        name = names[n]
        count = split("plain again 10 100 1000 watched", order, " ")
        for (o = 1; o <= count; ++o) {
          label = order[o]
          if (!((name, label) in known)) continue
          if (label == first[name]) {
            printf "| %s | %s | %.2f | | %.2f | | |\n", name, label, typical(name, label, 1), typical(name, label, 2)
            continue
          }
          printf "| %s | %s | %.2f | %s | %.2f | %s | %s |\n", name, label, typical(name, label, 1),
            compared(name, label, 1), typical(name, label, 2), compared(name, label, 2),
            ((name, label) in failed) ? "DIFFERENT" : "as unwatched"
        }
      }
    }' "$1"
}

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
    for label in "${labels[@]}"; do
      if ! cmp -s "$scratch/plain.out" "$scratch/$label.out"; then echo "$name $round $label 0 0 1" >>"$file"; fi
    done
  done
}

# start_cost PROGRAM...: milliseconds that a run with nothing to do takes, elapsed and of CPU time, without and with the
# command; medians.
start_cost() {
  local try way TIMEFORMAT='%3R %3U %3S'
  for ((try = 0; try < 15; ++try)); do
    for way in plain watched; do
      echo "$way $({ time if [[ "$way" == plain ]]; then "$@"; else "$deadheat" watch -q -- "$@"; fi >/dev/null 2>&1; } 2>&1)"
    done
  done | sort -k1,1 -k2,2n | awk '
    { number[$1] += 1; elapsed[$1, number[$1]] = $2; cpu[$1] += $3 + $4 }
    END {
      printf "%.0f ms elapsed and %.0f ms of CPU time, watched %.0f and %.0f", 1000 * elapsed["plain", 8],
        1000 * cpu["plain"] / 15, 1000 * elapsed["watched", 8], 1000 * cpu["watched"] / 15
    }'
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
    compare_ways "$results/watch.costs"
    printf '\nRuns with nothing to do: pbzip2 %s; pigz %s.\n' "$(start_cost pbzip2 -p2 -c -k "$scratch/little")" \
      "$(start_cost pigz -p2 -c -k "$scratch/little")"
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

# Until the command succeeds; some seconds at most.
wait_until() {
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  die "waited in vain: $*"
}
has_ended() { ! readlink "/proc/$1/exe"; } # also if nobody has waited for it

# Servers of one thread have one processor and who makes requests another one: where the system puts them makes more of a
# difference than what is measured. on_processor NUMBER: words that begin such a command.
on_processor() { if ((cores > 1)); then echo "taskset -c $1"; fi; }

# Servers: start_NAME PORT prints the process to be watched, load_NAME PORT the command that makes requests,
# stop_NAME PORT ends it.
start_redis() {
  local port="$1" file="$repository_root/$results/redis-$1.pid"
  # shellcheck disable=SC2046
  $(on_processor 0) redis-server --port "$port" --bind 127.0.0.1 --save "" --daemonize yes --dir "$results" --logfile redis.log --pidfile "$file" >/dev/null
  wait_until test -s "$file"
  cat "$file"
}
load_redis() { echo "$(on_processor 1) redis-benchmark -p $1 -c 20 -n $watch_requests -t get -q >/dev/null 2>&1"; }
stop_redis() { redis-cli -p "$1" shutdown nosave >/dev/null || true; }

start_memcached() {
  local file="$repository_root/$results/memcached-$1.pid"
  rm -f "$file"
  memcached -d -u "$(id -un)" -t 2 -l 127.0.0.1 -p "$1" -P "$file"
  wait_until test -s "$file"
  cat "$file"
}
load_memcached() {
  echo "memcslap --servers=127.0.0.1:$1 --concurrency=8 --execute-number=$((watch_requests / 12)) --test=set >/dev/null 2>&1"
}
stop_memcached() { kill "$(cat "$results/memcached-$1.pid")"; }

start_nginx() {
  local place="$repository_root/$results/nginx-$1"
  mkdir -p "$place"
  head -c 1000 docs/watching.md >"$place/page.html"
  cat >"$place/conf" <<CONF
worker_processes 1;
pid $place/pid;
error_log $place/errors;
events { worker_connections 256; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path $place/body;
  proxy_temp_path $place/proxy;
  fastcgi_temp_path $place/fastcgi;
  uwsgi_temp_path $place/uwsgi;
  scgi_temp_path $place/scgi;
  server { listen 127.0.0.1:$1; root $place; }
}
CONF
  rm -f "$place/pid"
  # shellcheck disable=SC2046
  $(on_processor 0) nginx -c "$place/conf" 2>/dev/null
  wait_until test -s "$place/pid"
  wait_until pgrep -P "$(cat "$place/pid")"
  pgrep -P "$(cat "$place/pid")" | head -n 1
}
load_nginx() { echo "$(on_processor 1) ab -q -k -c 16 -n $watch_requests http://127.0.0.1:$1/page.html >/dev/null 2>&1"; }
stop_nginx() { kill "$(cat "$results/nginx-$1/pid")"; }

memory_of() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }

# Also those that are stopped.
end_processes() {
  local process
  for process in "$@"; do
    kill -CONT "$process" 2>/dev/null || true
    kill "$process" 2>/dev/null || true
  done
}

# measure_server ROUNDS FILE NAME: fresh servers in each round, one of which is attached to.
measure_server() {
  local rounds="$1" file="$2" name="$3" round at port process watcher before label ways processes ports=(7391 7392 7393)
  for ((round = 0; round < rounds; ++round)); do
    ways=() processes=() watcher="" at=0
    for label in plain again watched; do
      port="${ports[(at + round) % 3]}" at=$((at + 1))
      process="$("start_$name" "$port")"
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
      ways+=("$label=@$process:$("load_$name" "$port")")
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
  local -A needs=([redis]="redis-server redis-benchmark redis-cli" [memcached]="memcached memcslap" [nginx]="nginx ab")
  if [[ "$quick" == yes ]]; then rounds=2 watch_requests=30000; fi
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
    compare_ways "$results/watch.servers"
    printf '\nMemory that the agent took (Pss), MB at most:'
    awk '$2 > most[$1] { most[$1] = $2 } END { for (name in most) printf " %s %.1f;", name, most[name] / 1024; print "" }' "$results/watch.servers.memory"
  } | tee "$results/watch-servers.md"
  replace_section watch-servers "$results/watch-servers.md"
}
