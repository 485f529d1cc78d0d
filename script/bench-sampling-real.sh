# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034
# What `deadheat run --rate` and `--budget` cost programs that were not written for it (script/bench-real-programs.sh),
# for script/bench, which sources this.
#
#   sampling-real      CPU time at rates of 0, 1 and 3% against the native program: compressors and servers
#   sampling-budget    memcached under load with a budget of 5%: what it took, what was reported
#
# All ways run in turns (script/bench-turns.sh), because single runs differ by more than what is measured. A native run
# takes 2 to 4 s of CPU time: at 1% a period comes every 0.1 s. Of compressors it is that of the whole command, and each run's
# output is compared with the native one; of servers that of the server from the first request to the last.

readonly real_ways=(native 0% 1% 3%)

# options_of WAY: DEADHEAT_OPTIONS. Programs are started directly, so that nothing but them is measured; raw reports are
# written into build/bench/real/raw.
options_of() { if [[ "$1" == *% ]]; then echo "rate=$((${1%\%} * 10000)):log_path=$real/raw/report"; fi; }

# build_of WAY
build_of() { if [[ "$1" == native ]]; then echo native; else echo deadheat; fi; }

# make_input FILE BYTES: text, and a third of the bytes machine code with its debug information. Where few programs are
# wanted either begins anew before it is long enough.
make_input() {
  {
    { while all_text; do :; done | head -c $(($2 - $2 / 3)); } || true
    { while all_code; do :; done | head -c $(($2 / 3)); } || true
  } >"$1" 2>/dev/null
}
all_text() { find "$real/sources" -name '*.[ch]' -type f -print0 | LC_ALL=C sort -z | xargs -0 cat; }
all_code() { for name in "${built[@]}"; do cat "$(real_program native "$name")" || return; done; }

# compress_words NAME INPUT: what follows the program's name. All write to standard output, by three threads.
compress_words() {
  case "$1" in
    pbzip2) echo "-p3 -b2 -c -k $2" ;;
    lbzip2) echo "-n3 -c -k $2" ;;
    xz) echo "-T3 -1 --block-size=1MiB -c -k $2" ;;
    zstd) echo "-q -T3 -5 -B524288 -c $2 $2 $2 $2 $2" ;;
  esac
}

# measure_real_compressor ROUNDS FILE SCRATCH NAME
measure_real_compressor() {
  local rounds="$1" file="$2" scratch="$3" name="$4" plain_way=native round way ways=()
  for way in "${real_ways[@]}"; do
    ways+=("$way=DEADHEAT_OPTIONS=$(options_of "$way") $(real_program "$(build_of "$way")" "$name") $(compress_words "$name" \
      "$scratch/data") >$scratch/$way.out 2>/dev/null")
  done
  for ((round = 0; round < rounds; ++round)); do
    one_round "$round" "$name" "$file" "${ways[@]}"
    check_outputs "$round" "$name" "$file" "$scratch" "${real_ways[@]}"
  done
}

# start_real NAME WAY PORT [RECORDER...]: a server of that build; see start_NAME for the rest.
start_real() {
  local name="$1" way="$2" redis_program memcached_program
  local memcached_memory=1024 # all that is written: what was thrown out could not be told from a request that failed
  redis_program="$(real_program "$(build_of "$way")" redis)"
  memcached_program="$(real_program "$(build_of "$way")" memcached)"
  shift 2
  DEADHEAT_OPTIONS="$(options_of "$way")" "start_$name" "$@"
}

# load_writes_and_reads PORT REQUESTS FILE: memcslap with 8 connections writes, and then writes a ninth of the other half and
# reads the rest of it. What it says goes to the file.
load_writes_and_reads() {
  local load="memcslap --servers=127.0.0.1:$1 --concurrency=8"
  echo "{ $load --execute-number=$(($2 / 16)) --test=set; $load --execute-number=$(($2 / 18)) --test=get; } >$3 2>&1"
}

# failed_requests REQUESTS FILE: how many of them were not answered as they should have been. Each line "Time to set N keys"
# says how many were.
failed_requests() { awk -v asked="$1" '/^Time to [sg]et/ { done += $4 } END { print asked - done }' "$2"; }

# measure_real_server ROUNDS FILE SCRATCH NAME: fresh servers in each round.
measure_real_server() {
  local rounds="$1" file="$2" scratch="$3" name="$4" round at port way process started processes ways
  local ports=(7391 7392 7393 7394)
  for ((round = 0; round < rounds; ++round)); do
    ways=() processes=() at=0
    for way in "${real_ways[@]}"; do
      port="${ports[(at + round) % 4]}" at=$((at + 1))
      start_real "$name" "$way" "$port"
      processes+=("$started")
      ways+=("$way=@$started:$(load_real "$name" "$port" "$scratch/$way.out")")
    done
    one_round "$round" "$name" "$file" "${ways[@]}"
    if [[ "$name" == memcached ]]; then
      for way in "${real_ways[@]}"; do
        if (($(failed_requests "$memcached_requests" "$scratch/$way.out") != 0)); then echo "$name $round $way 0 0 1 0" >>"$file"; fi
      done
    fi
    for port in "${ports[@]}"; do "stop_$name" "$port"; done
    for process in "${processes[@]}"; do wait_until has_ended "$process"; done
    trap - EXIT
  done
}

# sample_once FILE SCRATCH NAME: one more run at each rate, by `deadheat run`, which says how much was really sampled.
sample_once() {
  local file="$1" scratch="$2" name="$3" way report="$1.json" started processes=() port=7391 runner
  for way in "${real_ways[@]:2}"; do
    rm -f "$report"
    runner=("$deadheat" run -q --rate "$way" --exitcode 0 --json "$report" --)
    case "$name" in
      redis | memcached)
        start_real "$name" "$way" "$port" "${runner[@]}"
        "$results/in_turns" "$turn_ms" "$(load_real "$name" "$port" "$scratch/$way.out")" >/dev/null
        "stop_$name" "$port"
        wait "${started#*+}" || true
        trap - EXIT
        ;;
      *)
        # shellcheck disable=SC2046
        "${runner[@]}" "$(real_program deadheat "$name")" $(compress_words "$name" "$scratch/data") >/dev/null 2>&1 || true
        ;;
    esac
    echo "$name $way $(jq '100 * .sampling.effective_rate' "$report" || echo -)" >>"$file.sampled"
  done
}

# load_real NAME PORT FILE: the command that makes the requests of a measurement.
load_real() {
  case "$1" in
    redis) load_redis "$2" "$redis_requests" "$redis_tests" ;;
    memcached) load_writes_and_reads "$2" "$memcached_requests" "$3" ;;
  esac
}

# table_of_real FILE: medians of what one_round has written, with least and greatest; what sample_once has written.
table_of_real() {
  awk -v sampled_file="$1.sampled" "$awk_median"'
    function complete(name,    w) {
      for (w = 1; w <= ways; ++w) if ((name, way[w]) in failed) return 0
      return 1
    }
    function cell(name, label,    values, number, round, middle) {
      if ((name, label) in failed || (name, way[1]) in failed) return "-"
      for (round = 0; round < rounds[name]; ++round) {
        values[++number] = seconds[name, round, label] / (label == way[1] ? 1 : seconds[name, round, way[1]])
      }
      middle = median(values, number)
      if (label == way[1]) return sprintf("%.2f", middle)
      if (complete(name)) { logs[label] += log(middle); counts[label] += 1 }
      return sprintf("%.2f (%.2f-%.2f)", middle, values[1], values[number])
    }
    BEGIN {
      ways = split("native 0% 1% 3%", way, " ")
      while ((getline line < sampled_file) > 0) {
        split(line, part, " ")
        sampled[part[1], part[2]] = part[3] == "-" ? "-" : sprintf("%.2f%%", part[3])
      }
    }
    {
      if (!($1 in rounds)) names[++name_count] = $1
      if ($2 + 1 > rounds[$1]) rounds[$1] = $2 + 1
      if ($6 != 0) { failed[$1, $3] = 1; next }
      seconds[$1, $2, $3] = $4
    }
    END {
      print "| program | native, s | 0% | 1% | 3% | sampled at 1% | at 3% |"
      print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
      for (n = 1; n <= name_count; ++n) {
        shown = names[n]
        gsub("_", " ", shown)
        printf "| %s |", shown
        for (w = 1; w <= ways; ++w) printf " %s |", cell(names[n], way[w])
        for (w = 3; w <= ways; ++w) printf " %s |", sampled[names[n], way[w]]
        print ""
      }
      printf "| **geometric mean** | |"
      for (w = 2; w <= ways; ++w) printf counts[way[w]] ? " **%.2f** |" : " - |", exp(logs[way[w]] / (counts[way[w]] ? counts[way[w]] : 1))
      print " | |"
      for (n = 1; n <= name_count; ++n) left_out += !complete(names[n])
      if (left_out) printf "\n-: failed, or other output than the native program; %d of %d are left out of the mean.\n", left_out, name_count
    }' "$1"
}

measure_sampling_real() {
  local rounds="${SAMPLING_REAL_ROUNDS:-5}" bytes=30000000 file="$results/sampling-real.runs" scratch name load_before
  local programs=(pbzip2 lbzip2 xz zstd redis memcached) built=() redis_requests=25000 memcached_requests=115200 redis_io_threads=1
  local -A needs=([redis]="redis-benchmark redis-cli" [memcached]=memcslap)
  local redis_tests=set,get,incr,lpush,rpop,sadd,hset,spop,zadd,mset
  # Two that are quickly built.
  if [[ "$quick" == yes ]]; then rounds=1 bytes=3000000 programs=(pbzip2 memcached) memcached_requests=14400; fi
  if [[ -n "${SAMPLING_REAL_PROGRAMS:-}" ]]; then read -r -a programs <<<"$SAMPLING_REAL_PROGRAMS"; fi
  say "sampling: real programs"
  build_in_turns
  rm -rf "$file" "$file".* "$real/raw"
  mkdir -p "$real/raw"
  for name in "${programs[@]}"; do
    if build_real "$name"; then built+=("$name"); fi
  done
  if ((${#built[@]} == 0)); then return; fi
  scratch="$(make_scratch)"
  make_input "$scratch/data" "$bytes"
  load_before="$(cut -d' ' -f1 /proc/loadavg)"
  for name in "${built[@]}"; do
    # shellcheck disable=SC2086
    if ! has_programs ${needs[$name]:-}; then continue; fi
    say "measuring $name"
    if [[ -n "${needs[$name]:-}" ]]; then
      measure_real_server "$rounds" "$file" "$scratch" "$name"
    else
      measure_real_compressor "$rounds" "$file" "$scratch" "$name"
    fi
    if has_programs jq; then sample_once "$file" "$scratch" "$name"; fi
  done
  {
    printf 'Measured on: %s, %s; load average %s before and %s after (its own share is 1 to 2).\n' "$(machine)" \
      "$(clang-19 --version | head -n 1)" "$load_before" "$(cut -d' ' -f1 /proc/loadavg)"
    printf 'Versions: %s.\n\n' "$(real_versions "${built[@]}")"
    printf 'CPU time against the native program, in turns of %s ms: median of %s rounds, least and greatest in parentheses. What was really\n' "$turn_ms" "$rounds"
    printf 'sampled is that of one more run of each.\n\n'
    table_of_real "$file"
  } | tee "$results/sampling-real.md"
  rm -rf "$scratch"
  replace_section sampling-real "$results/sampling-real.md"
}

readonly budget_ways=(native 0% again budget)

# budget_round ROUND FILE SCRATCH: four servers. Report and exit status of the one with the budget are kept.
budget_round() {
  local round="$1" file="$2" scratch="$3" at=0 way port started processes=() process ways=() runner status ports=(7391 7392 7393 7394)
  for way in "${budget_ways[@]}"; do
    port="${ports[(at + round) % 4]}" at=$((at + 1))
    case "$way" in
      again) start_real memcached 0% "$port" ;;
      budget) start_real memcached budget "$port" "$deadheat" run -q --budget 5% --json "$file.$round.json" -- ;;
      *) start_real memcached "$way" "$port" ;;
    esac
    processes+=("${started//+/ }")
    ways+=("$way=@$started:$(load_writes_and_reads "$port" "$budget_requests" "$scratch/$way.out")")
  done
  runner="${processes[3]#* }"
  one_round "$round" memcached "$file" "${ways[@]}"
  for port in "${ports[@]}"; do stop_memcached "$port"; done
  status=0
  wait "$runner" || status=$?
  # shellcheck disable=SC2068
  for process in ${processes[@]}; do wait_until has_ended "$process"; done
  trap - EXIT
  for way in "${budget_ways[@]}"; do
    echo "$round $way $(failed_requests "$budget_requests" "$scratch/$way.out")" >>"$file.failed"
  done
  describe_report "$file.$round.json" "$round" "$status" >>"$file.reports"
}

# full_detection FILE SCRATCH: the same load once more, everything checked. CPU seconds of the server and who reports are
# the last line of the file.
full_detection() {
  local file="$1" scratch="$2" started processes=() status=0 port=7391
  start_real memcached full "$port" "$deadheat" run -q --json "$file.full.json" --
  one_round 0 full "$file" "full=@$started:$(load_writes_and_reads "$port" "$budget_requests" "$scratch/full.out")"
  stop_memcached "$port"
  wait "${started#*+}" || status=$?
  wait_until has_ended "${started%+*}"
  trap - EXIT
  describe_report "$file.full.json" full "$status" >>"$file.reports"
  echo "full full $(failed_requests "$budget_requests" "$scratch/full.out")" >>"$file.failed"
}

# describe_report JSON NAME STATUS: "NAME STATUS COMPLETE RACES OCCURRENCES SUM COST RATE PERIODS". SUM is that of the occurrences
# of all findings.
describe_report() {
  printf '%s %s ' "$2" "$3"
  jq -r '[.run.complete, .summary.races, .summary.occurrences, ([.findings[].occurrences] | add // 0),
    100 * (.sampling.cost // 0), 100 * (.sampling.effective_rate // 0), .sampling.periods // 0] | map(tostring) | join(" ")' "$1"
}

# races_only_in FILE: how many races the runs with the budget had that full detection did not have.
races_only_in() {
  comm -13 <(jq -r '.findings[].fingerprint' "$1.full.json" | sort -u) \
    <(jq -r '.findings[].fingerprint' "$1".[0-9]*.json | sort -u) | wc -l
}

# table_of_budget FILE
table_of_budget() {
  awk -v runs="$1" -v only="$(races_only_in "$1")" -v requests="$budget_requests" '
    function median(column,    values, number, round, at, other, kept) {
      for (round = 0; round < rounds; ++round) {
        kept = entry[round, column]
        for (other = number++; other >= 1 && values[other] > kept; --other) values[other + 1] = values[other]
        values[other + 1] = kept
      }
      at = int((number + 1) / 2)
      return number % 2 ? values[at] : (values[at] + values[at + 1]) / 2
    }
    FILENAME == runs && $1 == "memcached" { seconds[$2, $3] = $4; if ($2 + 1 > rounds) rounds = $2 + 1; ended += $6 != 0; next }
    FILENAME == runs { full_seconds = $4; next }
    FILENAME ~ /failed$/ { failures += $3; failed[$1] += $3; next }
    {
      status[$1] = $2; complete[$1] = $3; races[$1] = $4; occurrences[$1] = $5; cost[$1] = $7; rate[$1] = $8
      bad += $3 != "true" || ($2 != 0 && $2 != 66) || $5 != $6
    }
    function row(title, round, strong,    c) {
      printf "| %s |", title
      for (c = 1; c <= columns; ++c) printf " %s" format[c] "%s |", strong, round == "" ? median(c) : entry[round, c], strong
      print ""
    }
    END {
      columns = split("%.1f %.1f %.1f %.1f %+.1f%% %+.1f%% %.1f%% %.2f%% %d %d %d", format, " ")
      print "| round | native | rate 0 | rate 0 again | `--budget 5%` | again / rate 0 | budget / both at rate 0 | by the run itself | sampled | races | occurrences | failed requests |"
      printf "| --- |"
      for (c = 1; c <= columns; ++c) printf " ---: |"
      print ""
      for (round = 0; round < rounds; ++round) {
        entry[round, 1] = seconds[round, "native"]
        entry[round, 2] = seconds[round, "0%"]
        entry[round, 3] = seconds[round, "again"]
        entry[round, 4] = seconds[round, "budget"]
        entry[round, 5] = 100 * (entry[round, 3] / entry[round, 2] - 1)
        entry[round, 6] = 100 * (entry[round, 4] / ((entry[round, 2] + entry[round, 3]) / 2) - 1)
        entry[round, 7] = cost[round]
        entry[round, 8] = rate[round]
        entry[round, 9] = races[round]
        entry[round, 10] = occurrences[round]
        entry[round, 11] = failed[round]
        row(round + 1, round, "")
      }
      row("**median**", "", "**")
      printf "\nRate 0 takes %.2f of the native time, the budget %.2f. Of all %d requests of a round %d failed in all rounds and ways together.\n",
        median(2) / median(1), median(4) / median(1), 4 * requests, failures - failed["full"]
      printf "Full detection of the same load, once: %.1f s, %d races, %d occurrences, %d failed requests. Of the races of the runs with the budget %d are not among its.\n",
        full_seconds, races["full"], occurrences["full"], failed["full"], only
      if (bad || ended) printf "**%d reports are not complete or their run did not end well; %d loads did not end well.**\n", bad, ended
      else print "No report was lost: every run ended well and says that its report is complete, and its occurrences are those of its races together."
    }' "$1" "$1.failed" "$1.reports"
}

measure_sampling_budget() {
  local rounds="${SAMPLING_BUDGET_ROUNDS:-3}" budget_requests=864000 file="$results/sampling-budget.runs" scratch round load_before
  if [[ "$quick" == yes ]]; then rounds=1 budget_requests=28800; fi
  say "sampling: the budget on memcached"
  if ! has_programs memcslap jq || ! build_real memcached; then return; fi
  build_in_turns
  rm -rf "$file" "$file".* "$real/raw"
  mkdir -p "$real/raw"
  scratch="$(make_scratch)"
  load_before="$(cut -d' ' -f1 /proc/loadavg)"
  for ((round = 0; round < rounds; ++round)); do
    say "round $((round + 1)) of $rounds"
    budget_round "$round" "$file" "$scratch"
  done
  say "full detection"
  full_detection "$file" "$scratch"
  {
    printf 'Measured on: %s, %s; load average %s before and %s after (its own share is 2 to 3).\n' "$(machine)" \
      "$(clang-19 --version | head -n 1)" "$load_before" "$(cut -d' ' -f1 /proc/loadavg)"
    # shellcheck disable=SC2016
    printf 'Versions: %s. Two threads, %s requests of `memcslap` from 8 connections, half of them writes, to each of four servers in turns of %s ms.\n' \
      "$(real_versions memcached)" "$budget_requests" "$turn_ms"
    printf 'CPU seconds of the server; with the budget also those of the process that started it and reads its reports.\n\n'
    table_of_budget "$file"
  } | tee "$results/sampling-budget.md"
  rm -rf "$scratch"
  replace_section sampling-budget "$results/sampling-budget.md"
}
