# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `watch` of script/bench, which sources this: `deadheat watch` on programs as they are.
#
#   watch-clean    lock-free programs without races: a minute each
#   watch-found    seeded races by method and by time between calls of synchronisation
#   watch-cost     pbzip2 and pigz with and without; by rate
#   watch-servers  redis and nginx likewise
#   watch-attach   a redis under load that is attached to and left again
#   watch-stress   tens of thousands of traps
#
# `watch` is all of them. Cost and attaching need a quiet machine. Programs of Debian that are not installed are
# left out with a line.

measure_watch() {
  measure_watch_clean
  measure_watch_found
  measure_watch_cost
  measure_watch_servers
  measure_watch_attach
  measure_watch_stress
}

# has_programs NAME...: whether all are installed; says which is not.
has_programs() {
  local name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then continue; fi
    say "watch: $name is not installed: left out"
    return 1
  done
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

# server_cost NAME PID LOAD...: requests per second of a running server and its CPU time for each, in turns without and with
# the agent; LOAD makes requests for some seconds and prints how many a second, and how many.
server_cost() {
  local name="$1" process="$2" way speed requests before after watcher rates=() costs=() turn turns=5 memory=0 more
  if [[ "$quick" == yes ]]; then turns=1; fi
  shift 2
  local -A rate=([plain]=0 [watched]=0) cost=([plain]=0 [watched]=0)
  for ((turn = 0; turn < turns; ++turn)); do
    for way in plain watched; do
      watcher=""
      if [[ "$way" == watched ]]; then
        "$deadheat" watch -q --duration 60s --pid "$process" >/dev/null 2>&1 &
        watcher=$!
        more="$(awk '/^Pss:/ { print $2 }' "/proc/$process/smaps_rollup")"
        sleep 2 # attaching is not what is measured
      fi
      before="$(awk '{ print $14 + $15 }' "/proc/$process/stat")"
      read -r speed requests < <("$@")
      after="$(awk '{ print $14 + $15 }' "/proc/$process/stat")"
      if [[ -n "$watcher" ]]; then
        more="$(awk -v before="$more" '/^Pss:/ { print $2 - before }' "/proc/$process/smaps_rollup")"
        if ((more > memory)); then memory="$more"; fi
        kill -TERM "$watcher"
        wait "$watcher" || true
      fi
      rates=("${rate[$way]}" "$speed") costs=("${cost[$way]}" "$before" "$after")
      rate[$way]="$(awk -v t="$turns" -v a="${rates[0]}" -v b="${rates[1]}" 'BEGIN { print a + b / t }')"
      cost[$way]="$(awk -v t="$turns" -v a="${costs[0]}" -v b="${costs[1]}" -v c="${costs[2]}" -v n="$requests" \
        'BEGIN { print a + (c - b) * 10000 / n / t }')"
    done
  done
  awk -v name="$name" -v a="${rate[plain]}" -v b="${rate[watched]}" -v c="${cost[plain]}" -v d="${cost[watched]}" -v m="$memory" \
    'BEGIN { printf "| %s | %.0f | %.0f | %+.1f%% | %.2f | %.2f | %+.1f%% | %.1f |\n", name, a, b, 100 * (b / a - 1), c, d, 100 * (d / c - 1), m / 1024 }'
}

redis_load() { redis-benchmark -p 7391 -c 20 -n 150000 -t get -q --csv 2>/dev/null | awk -F'"' '/GET/ { print $4, 150000 }'; }
nginx_load() {
  ab -q -k -c 16 -t 4 -n 10000000 http://127.0.0.1:7392/page.html 2>/dev/null |
    awk '/^Complete requests/ { total = $3 } /^Requests per second/ { print $4, total }'
}

start_redis() {
  redis-server --port 7391 --bind 127.0.0.1 --save "" --daemonize yes --dir "$results" --logfile redis.log --pidfile "$repository_root/$results/redis.pid"
  sleep 0.5
}

# own_cost WAY COMMAND...: "SECONDS ELAPSED SUM" of one run: CPU time of the program itself, without the command that
# decodes it before the start, the time that it took, and the checksum of its output. WAY is "plain" or a number of
# watches per second.
own_cost() {
  local way="$1" script prefix=()
  shift
  # shellcheck disable=SC2016
  script='begin=$EPOCHREALTIME; '"$(printf '%q ' "$@")"' | cksum; echo $begin $EPOCHREALTIME; times'
  if [[ "$way" != plain ]]; then prefix=("$deadheat" watch -q --watches "$way" --program "$(command -v "$1")" --); fi
  "${prefix[@]}" bash -c "$script" 2>/dev/null | awk '
    NR == 1 { sum = $1 }
    NR == 2 { elapsed = $2 - $1 }
    END { split($0, parts, /[ms ]+/); printf "%.3f %.3f %s\n", 60 * parts[1] + parts[2] + 60 * parts[3] + parts[4], elapsed, sum }'
}

# start_cost WAY PROGRAM: milliseconds of CPU time of a run with nothing to do, least of ten.
start_cost() {
  local try
  head -c 100 docs/watching.md >"$results/watch.little"
  for ((try = 0; try < 10; ++try)); do own_cost "$1" "$2" -p2 -c -k "$results/watch.little"; done |
    awk 'NR == 1 || $1 < least { least = $1 } END { printf "%.1f", 1000 * least }'
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
  local way round runs=8 megabytes=60 file="$results/watch.data" program ways
  if [[ "$quick" == yes ]]; then runs=1 megabytes=6; fi
  if ! has_programs pbzip2 pigz; then return; fi
  say "watch: cost"
  # Text that compresses as text does.
  for ((round = 0; round * 6 < megabytes; ++round)); do
    cat "$build/bin/deadheat" docs/*.md src/*/*.cpp | head -c 6000000
  done >"$file"
  for ((round = 0; round < runs; ++round)); do
    ways=(plain 10 100 1000)
    if ((round % 2)); then ways=(1000 100 10 plain); fi # what comes first has no advantage
    for program in pbzip2 pigz; do
      for way in "${ways[@]}"; do
        printf '%s %s %s\n' "$program" "$way" "$(own_cost "$way" "$program" -p2 -c -k "$file")"
      done
    done
  done >"$results/watch.costs"
  {
    printf 'Measured on: %s; load average %s. CPU time and elapsed time of the program with its agent, medians of %s runs in turn;\n' "$(machine)" \
      "$(cut -d' ' -f1 /proc/loadavg)" "$runs"
    printf 'in brackets what the least of the runs say.\n\n'
    echo "| program | watches per second | CPU seconds | against plain | elapsed seconds | against plain | output |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    awk '
      function median(values, number,    at, other, kept) {
        for (at = 2; at <= number; ++at) {
          kept = values[at]
          for (other = at - 1; other >= 1 && values[other] > kept; --other) values[other + 1] = values[other]
          values[other + 1] = kept
        }
        least = values[1]
        return number % 2 ? values[(number + 1) / 2] : (values[number / 2] + values[number / 2 + 1]) / 2
      }
      {
        key = $1 " " $2
        ++runs[key]
        cpu[key] = cpu[key] " " $3
        elapsed[key] = elapsed[key] " " $4
        sums[key] = sums[key] " " $5
        if ($2 == "plain") sum[$1] = $5
      } END {
        split("plain 10 100 1000", ways, " ")
        split("pbzip2 pigz", programs, " ")
        for (p = 1; p <= 2; ++p) for (w = 1; w <= 4; ++w) {
          key = programs[p] " " ways[w]
          number = split(cpu[key], values, " ")
          cpus = median(values, number); least_cpu = least
          split(elapsed[key], values, " ")
          times = median(values, number); least_time = least
          if (w == 1) { plain_cpu = cpus; plain_least_cpu = least_cpu; plain_time = times; plain_least_time = least_time }
          differs = 0
          split(sums[key], values, " ")
          for (at = 1; at <= number; ++at) if (values[at] != sum[programs[p]]) differs = 1
          more = 100 * (cpus / plain_cpu - 1)
          printf "| %s | %s | %.2f | %+.1f%% (%+.1f%%) | %.2f | %+.1f%% (%+.1f%%) | %s |\n", programs[p], ways[w], cpus, more,
            100 * (least_cpu / plain_least_cpu - 1), times, 100 * (times / plain_time - 1), 100 * (least_time / plain_least_time - 1),
            differs ? "DIFFERENT" : "identical"
          if (w > 1) print programs[p], ways[w], more >"build/bench/watch-cost.dat"
        }
      }' "$results/watch.costs"
    printf '\nTo start takes CPU time of its own, in milliseconds without and with the agent:'
    for program in pbzip2 pigz; do printf ' %s %s and %s;' "$program" "$(start_cost plain "$program")" "$(start_cost 100 "$program")"; done
    printf '\nmemory that pbzip2 had resident at most: %s KB without, %s KB with the agent.\n' \
      "$(highest_memory plain pbzip2 -p2 -c -k "$file")" "$(highest_memory 100 pbzip2 -p2 -c -k "$file")"
    printf '\n![CPU time against watches per second](watch-cost.svg)\n'
  } | tee "$results/watch-cost.md"
  replace_section watch-cost "$results/watch-cost.md"
  gnuplot <<'PLOT'
set terminal svg size 720,400 font "sans,13" background "white"
set output "build/bench/watch-cost.svg"
set title "deadheat watch: CPU time against an unwatched run"
set xlabel "watches per second that were asked for"
set ylabel "more CPU time, percent"
set logscale x
set xtics (10, 100, 1000)
set grid ytics
set key top left
plot for [program in "pbzip2 pigz"] \
  "< grep '^".program." ' build/bench/watch-cost.dat" using 2:3 with linespoints lw 2 pt 7 title program
PLOT
  publish_plot watch-cost.svg
}

measure_watch_servers() {
  if ! has_programs redis-server redis-benchmark; then return; fi
  say "watch: cost of servers that run already"
  {
    printf 'Servers that run already, in turns of some seconds without and with the agent at its default budget, five times each\n'
    printf '(load average %s). Memory: what the process had more (Pss) while the agent was in it.\n\n' "$(cut -d' ' -f1 /proc/loadavg)"
    echo "| server | requests/s | watched | | CPU us per request | watched | | memory, MB |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    start_redis
    server_cost redis "$(cat "$results/redis.pid")" redis_load
    redis-cli -p 7391 shutdown nosave >/dev/null || true
    if has_programs nginx ab >&2; then
      start_nginx
      server_cost nginx "$(pgrep -P "$(cat "$results/nginx/pid")" | head -n 1)" nginx_load
      kill "$(cat "$results/nginx/pid")"
    fi
  } | tee "$results/watch-servers.md"
  replace_section watch-servers "$results/watch-servers.md"
}

start_nginx() {
  mkdir -p "$results/nginx"
  head -c 1000 docs/watching.md >"$results/nginx/page.html"
  cat >"$results/nginx/conf" <<CONF
worker_processes 1;
pid $repository_root/$results/nginx/pid;
error_log $repository_root/$results/nginx/errors;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path $repository_root/$results/nginx/body;
  proxy_temp_path $repository_root/$results/nginx/proxy;
  fastcgi_temp_path $repository_root/$results/nginx/fastcgi;
  uwsgi_temp_path $repository_root/$results/nginx/uwsgi;
  scgi_temp_path $repository_root/$results/nginx/scgi;
  server { listen 127.0.0.1:7392; root $repository_root/$results/nginx; }
}
CONF
  nginx -c "$repository_root/$results/nginx/conf" 2>/dev/null
  sleep 0.5
}

commands_of_redis() { redis-cli -p 7391 info stats | awk -F: '/total_commands_processed/ { printf "%d", $2 }'; }

measure_watch_attach() {
  local seconds=30 process load first second third fourth began between verdict maps
  if [[ "$quick" == yes ]]; then seconds=3; fi
  if ! has_programs redis-server redis-benchmark; then return; fi
  say "watch: attaching to a redis under load"
  start_redis
  process="$(cat "$results/redis.pid")"
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
