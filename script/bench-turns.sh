# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What the parts of script/bench that compare costs in turns share (bench-watch-cost.sh, bench-record-cost.sh).
#
# Two runs of the same command differ by several percent, on a machine that others use by ten. So the ways that are
# compared (plain, plain once more, watched or recorded) run at the same time, but only one of them at any moment, in
# turns of some milliseconds (bench/programs/in_turns.cpp). A round is one run of each. Each round has its ratio to the
# first way; the table has the median of them and an interval that holds the true median in 95 of 100 cases: between two
# of the sorted ratios, by the binomial distribution. The second plain way shows what can be told apart.

# To stop and go on costs who records 60 microseconds or more each time: not too short.
readonly turn_ms=200

# has_programs NAME...: whether all are installed; says which is not.
has_programs() {
  local name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then continue; fi
    say "$name is not installed: left out"
    return 1
  done
}

build_in_turns() { g++ -std=c++20 -O2 bench/programs/in_turns.cpp -o "$results/in_turns"; }

# A directory in memory, so that no disk has a part in what is measured.
make_scratch() { mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "$results")" deadheat-bench.XXXXXX; }

# one_round NUMBER NAME FILE LABEL=COMMAND...: adds "NAME NUMBER LABEL CPU ELAPSED STATUS CPU-OF-RECORDER" of each to the
# file. Another one begins each time.
one_round() {
  local number="$1" name="$2" file="$3" ways=() at=0 cpu elapsed status recorder
  shift 3
  ways=("${@:1 + number % $#}" "${@:1:number % $#}")
  while read -r cpu elapsed status recorder; do
    echo "$name $number ${ways[at]%%=*} $cpu $elapsed $status $recorder" >>"$file"
    at=$((at + 1))
  done < <("$results/in_turns" "$turn_ms${record_hz:+:$record_hz}" "${ways[@]#*=}")
}

# check_outputs NUMBER NAME FILE SCRATCH LABEL...: SCRATCH/LABEL.out is what the way `plain_way` put out (usually plain), or
# that way has failed.
check_outputs() {
  local number="$1" name="$2" file="$3" scratch="$4" label
  shift 4
  for label in "$@"; do
    if ! cmp -s "$scratch/${plain_way:-plain}.out" "$scratch/$label.out"; then echo "$name $number $label 0 0 1 0" >>"$file"; fi
  done
}

# For awk: sorts the values, too.
readonly awk_median='
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
'

# compare_ways FILE ALIKE: rows of a table from what one_round has written; the first way of a name is what the others are
# compared to. ALIKE is said of those that did the same. In names _ stands for a blank.
compare_ways() {
  awk -v alike="$2" "$awk_median"'
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
        shown = name
        gsub("_", " ", shown)
        count = split("plain again 10 100 1000 watched recorded", order, " ")
        for (o = 1; o <= count; ++o) {
          label = order[o]
          if (!((name, label) in known)) continue
          if (label == first[name]) {
            printf "| %s | %s | %.2f | | %.2f | | |\n", shown, label, typical(name, label, 1), typical(name, label, 2)
            continue
          }
          printf "| %s | %s | %.2f | %s | %.2f | %s | %s |\n", shown, label, typical(name, label, 1),
            compared(name, label, 1), typical(name, label, 2), compared(name, label, 2),
            ((name, label) in failed) ? "DIFFERENT" : alike
        }
      }
    }' "$1"
}

# start_cost "FUNCTION WORD..." LABEL COMMAND...: milliseconds that a run with nothing to do takes, elapsed and of CPU time,
# without and with the command, which the function gets after its words; medians and means.
start_cost() {
  local function="$1" label="$2" try TIMEFORMAT='%3R %3U %3S'
  shift 2
  for ((try = 0; try < 15; ++try)); do
    # shellcheck disable=SC2086
    echo "plain $({ time $function >/dev/null 2>&1; } 2>&1)"
    # shellcheck disable=SC2086
    echo "other $({ time $function "$@" >/dev/null 2>&1; } 2>&1)"
  done | sort -k1,1 -k2,2n | awk -v label="$label" '
    { number[$1] += 1; elapsed[$1, number[$1]] = $2; cpu[$1] += $3 + $4 }
    END {
      printf "%.0f ms elapsed and %.0f ms of CPU time, %s %.0f and %.0f", 1000 * elapsed["plain", 8],
        1000 * cpu["plain"] / 15, label, 1000 * elapsed["other", 8], 1000 * cpu["other"] / 15
    }'
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

# Servers: start_NAME PORT [RECORDER...] begins one, under the recorder if there is one, and says in `started` which
# process it is, or SERVER+RECORDER. stop_NAME PORT ends it. `processes` are those that were begun before. `redis_program`
# and `memcached_program` are other builds than the installed ones, `memcached_memory` the megabytes that it may fill before it throws out what it has.
start_in_background() {
  local file="$1" has_recorder="$2" job
  shift 2
  rm -f "$file"
  "$@" >/dev/null 2>&1 &
  job=$!
  # shellcheck disable=SC2064
  trap "end_processes ${processes[*]:-} $job" EXIT
  wait_until test -s "$file"
  started="$(cat "$file")"
  if [[ "$has_recorder" == yes ]]; then started+="+$job"; fi
}
has_any() { if (($# > 0)); then echo yes; else echo no; fi; }

# `redis_io_threads` above 1 are for reading and writing; they spin while they wait for each other.
start_redis() {
  local port="$1" file="$repository_root/$results/redis-$1.pid" pinned=()
  shift
  if ((${redis_io_threads:-1} == 1)); then read -r -a pinned <<<"$(on_processor 0)"; fi
  start_in_background "$file" "$(has_any "$@")" "${pinned[@]}" "$@" "${redis_program:-redis-server}" --port "$port" --bind 127.0.0.1 --save "" \
    --io-threads "${redis_io_threads:-1}" --dir "$results" --logfile redis.log --pidfile "$file"
  wait_until redis-cli -p "$port" ping
}
stop_redis() { redis-cli -p "$1" shutdown nosave >/dev/null || true; }

start_memcached() {
  local port="$1" file="$repository_root/$results/memcached-$1.pid"
  shift
  start_in_background "$file" "$(has_any "$@")" "$@" "${memcached_program:-memcached}" -u "$(id -un)" -t 2 -m "${memcached_memory:-64}" -l 127.0.0.1 -p "$port" -P "$file"
}
stop_memcached() { kill "$(cat "$results/memcached-$1.pid")"; }

# One process, which serves.
start_nginx() {
  local port="$1" place="$repository_root/$results/nginx-$1" pinned=()
  shift
  mkdir -p "$place"
  head -c 1000 docs/watching.md >"$place/page.html"
  cat >"$place/conf" <<CONF
daemon off;
master_process off;
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
  server { listen 127.0.0.1:$port; root $place; }
}
CONF
  read -r -a pinned <<<"$(on_processor 0)"
  start_in_background "$place/pid" "$(has_any "$@")" "${pinned[@]}" "$@" nginx -c "$place/conf"
}
stop_nginx() { kill "$(cat "$results/nginx-$1/pid")"; }

# load_NAME PORT REQUESTS TEST: the command that makes requests.
load_redis() {
  local where=""
  if ((${redis_io_threads:-1} == 1)); then where="$(on_processor 1)"; fi
  echo "$where redis-benchmark -p $1 -c 20 -n $2 -t $3 -q >/dev/null 2>&1"
}
load_memcached() {
  echo "memcslap --servers=127.0.0.1:$1 --concurrency=8 --execute-number=$(($2 / 8)) --test=$3 >/dev/null 2>&1"
}
load_nginx() { echo "$(on_processor 1) ab -q -k -c 16 -n $2 http://127.0.0.1:$1/page.html >/dev/null 2>&1"; }

# Also those that are stopped.
end_processes() {
  local process
  for process in "$@"; do
    kill -CONT "$process" 2>/dev/null || true
    kill "$process" 2>/dev/null || true
  done
}
