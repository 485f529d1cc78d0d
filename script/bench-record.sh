# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `record` of script/bench, which sources this: what recording costs, what a recording is
# worth, and how long its analysis takes. Needs pbzip2, redis and memcached (Debian: pbzip2 redis-server redis-tools
# memcached libmemcached-tools);
# what is not there is left out.
#
#   record-cost  what it costs, in turns (script/bench-record-cost.sh, bench-turns.sh); needs a quiet machine
#
# `record` is that and all the rest.

readonly record_work="$results/record"
# shellcheck source=script/bench-record-cost.sh
source script/bench-record-cost.sh
# Environment variables of these names make other plans.
readonly record_rounds="${RECORD_ROUNDS:-7}"
readonly record_runs="${RECORD_RUNS:-10}"
readonly record_input="${RECORD_INPUT:-60M}"
# Which programs record-cost has.
readonly record_programs="${RECORD_PROGRAMS:-pbzip2 redis nginx memcached}"
readonly record_hz="${RECORD_HZ:-1000}"
readonly record_requests="${RECORD_REQUESTS:-130000}"

# make_recording SERVER: of one that makes no pauses, with the requests that its cost is measured with.
make_recording() {
  local server="$1" port=7391 started="" redis_io_threads=1
  "start_$server" "$port" "$deadheat" record -q --hz 1000 -o "$record_work/$server"
  sh -c "$(record_load "$server" "$port")" || true
  "stop_$server" "$port"
  wait_until has_ended "${started#*+}"
  trap - EXIT
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
  local runs="$record_runs" at way table="$results/record.md"
  if [[ "$quick" == yes ]]; then runs=2; fi
  measure_record_cost
  say "record: what a recording is worth"
  if has_programs pbzip2; then "$deadheat" record -q --hz 1000 -o "$record_work/pbzip2" pbzip2 -k -c -p2 "$record_work/input" >/dev/null; fi
  if has_programs redis-server redis-benchmark redis-cli; then make_recording redis; fi
  if has_programs memcached memcslap; then make_recording memcached; fi
  for way in racy ordered handed lock_free; do
    g++ -std=c++20 -O1 -g -pthread "bench/programs/record_$way.cpp" -o "$record_work/$way"
  done
  {
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
      "cancelled 100" "foreign 10000" "refused 20000" "misused 1" "renewed 600" "c11 30000" "pipes 5000" "stream-pipes 5000" "many-pipes 1000" "one-pipe 10000" "first-write 200000" "new-pipes 200" "waits 3000" \
      "many-waits 1000" "late-waits 3000" "handler 2000"; do
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
