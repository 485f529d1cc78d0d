# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `record` of script/bench, which sources this: what recording costs, what a recording is
# worth, and how long its analysis takes. Needs pbzip2, redis and memcached (Debian: pbzip2 redis-server redis-tools
# memcached libmemcached-tools);
# what is not there is left out.

readonly record_work="$results/record"
# Environment variables of these names make other plans.
readonly record_rounds="${RECORD_ROUNDS:-5}"
readonly record_runs="${RECORD_RUNS:-10}"
readonly record_input="${RECORD_INPUT:-60M}"
readonly record_requests="${RECORD_REQUESTS:-100000}"

# cpu_seconds COMMAND...: user and system time of the command and all that it waits for.
cpu_seconds() {
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

# Of two times.
ratio_of() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b / a }'; }
least() { printf '%s\n' "$@" | sort -g | head -n 1; }

# cost_line NAME COUNT TIMES...: COUNT times alone, as many alone again, as many recorded. How far the second differ from
# the first is how much the machine does.
cost_line() {
  local name="$1" count="$2" alone again recorded
  shift 2
  alone="$(least "${@:1:count}")" again="$(least "${@:count+1:count}")" recorded="$(least "${@:2*count+1:count}")"
  echo "| $name | $alone | $again | $recorded | $(ratio_of "$(least "$alone" "$again")" "$recorded") |"
}

measure_pbzip2() {
  local rounds="$1" at plain=() again=() recorded=() input="$record_work/input"
  command -v pbzip2 >/dev/null || return 0
  tar cf "$input" /usr/include 2>/dev/null || true
  truncate -s "<$record_input" "$input"
  for ((at = 0; at < rounds; ++at)); do
    plain+=("$(cpu_seconds pbzip2 -k -c -p2 "$input")")
    again+=("$(cpu_seconds pbzip2 -k -c -p2 "$input")")
    recorded+=("$(cpu_seconds "$deadheat" record -q --hz 1000 -o "$record_work/pbzip2" pbzip2 -k -c -p2 "$input")")
  done
  cost_line "pbzip2 -p2, $record_input" "$rounds" "${plain[@]}" "${again[@]}" "${recorded[@]}"
}

# redis_cpu THREADS [RECORDER...]: processor time of a server from its start to its end, with a fixed number of requests;
# the recorder's own time included, the load generator's not. THREADS above 1 spin while they wait for each other.
redis_cpu() {
  local port=17379 threads="$1"
  shift
  { cpu_seconds "$@" redis-server --port "$port" --save '' --io-threads "$threads" --bind 127.0.0.1 >"$record_work/redis.cpu"; } &
  local server=$!
  for _ in $(seq 50); do
    if redis-cli -p "$port" ping >/dev/null 2>&1; then break; fi
    sleep 0.1
  done
  redis-benchmark -p "$port" -q -t set,get -n "$record_requests" -c 20 >/dev/null 2>&1
  redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
  wait "$server"
  cat "$record_work/redis.cpu"
}

measure_redis() {
  local rounds="$1" threads="$2" at plain=() again=() recorded=()
  command -v redis-server >/dev/null || return 0
  for ((at = 0; at < rounds; ++at)); do
    plain+=("$(redis_cpu "$threads")")
    again+=("$(redis_cpu "$threads")")
    recorded+=("$(redis_cpu "$threads" "$deadheat" record -q --hz 1000 -o "$record_work/redis")")
  done
  cost_line "redis-server --io-threads $threads, $record_requests writes and as many reads" "$rounds" "${plain[@]}" "${again[@]}" "${recorded[@]}"
}

# memcached_cpu [RECORDER...]: as redis_cpu, of a memcached with two threads. It ends by SIGTERM.
memcached_cpu() {
  local port=17380 process="$record_work/memcached.pid" test
  rm -f "$process"
  { cpu_seconds "$@" memcached -u "$(id -un)" -t 2 -l 127.0.0.1 -p "$port" -P "$process" >"$record_work/memcached.cpu"; } &
  local server=$!
  for _ in $(seq 50); do
    if [[ -s "$process" ]]; then break; fi
    sleep 0.1
  done
  for test in set get; do
    memcslap --servers="127.0.0.1:$port" --concurrency=8 --execute-number="$((record_requests / 8))" --test="$test" \
      >/dev/null 2>&1 || true
  done
  kill -TERM "$(cat "$process")"
  wait "$server"
  cat "$record_work/memcached.cpu"
}

measure_memcached() {
  local rounds="$1" at plain=() again=() recorded=()
  command -v memcached >/dev/null && command -v memcslap >/dev/null || return 0
  for ((at = 0; at < rounds; ++at)); do
    plain+=("$(memcached_cpu)")
    again+=("$(memcached_cpu)")
    recorded+=("$(memcached_cpu "$deadheat" record -q --hz 1000 -o "$record_work/memcached")")
  done
  cost_line "memcached -t 2, $record_requests writes and as many reads" "$rounds" "${plain[@]}" "${again[@]}" "${recorded[@]}"
}

# One line of a recording: accesses per sample, size, time.
describe_recording() {
  local stats raw
  stats="$("$deadheat" analyze "$1" --stats 2>/dev/null || true)"
  raw="$("$deadheat" analyze "$1" --stats --raw 2>/dev/null || true)"
  local seconds size
  seconds="$(sed -n 's/^recorded \([0-9.]*\) s.*/\1/p' <<<"$stats")"
  size="$(du -sb "$1" | awk -v s="$seconds" '{ printf "%.2f", $1 / 1e6 / s }')"
  echo "| $2 | $(sed -n 's/^accesses per sample: .* instructions, \([0-9.]*\) with.*/\1/p' <<<"$raw") | $(
    sed -n 's/^accesses per sample: .* instructions, \([0-9.]*\) with.*/\1/p' <<<"$stats") | $size | $(
    sed -n 's/.*(\([0-9.]*\) per recorded second).*/\1/p' <<<"$stats") |"
}

# found_in RUNS OPTION...: in how many runs the race is found.
found_in() {
  local runs="$1" at found=0
  shift
  for ((at = 0; at < runs; ++at)); do
    "$deadheat" analyze "$record_work/racy.$at" "$@" >/dev/null 2>&1 || found=$((found + 1))
  done
  echo "$found of $runs"
}

# One line of a recording that has paths.
describe_path() {
  local stats found=yes
  if stats="$("$deadheat" analyze "$record_work/path.d" --stats 2>/dev/null)"; then found=no; fi
  echo "| $1 | $found | $(sed -n 's/^ *\([0-9.]*%\) of all accesses on the path.*/\1/p' <<<"$stats") | $(
    sed -n 's/.*samples placed \([0-9,]*\), not placed.*/\1/p' <<<"$stats") | $(
    sed -n 's/.*, not placed \([0-9,]*\).*/\1/p' <<<"$stats") |"
}

measure_record() {
  local rounds="$record_rounds" runs="$record_runs" at way table="$results/record.md"
  if [[ "$quick" == yes ]]; then rounds=1 runs=2; fi
  mkdir -p "$record_work"
  for way in racy ordered handed lock_free; do
    g++ -std=c++20 -O1 -g -pthread "bench/programs/record_$way.cpp" -o "$record_work/$way"
  done
  say "record: what it costs"
  {
    echo
    echo "Processor time in seconds, least of $rounds runs by turns, clock backend at 1 kHz, the recorder's own time included; the ratio is to the less of the two columns that are alike:"
    echo
    echo "| Program | alone | alone again | recorded | ratio |"
    echo "| --- | --- | --- | --- | --- |"
    measure_pbzip2 "$rounds"
    measure_redis "$rounds" 2
    measure_redis "$rounds" 1
    measure_memcached "$rounds"
    for ((at = 0; at < runs; ++at)); do
      "$deadheat" record -q --hz 1000 -o "$record_work/racy.$at" "$record_work/racy" 40000000 >/dev/null
    done
    echo
    echo "What a recording is worth (1 kHz); offline seconds on this machine's $(nproc) processors:"
    echo
    echo "| Recording | accesses per sample, raw | rebuilt | MB per recorded second | offline seconds per recorded second |"
    echo "| --- | --- | --- | --- | --- |"
    describe_recording "$record_work/racy.0" "histograms (record_racy)"
    if [[ -d "$record_work/pbzip2" ]]; then describe_recording "$record_work/pbzip2" "pbzip2"; fi
    if [[ -d "$record_work/redis" ]]; then describe_recording "$record_work/redis" "redis-server"; fi
    if [[ -d "$record_work/memcached" ]]; then describe_recording "$record_work/memcached" "memcached"; fi
    echo
    echo "The race of record_racy is found in $(found_in "$runs") recordings, with RaceZ's single block in $(
      found_in "$runs" --racez), from the samples alone in $(found_in "$runs" --raw)."
    echo
    echo "Recordings with the whole path (400 rounds of record_racy, one sample per 500 instructions; software-pt has the form of Intel's):"
    echo
    echo "| Backend | race found | accesses on the path rebuilt | samples placed | not placed |"
    echo "| --- | --- | --- | --- | --- |"
    for way in step software-pt; do
      "$deadheat" record -q --backend "$way" --function work --period 500 -o "$record_work/path.d" "$record_work/racy" 400 100 >/dev/null
      describe_path "$way"
    done
    echo
    echo "| Without a race, ordered by (5 kHz) | reports |"
    echo "| --- | --- |"
    for way in "mutex 200000" "heap 300000" "queue 50000" "barrier 20000" "semaphore 20000" "pipe 10000" "readers 100000" "threads 5000" "static 300000"; do
      # shellcheck disable=SC2086
      "$deadheat" record -q --hz 5000 -o "$record_work/ordered.d" "$record_work/ordered" $way
      echo "| ${way% *} | $("$deadheat" analyze "$record_work/ordered.d" >/dev/null 2>&1 && echo 0 || echo "some") |"
    done
    for way in "normal 20000" "adaptive 20000" "recursive 10000" "checked 10000" "robust 5000" "inherit 5000" "shared 5000" "chain 5000" \
      "cancelled 100" "foreign 10000" "refused 20000" "renewed 600" "c11 30000" "pipes 5000" "one-pipe 10000" "new-pipes 200" "waits 3000" \
      "many-waits 1000" "handler 2000"; do
      # shellcheck disable=SC2086
      "$deadheat" record -q --hz 5000 -o "$record_work/ordered.d" "$record_work/handed" $way
      echo "| handed on: ${way% *} | $("$deadheat" analyze "$record_work/ordered.d" >/dev/null 2>&1 && echo 0 || echo "some") |"
    done
    "$deadheat" record -q --hz 5000 -o "$record_work/ordered.d" "$record_work/lock_free" 2000000
    echo "| std::atomic, release and acquire | $("$deadheat" analyze "$record_work/ordered.d" >/dev/null 2>&1 && echo 0 || echo "some") |"
    echo
  } >"$table"
  replace_section record "$table"
  cat "$table"
}
