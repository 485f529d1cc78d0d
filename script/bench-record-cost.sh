# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part record-cost of script/bench-record.sh, which sources this: what `deadheat record` costs programs of Debian as
# they are. The ways run in turns (script/bench-turns.sh).

# recorder_of NAME: the command that records, by lines.
recorder_of() { printf '%s\n' "$deadheat" record -q --hz "$record_hz" -o "$record_work/turns-$1"; }

# run_nothing [RECORDER...]: pbzip2 with nothing to do; serve_nothing SERVER [RECORDER...]: a server without requests.
run_nothing() { "$@" pbzip2 -p2 -c -k "$record_work/little"; }
serve_nothing() {
  local server="$1" port=7394 started=""
  shift
  "start_$server" "$port" "$@"
  "stop_$server" "$port"
  wait
  trap - EXIT
}

# measure_recorded_pbzip2 ROUNDS FILE
measure_recorded_pbzip2() {
  local rounds="$1" file="$2" round label ways prefix scratch data recorder
  scratch="$(make_scratch)"
  data="$scratch/data"
  cp "$record_work/input" "$data"
  mapfile -t recorder < <(recorder_of pbzip2)
  for ((round = 0; round < rounds; ++round)); do
    ways=()
    for label in plain again recorded; do
      prefix=""
      if [[ "$label" == recorded ]]; then prefix="$(printf '%q ' "${recorder[@]}")"; fi
      ways+=("$label=exec ${prefix}pbzip2 -p2 -c -k $data >$scratch/$label.out 2>/dev/null")
    done
    one_round "$round" pbzip2_-p2 "$file" "${ways[@]}"
    check_outputs "$round" pbzip2_-p2 "$file" "$scratch" again recorded
  done
  rm -rf "$scratch"
}

# How many requests a server gets of each kind. Threads of redis that spin leave who makes requests little of two
# processors.
requests_of() {
  case "$1" in
    redis) echo $((record_requests / (redis_io_threads > 1 ? 4 : 1))) ;;
    memcached) echo $((record_requests * 2 / 3)) ;;
    nginx) echo $((record_requests * 2)) ;;
  esac
}

# record_load SERVER PORT: writes, then as many reads.
record_load() {
  local number
  number="$(requests_of "$1")"
  case "$1" in
    redis) load_redis "$2" "$number" set,get ;;
    memcached) echo "$(load_memcached "$2" "$number" set) && $(load_memcached "$2" "$number" get)" ;;
    nginx) load_nginx "$2" "$number" ;;
  esac
}

# measure_recorded_server ROUNDS FILE NAME SERVER: fresh servers in each round, one of which is recorded from its start.
measure_recorded_server() {
  local rounds="$1" file="$2" name="$3" server="$4" round at port started process label ways processes recorder ports=(7391 7392 7393)
  for ((round = 0; round < rounds; ++round)); do
    ways=() processes=() at=0
    for label in plain again recorded; do
      port="${ports[(at + round) % 3]}" at=$((at + 1)) recorder=()
      if [[ "$label" == recorded ]]; then mapfile -t recorder < <(recorder_of "$server"); fi
      "start_$server" "$port" "${recorder[@]}"
      # shellcheck disable=SC2206
      processes+=(${started/+/ })
      # shellcheck disable=SC2064
      trap "end_processes ${processes[*]}" EXIT
      ways+=("$label=@$started:$(record_load "$server" "$port")")
    done
    one_round "$round" "$name" "$file" "${ways[@]}"
    for port in "${ports[@]}"; do "stop_$server" "$port"; done
    for process in "${processes[@]}"; do wait_until has_ended "$process"; done
    trap - EXIT
  done
}

# Milliseconds of processor time that recorders took by themselves, for each server.
recorders_part() {
  awk '
    $3 == "recorded" && $6 == 0 && $1 !~ /pbzip2/ {
      if (!($1 in number)) names[++count] = $1
      ++number[$1]
      sum[$1] += $7
    } END {
      for (n = 1; n <= count; ++n) {
        shown = names[n]
        gsub("_", " ", shown)
        printf "%s%s %.0f ms", (n > 1 ? ", " : ""), shown, 1000 * sum[names[n]] / number[names[n]]
      }
    }' "$1"
}

is_wanted() { [[ " $record_programs " == *" $1 "* ]]; }

measure_record_cost() {
  local rounds="$record_rounds" file="$results/record.costs" redis_io_threads=1 starts=() recorder
  if [[ "$quick" == yes ]]; then rounds=2; fi
  say "record: what it costs"
  mkdir -p "$record_work"
  build_in_turns
  rm -f "$file"
  mapfile -t recorder < <(recorder_of start)
  if is_wanted pbzip2 && has_programs pbzip2; then
    tar cf "$record_work/input" /usr/include 2>/dev/null || true
    truncate -s "<$record_input" "$record_work/input"
    head -c 100 "$record_work/input" >"$record_work/little"
    measure_recorded_pbzip2 "$rounds" "$file"
    starts+=("pbzip2 $(start_cost run_nothing recorded "${recorder[@]}")")
  fi
  if is_wanted redis && has_programs redis-server redis-benchmark redis-cli; then
    measure_recorded_server "$rounds" "$file" redis-server redis
    starts+=("redis $(start_cost "serve_nothing redis" recorded "${recorder[@]}")")
    redis_io_threads=2
    measure_recorded_server "$rounds" "$file" redis-server_--io-threads_2 redis
    redis_io_threads=1
  fi
  if is_wanted nginx && has_programs nginx ab; then
    measure_recorded_server "$rounds" "$file" nginx nginx
    starts+=("nginx $(start_cost "serve_nothing nginx" recorded "${recorder[@]}")")
  fi
  if is_wanted memcached && has_programs memcached memcslap; then
    measure_recorded_server "$rounds" "$file" memcached_-t_2 memcached
    starts+=("memcached $(start_cost "serve_nothing memcached" recorded "${recorder[@]}")")
  fi
  if [[ ! -s "$file" ]]; then return; fi
  {
    printf 'Measured on: %s; load average %s. Clock backend at %s samples a second of processor time. In turns of %s ms; against plain: the median\n' \
      "$(machine)" "$(cut -d' ' -f1 /proc/loadavg)" "$record_hz" "$turn_ms"
    printf 'of the ratios of %s rounds and its interval of 95%%; "again" is the program alone once more. pbzip2 (%s): the whole command with its start and end.\n' "$rounds" "$record_input"
    printf 'Servers: %s writes and as many reads (redis with two threads %s, memcached %s; nginx has %s reads), from the first request to the last; redis with one thread and nginx have\n' \
      "$(requests_of redis)" "$(redis_io_threads=2 requests_of redis)" "$(requests_of memcached)" "$(requests_of nginx)"
    printf 'a processor of their own. The CPU time has the recorder'"'"'s own part.\n\n'
    echo "| program | | CPU seconds | against plain | elapsed seconds | against plain | output or requests |"
    echo "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    compare_ways "$file" "as alone"
    printf '\nThe recorder'"'"'s own part of the CPU time: %s.\n' "$(recorders_part "$file")"
    printf 'Start and end with nothing in between: %s.\n' "$(printf '%s; ' "${starts[@]}" | sed 's/; $//')"
  } | tee "$results/record-cost.md"
  replace_section record-cost "$results/record-cost.md"
}
