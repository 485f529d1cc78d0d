# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `sampling` of script/bench, which sources this: `deadheat run --rate`.
#
#   sampling-found   how often seeded races are found at which rate; LiteRace on the same
#   sampling-rate    how much is really sampled
#   sampling-cost    time and memory by rate
#   sampling-sync    lock and unlock by number of threads
#
# `sampling` is all four. The last two need a quiet machine. On a busy one periods open
# and close later, which can show in the first two as well.

readonly seeded_programs=(hot cold locks arrays)
# Kernels with threads: without, there is nothing to sample.
readonly threaded_kernels=(ping-pong reduction queue parallel-sort text shared-table)

measure_sampling() {
  measure_sampling_found
  measure_sampling_rate
  measure_sampling_cost
  measure_sampling_sync
}

build_sampling_driver() {
  if [[ "$results/sampling_measure" -nt bench/programs/sampling_measure.cpp ]]; then return; fi
  g++ -std=c++20 -O2 bench/programs/sampling_measure.cpp -o "$results/sampling_measure"
}

# sampling_driver ARGUMENTS...
sampling_driver() {
  "$results/sampling_measure" --deadheat "$deadheat" --scratch "$results/sampling.json" "$@"
}

measure_sampling_found() {
  local name programs=() reports=()
  local plan="${SAMPLING_FOUND_PLAN:-1:120,3:120,5:120,10:100,25:60,50:40,100:10}" short_plan=3:100,10:100,25:60
  # RATE:RUNS of one plan are those of both.
  if [[ -n "${SAMPLING_FOUND_PLAN:-}" ]]; then short_plan="$(tr , '\n' <<<"$plan" | grep -E '^(3|10|25):' | paste -sd,)"; fi
  if [[ "$quick" == yes ]]; then plan=1:10,3:10,5:10,10:10,25:10,50:10,100:3 short_plan=10:10,25:10; fi
  say "sampling: how often seeded races are found"
  build_sampling_driver
  for name in "${seeded_programs[@]}"; do
    compile "sampling-$name" "$build/lib/deadheat/libdeadheat_rt.a" "bench/programs/sampling_$name.cpp" \
      "$deadheat" c++ --cxx=clang++-19 -Itests/programs
    programs+=("$results/sampling-$name" "bench/programs/sampling_$name.cpp")
  done
  # The whole guarantee first, and then what the horizon takes away of it.
  sampling_driver --horizon forever found "$plan" "${programs[@]}" >"$results/sampling-found.tsv"
  sampling_driver found "$short_plan" "$results/sampling-cold" bench/programs/sampling_cold.cpp >"$results/sampling-horizon.tsv"

  for name in "${seeded_programs[@]}"; do
    # A fifth of the usual steps. Races make the exit status 66.
    "$deadheat" run --record "$results/sampling-$name.dht" -- "$results/sampling-$name" 20 >/dev/null 2>&1 || true
    "$deadheat" analyze --detector literace --format json --output "$results/sampling-$name.literace.json" \
      "$results/sampling-$name.dht" 2>/dev/null || true
    reports+=("bench/programs/sampling_$name.cpp" "$results/sampling-$name.literace.json")
  done
  sampling_driver literace "${reports[@]}" >"$results/sampling-literace.tsv"

  {
    printf 'Measured on: %s. Runs at each rate: %s.\n\n' "$(machine)" "$(sed 's/:/%: /g; s/,/, /g' <<<"$plan")"
    tables_of_found
    table_of_horizon
    printf '\n![share that is found, by rate](sampling-found.svg)\n'
  } | tee "$results/sampling-found.md"
  replace_section sampling-found "$results/sampling-found.md"
  plot_found
  publish_plot sampling-found.svg
}

# From sampling-found.tsv and sampling-literace.tsv. The columns of the former are
# described at the head of bench/programs/sampling_measure.cpp.
tables_of_found() {
  awk -F'\t' -v literace="$results/sampling-literace.tsv" -v data="$results/sampling-found.dat" '
    function note_cell(race, rate, share, low, high) {
      cell[race, rate] = sprintf("%.*f (%.*f-%.*f)", digits(share), share, digits(low), low, digits(high), high)
      value[race, rate] = share
      print race "\t" rate "\t" share "\t" low "\t" high > data
    }
    function digits(percent) { return percent < 9.95 ? 1 : 0 }
    # Whether the interval has the rate in it: as asked for, and as it was.
    function judge(race, rate, low, high) {
      if (rate >= 100) return
      ++judged
      within_asked += low <= rate && rate <= high
      within_effective += low <= effective[program_of[race], rate] && effective[program_of[race], rate] <= high
    }
    function table(kind, title,    r, c, line, races_of_kind, sum, names) {
      line = "| " title " |"
      for (c = 1; c <= rates; ++c) line = line " " rate_list[c] "% |"
      print line
      line = "| --- |"
      for (c = 1; c <= rates; ++c) line = line " ---: |"
      print line
      for (r = 1; r <= races; ++r) {
        if (kind_of[race_list[r]] != kind) continue
        ++races_of_kind
        line = "| " race_list[r] " |"
        for (c = 1; c <= rates; ++c) {
          line = line " " cell[race_list[r], rate_list[c]] " |"
          sum[c] += value[race_list[r], rate_list[c]]
        }
        print line
      }
      if (races_of_kind < 2) return
      line = "| **mean** |"
      for (c = 1; c <= rates; ++c) line = line sprintf(" **%.*f** |", digits(sum[c] / races_of_kind), sum[c] / races_of_kind)
      print line
    }
    {
      program = $1; race = $2; rate = $4 + 0
      program_of[race] = program; kind_of[race] = $3
      if (!(race in known)) { known[race] = 1; race_list[++races] = race }
      if (!(rate in known_rate)) { known_rate[rate] = 1; rate_list[++rates] = rate }
      if (!(program in known_program)) { known_program[program] = 1; program_list[++programs] = program }
      found[race, rate] = 100 * $7; low[race, rate] = 100 * $8; high[race, rate] = 100 * $9
      occurrences[race, rate] = $10; uncertain[race, rate] = $11
      effective[program, rate] = 100 * $12
    }
    END {
      for (r = 1; r <= races; ++r) {
        race = race_list[r]
        all = occurrences[race, 100]
        for (c = 1; c <= rates; ++c) {
          rate = rate_list[c]
          if (kind_of[race] == "often") {
            share = 100 * occurrences[race, rate] / all
            half = 100 * uncertain[race, rate] / all
            note_cell(race, rate, share, share > half ? share - half : 0, share + half)
            judge(race, rate, share - half, share + half)
          } else {
            note_cell(race, rate, found[race, rate], low[race, rate], high[race, rate])
            if (kind_of[race] == "once") judge(race, rate, low[race, rate], high[race, rate])
          }
        }
      }
      print "Races that have one chance per run: percentage of the runs that find them, with 95% intervals (Wilson).\n"
      table("once", "race")
      print "\nRaces that occur again and again, each time on other memory: percentage of the occurrences that are found,"
      print "with 95% intervals of the mean over the runs.\n"
      table("often", "race")
      print "\nThe race on one variable that both threads write all the time: percentage of the runs that find it.\n"
      table("at will", "race")
      print "\nHow much was sampled, all work of all runs together, in percent:\n"
      line = "| program |"
      for (c = 1; c <= rates; ++c) line = line " " rate_list[c] "% |"
      print line
      line = "| --- |"
      for (c = 1; c <= rates; ++c) line = line " ---: |"
      print line
      for (p = 1; p <= programs; ++p) {
        line = "| " program_list[p] " |"
        for (c = 1; c <= rates; ++c) line = line sprintf(" %.2f |", effective[program_list[p], rate_list[c]])
        print line
      }
      printf "\nOf the %d intervals of the first two tables below 100%%, %d contain the rate that was asked for, and %d the rate that\n",
        judged, within_asked, within_effective
      printf "was in effect; by chance %d would.\n", int(0.95 * judged + 0.5)
      print "\nLiteRace, on one recorded run of each program, of a fifth of its usual length (occurrences found):\n"
      print "| race | LiteRace |"
      print "| --- | ---: |"
      while ((getline line < literace) > 0) {
        split(line, part, "\t")
        printf "| %s | %s |\n", part[2], (part[4] > 0 ? part[4] : "**missed**")
      }
    }' "$results/sampling-found.tsv"
}

# From sampling-horizon.tsv: the races of sampling_cold with the usual horizon.
table_of_horizon() {
  # shellcheck disable=SC2016 # words for a page
  printf '\nAll this is with `--horizon forever`. With the usual horizon, which is as long as 3 periods, percentage of the runs:\n\n'
  awk -F'\t' '
    {
      if (!($2 in known)) { known[$2] = 1; race[++races] = $2 }
      if (!($4 in known_rate)) { known_rate[$4] = 1; rate[++rates] = $4 }
      cell[$2, $4] = sprintf("%.0f (%.0f-%.0f)", 100 * $7, 100 * $8, 100 * $9)
    }
    END {
      printf "| race |"
      for (c = 1; c <= rates; ++c) printf " %s%% |", rate[c]
      printf "\n| --- |"
      for (c = 1; c <= rates; ++c) printf " ---: |"
      print ""
      for (r = 1; r <= races; ++r) {
        printf "| %s |", race[r]
        for (c = 1; c <= rates; ++c) printf " %s |", cell[race[r], rate[c]]
        print ""
      }
    }' "$results/sampling-horizon.tsv"
}

plot_found() {
  local kind once often
  for kind in once often; do
    awk -F'\t' -v kind="$kind" '$3 == kind && !seen[$2]++ { printf "%s ", $2 }' "$results/sampling-found.tsv" \
      >"$results/sampling-$kind.list"
  done
  once="$(cat "$results/sampling-once.list")"
  often="$(cat "$results/sampling-often.list")"
  gnuplot <<PLOT
set terminal svg size 1000,600 font "sans,12" background "white"
set output "$results/sampling-found.svg"
set multiplot layout 1,2
set datafile separator "\t"
set logscale xy
set xrange [0.8:125]
set yrange [0.2:125]
set xtics (1, 3, 5, 10, 25, 50, 100)
set ytics (0.3, 1, 3, 5, 10, 25, 50, 100)
set grid
set xlabel "rate, percent"
set key outside bottom center horizontal maxcols 3 font ",10"
set ylabel "runs that find it, percent"
set title "One chance per run"
plot x with lines lc rgb "#999999" dt 2 title "in proportion", \
  for [race in "$once"] "< grep -P '^".race."\t' $results/sampling-found.dat" using (\$2*(1+0.015*(strlen(race)%7-3))):3:4:5 \
  with yerrorlines lw 1 pt 7 ps 0.4 title race noenhanced
set ylabel "occurrences found, percent"
set title "Many occurrences"
plot x with lines lc rgb "#999999" dt 2 title "in proportion", \
  for [race in "$often"] "< grep -P '^".race."\t' $results/sampling-found.dat" using (\$2*(1+0.015*(strlen(race)%7-3))):3:4:5 \
  with yerrorlines lw 1 pt 7 ps 0.4 title race noenhanced
unset multiplot
PLOT
}

build_sampling_programs() {
  local runtime="$build/lib/deadheat/libdeadheat_rt.a" arrays
  arrays="$(printf '%s ' bench/programs/array_*.cpp)"
  compile native-clang++ script/bench bench/programs/kernels.cpp clang++-19
  compile deadheat-clang++ "$runtime" bench/programs/kernels.cpp "$deadheat" c++ --cxx=clang++-19
  compile arrays-native script/bench "$arrays" clang++-19
  compile arrays-deadheat "$runtime" "$arrays" "$deadheat" c++ --cxx=clang++-19
}

# sampled_programs ARRAY_PERCENT KERNEL_PERCENT: the programs to sample, one per line:
# name, executable without and with the detector, percentage of the usual repetitions.
# Short runs have few periods at a low rate. --quick takes every fourth program.
sampled_programs() {
  local program arrays kernels=("${threaded_kernels[@]}") array_percent="$1" kernel_percent="$2"
  mapfile -t arrays < <("$results/arrays-native" --list)
  if [[ "$quick" == yes ]]; then
    kernel_percent=200 array_percent=4
    arrays=("${arrays[0]}" "${arrays[4]}" "${arrays[8]}")
    kernels=("${kernels[0]}" "${kernels[4]}")
  fi
  for program in "${arrays[@]}"; do
    echo "$program $results/arrays-native $results/arrays-deadheat $array_percent"
  done
  for program in "${kernels[@]}"; do
    echo "$program $results/native-clang++ $results/deadheat-clang++ $kernel_percent"
  done
}

measure_sampling_rate() {
  local runs="${SAMPLING_RATE_RUNS:-2}" program without with percent plan
  plan="1:$runs,3:$runs,10:$runs,25:$runs"
  say "sampling: effective rates"
  build_sampling_driver
  build_sampling_programs
  # Seconds each: at 1% a period comes every tenth of a second.
  sampled_programs 60 3600 | while read -r program _ with percent; do
    printf '%s\t%s %s %s\n' "$program" "$with" "$program" "$percent"
  done >"$results/sampling-rate.commands"
  g++ -std=c++20 -O2 -static bench/programs/measure.cpp -o "$results/measure"
  sampled_programs 60 3600 | while read -r program without _ percent; do
    printf '%s\t%s %s %s\n' "$program" "$without" "$program" "$percent"
  done | "$results/measure" --runs 2 >"$results/sampling-rate.native"
  sampling_driver effective "$plan" <"$results/sampling-rate.commands" >"$results/sampling-rate.tsv"
  {
    printf 'Measured on: %s. %s.\n\n' "$(machine)" \
      "$( ((runs > 1)) && echo "Mean and standard deviation of $runs runs" || echo "One run each")"
    awk -F'\t' '
      FNR == NR {
        native[$1] = $4 == "ok" ? sprintf("%.2f", $2) : "-"
        next
      }
      {
        if (!($1 in known)) { known[$1] = 1; name[++programs] = $1 }
        if (!($2 in known_rate)) { known_rate[$2] = 1; rate[++rates] = $2 }
        cell[$1, $2] = $3 > 1 ? sprintf("%.2f ± %.2f", $4, $5) : sprintf("%.2f", $4)
        sum[$2] += $4
        work[$1, $2] = $9 / 1000
      }
      END {
        printf "| program |"
        for (c = 1; c <= rates; ++c) printf " %s%% |", rate[c]
        printf " native, s |"
        for (c = 1; c <= rates; ++c) printf " work at %s%%, s |", rate[c]
        printf "\n| --- |"
        for (c = 1; c <= 2 * rates + 1; ++c) printf " ---: |"
        print ""
        for (p = 1; p <= programs; ++p) {
          printf "| %s |", name[p]
          for (c = 1; c <= rates; ++c) printf " %s |", cell[name[p], rate[c]]
          printf " %s |", native[name[p]]
          for (c = 1; c <= rates; ++c) printf " %.2f |", work[name[p], rate[c]]
          print ""
        }
        printf "| **mean** |"
        for (c = 1; c <= rates; ++c) printf " **%.2f** |", sum[rate[c]] / programs
        for (c = 1; c <= rates + 1; ++c) printf " |"
        print ""
      }' "$results/sampling-rate.native" "$results/sampling-rate.tsv"
  } | tee "$results/sampling-rate.md"
  replace_section sampling-rate "$results/sampling-rate.md"
}

# "full" is detection without sampling.
readonly sampling_rates=(0% 1% 3% 10% 25% 100% full)

# Runs at the rates that people use are long enough for some periods; the others would take hours then.
takes_long_runs() { [[ " 0% 1% 3% " == *" $1 "* ]]; }

# commands_of_cost ARRAY_PERCENT KERNEL_PERCENT LABEL RATE...: the programs natively, which gets that label, and at these rates.
commands_of_cost() {
  local program without with percent rate label="$3" array_percent="$1" kernel_percent="$2"
  shift 3
  sampled_programs "$array_percent" "$kernel_percent" | while read -r program without with percent; do
    printf '%s %s\t%s %s %s\n' "$program" "$label" "$without" "$program" "$percent"
    for rate in "$@"; do
      case "$rate" in
        full) printf '%s full\t%s %s %s\n' "$program" "$with" "$program" "$percent" ;;
        *)
          printf '%s %s\tenv DEADHEAT_OPTIONS=rate=%s %s %s %s\n' "$program" "$rate" "$((${rate%\%} * 10000))" "$with" \
            "$program" "$percent"
          ;;
      esac
    done
  done
}

measure_sampling_cost() {
  local runs="${SAMPLING_COST_RUNS:-3}" time_limit=300 rate columns="" long=() short=()
  if [[ "$quick" == yes ]]; then runs=1 time_limit=60; fi
  say "sampling: time and memory by rate"
  build_sampling_programs
  for rate in "${sampling_rates[@]}"; do
    if takes_long_runs "$rate"; then
      long+=("$rate") columns+="${columns:+;}$rate=$rate native"
    else
      short+=("$rate") columns+="${columns:+;}$rate=$rate native-short"
    fi
  done
  {
    commands_of_cost 40 3000 native "${long[@]}"
    commands_of_cost 4 300 native-short "${short[@]}"
  } >"$results/sampling-cost.commands"
  measure_ways sampling-cost program "native native-short ${sampling_rates[*]}" "$columns" "$runs" "$time_limit" \
    "time and memory by rate"
  plot_cost
  publish_plot sampling-cost-overhead.svg
}

# Every program a thin line, their geometric mean a thick one; what full detection takes
# as a level.
plot_cost() {
  local measure
  for measure in time memory; do
    awk -F'\t' -v rates="${sampling_rates[*]}" '
      BEGIN {
        gsub("%", "", rates)
        count = split(rates, rate, " ")
      }
      {
        if (NR > 1) printf "\n\n"
        for (c = 1; c < count; ++c) if ($(c + 1) != "-") printf "%s\t%s\t%s\n", $1, rate[c], $(c + 1)
      }' "$results/sampling-cost.$measure.dat" >"$results/sampling-cost.$measure.lines"
  done
  gnuplot <<PLOT
set terminal svg size 1000,480 font "sans,12" background "white"
set output "$results/sampling-cost-overhead.svg"
set multiplot layout 1,2
set datafile separator "\t"
set xlabel "rate, percent"
set ylabel "times native"
set logscale y 2
set grid
set xrange [-2:102]
set key outside bottom center
do for [measure in "time memory"] {
  lines = "$results/sampling-cost.".measure.".lines"
  set title (measure eq "time" ? "CPU time" : "Peak resident memory")
  stats lines using 2 nooutput
  full = real(system("tail -n 1 $results/sampling-cost.".measure.".dat | awk -F'\t' '{ print (\$NF == \"-\" ? 1 : \$NF) }'"))
  plot for [at = 0 : STATS_blocks - 2] lines index at using 2:3 with lines lc rgb "#bbbbbb" notitle, \
    lines index (STATS_blocks - 1) using 2:3 with linespoints lw 3 pt 7 lc rgb "#4c72b0" title "geometric mean", \
    full with lines dt 2 lw 2 lc rgb "#c44e52" title "full detection (geometric mean)"
}
unset multiplot
PLOT
}

measure_sampling_sync() {
  local counts=(2 8 32 128 512) rounds=5 way how threads round
  if [[ "$quick" == yes ]]; then rounds=1; fi
  say "sampling: lock and unlock by number of threads"
  compile sync-native script/bench bench/programs/sampling_sync.cpp clang++-19 -Itests/programs
  compile sync-deadheat "$build/lib/deadheat/libdeadheat_rt.a" bench/programs/sampling_sync.cpp "$deadheat" c++ \
    --cxx=clang++-19 -Itests/programs
  for ((round = 0; round < rounds; ++round)); do
    for how in own handed; do
      for threads in "${counts[@]}"; do
        for way in native 0 full; do
          printf '%s %s\t%s\t%s\n' "$how" "$way" "$threads" "$(run_sync "$way" "$how" "$threads")"
        done
      done
    done
  done >"$results/sampling-sync.tsv"
  {
    printf 'Measured on: %s. Least of %s medians, in ns.\n\n' "$(machine)" "$rounds"
    awk -F'\t' '
      $3 != "" {
        if (!($2 in known)) { known[$2] = 1; threads[++counts] = $2 }
        if (!(($1, $2) in least) || $3 < least[$1, $2]) least[$1, $2] = $3
      }
      function row(key, title,    c) {
        printf "| %s |", title
        for (c = 1; c <= counts; ++c) printf " %.0f |", least[key, threads[c]]
        print ""
      }
      END {
        printf "| threads |"
        for (c = 1; c <= counts; ++c) printf " %s |", threads[c]
        printf "\n| --- |"
        for (c = 1; c <= counts; ++c) printf " ---: |"
        print ""
        row("own native", "own mutex, native")
        row("own 0", "own mutex, **rate 0**")
        row("own full", "own mutex, full detection")
        row("handed native", "mutex handed round, native")
        row("handed 0", "mutex handed round, **rate 0**")
        row("handed full", "mutex handed round, full detection")
      }' "$results/sampling-sync.tsv"
  } | tee "$results/sampling-sync.md"
  replace_section sampling-sync "$results/sampling-sync.md"
}

# run_sync WAY HOW THREADS: nanoseconds.
run_sync() {
  case "$1" in
    native) "$results/sync-native" "$2" "$3" ;;
    full) "$results/sync-deadheat" "$2" "$3" ;;
    *) DEADHEAT_OPTIONS="rate=$(($1 * 10000))" "$results/sync-deadheat" "$2" "$3" ;;
  esac
}
