# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The part `hunt` of script/bench, which sources this: `deadheat hunt`.
#
# The programs of bench/programs/hidden have races that the usual order of their locks
# hides. Each is hunted with every strategy; those of hidden_clean must stay without a
# finding and print what they always do; those of hidden_deadlock are to be found out.
# Before that the reversed build of each program (bench/programs/hidden/hidden.h) proves
# that there is something to be found.

# STRATEGY:RUNSxHUNTS, of the programs with races, of those without, and of the deadlocks.
# Environment variables of these names make other plans.
readonly hunt_plan="${HUNT_PLAN:-native:10x3,contest:10x3,pct:10x3,drfinder:10x3,native:100,contest:100,pct:100}"
readonly hunt_clean_plan="${HUNT_CLEAN_PLAN:-native:10,contest:10,pct:10,drfinder:10}"
readonly hunt_deadlock_plan="${HUNT_DEADLOCK_PLAN:-native:10x3,contest:10x3,pct:10x3,drfinder:10x3}"
readonly quick_hunt_plan=native:3,contest:3,pct:3,drfinder:3
readonly hunt_programs="$results/hunt-programs"

measure_hunt() {
  local plan="$hunt_plan" clean_plan="$hunt_clean_plan" deadlock_plan="$hunt_deadlock_plan" plain_runs=20
  local program marked=() hidden=() clean=() deadlocks=() failed=no
  if [[ "$quick" == yes ]]; then
    plan="$quick_hunt_plan" clean_plan="$quick_hunt_plan" deadlock_plan="$quick_hunt_plan" plain_runs=3
  fi
  say "hunt: building the programs"
  build_hunt_driver
  build_hunt_programs
  mapfile -t hidden < <(list_hunt_programs hidden)
  mapfile -t clean < <(list_hunt_programs hidden_clean)
  mapfile -t deadlocks < <(list_hunt_programs hidden_deadlock)
  for program in "${hidden[@]}"; do marked+=("$program" "bench/programs/hidden/${program##*/}.cpp"); done
  say "hunt: what the programs are said to hide is there"
  prove_races "${hidden[@]}"
  prove_deadlocks "${deadlocks[@]}"
  say "hunt: hunting"
  hunt_driver plain "$plain_runs" "${hidden[@]}" >"$results/hunt-plain.tsv"
  # Findings that are none are in the table, and end this only when all is measured.
  hunt_driver found "$plan" "${marked[@]}" >"$results/hunt-found.tsv" || failed=yes
  hunt_driver clean "$clean_plan" "${clean[@]}" >"$results/hunt-clean.tsv" || failed=yes
  hunt_driver deadlock "$deadlock_plan" "${deadlocks[@]}" >"$results/hunt-deadlock.tsv" || failed=yes
  {
    printf 'Measured on: %s. Plan: %s.\n\n' "$(machine)" "$(sed -E 's/,/, /g; s/x([0-9])/ x \1/g; s/:/ /g' <<<"$plan")"
    tables_of_hunt
    printf '\n![races found, by number of runs](hunt.svg)\n'
  } | tee "$results/hunt.md"
  replace_section hunt "$results/hunt.md"
  plot_hunt
  publish_plot hunt.svg
  if [[ "$failed" == yes ]]; then die "hunt: something was found that is not there: grep ^error $results/hunt-*.tsv"; fi
}

build_hunt_driver() {
  if [[ -z "$(find bench/programs/hunt_measure.cpp bench/programs/hidden_races.h -newer "$results/hunt_measure" 2>&1)" ]]; then
    return
  fi
  g++ -std=c++20 -O2 bench/programs/hunt_measure.cpp -o "$results/hunt_measure"
}

# hunt_driver ARGUMENTS...
hunt_driver() {
  local directory status=0
  directory="$(mktemp -d)"
  "$results/hunt_measure" --deadheat "$deadheat" --directory "$directory/hunt" "$@" || status=$?
  rm -rf "$directory"
  return "$status"
}

# build_hunt_program SOURCE: in two ways, unless they are newer than all they depend on.
build_hunt_program() {
  local source="$1" output="$hunt_programs/${1#bench/programs/}"
  output="${output%.cpp}"
  if [[ -x "$output.reversed" ]] &&
    [[ -z "$(find "$source" bench/programs/hidden/hidden.h "$hunt_runtime" -newer "$output.reversed")" ]]; then
    return
  fi
  "$hunt_deadheat" c++ -std=c++20 -g -O1 -pthread "$source" -o "$output"
  "$hunt_deadheat" c++ -std=c++20 -g -O1 -pthread -DHIDDEN_REVERSED "$source" -o "$output.reversed"
}

build_hunt_programs() {
  mkdir -p "$hunt_programs"/{hidden,hidden_clean,hidden_deadlock}
  export -f build_hunt_program
  # shellcheck disable=SC2016
  printf '%s\0' bench/programs/hidden{,_clean,_deadlock}/*.cpp |
    env hunt_programs="$hunt_programs" hunt_deadheat="$deadheat" hunt_runtime="$build/lib/deadheat/libdeadheat_rt.a" \
      xargs --null --max-procs="$cores" --max-args=1 bash -euc 'build_hunt_program "$1"' build_hunt_program
}

# list_hunt_programs FOLDER: one per line.
list_hunt_programs() {
  local source
  for source in bench/programs/"$1"/*.cpp; do
    source="${source##*/}"
    echo "$hunt_programs/$1/${source%.cpp}"
  done
}

# prove_races PROGRAM...: one plain run of the reversed build has every marked race, on the
# marked lines. The driver knows only hunts; a native hunt of one run is a plain run.
prove_races() {
  local program marked=()
  for program in "$@"; do marked+=("$program.reversed" "bench/programs/hidden/${program##*/}.cpp"); done
  # On a busy machine even these can come the other way round.
  hunt_driver found native:3 "${marked[@]}" >"$results/hunt-proof.tsv" 2>/dev/null || die "hunt: see $results/hunt-proof.tsv"
  awk -F'\t' '$1 == "race" && $7 == 0 { print "deadheat: error: hunt: not shown by the reversed build: " $3; failed = 1 }
    END { exit failed }' "$results/hunt-proof.tsv" >&2
}

# prove_deadlocks PROGRAM...: the reversed build hangs, the other does not.
prove_deadlocks() {
  local program status
  for program in "$@"; do
    status=0
    timeout 5 "$program.reversed" >/dev/null 2>&1 || status=$?
    ((status == 124)) || die "hunt: the reversed build of ${program##*/} does not deadlock"
  done
}

# From the tables of bench/programs/hunt_measure.cpp, which describes their columns. Also
# leaves the races found after each run in hunt.dat.
tables_of_hunt() {
  awk -F'\t' -v data="$results/hunt.dat" '
    function column_of(strategy, runs) {
      if (!((strategy, runs) in number)) {
        number[strategy, runs] = ++columns
        strategy_of[columns] = strategy
        runs_of[columns] = runs
      }
      return number[strategy, runs]
    }
    # Of a table of races or deadlocks; titles are the first columns.
    function heading(kind, titles,    c, line, rule) {
      line = "| " titles " |"
      rule = titles
      gsub(/[^|]+/, " --- ", rule)
      rule = "|" rule "|"
      for (c = 1; c <= columns; ++c) {
        if (!is_used[kind, c]) continue
        line = line " " strategy_of[c] ", " runs_of[c] " |"
        rule = rule " ---: |"
      }
      print line "\n" rule
    }
    # How many of the hunts found it; of a single one, in which run.
    function cell(what, c) {
      if (hunted[what, c] > 1) return (found[what, c] + 0) "/" hunted[what, c]
      return found[what, c] ? "run " first[what, c] : "-"
    }
    function row(kind, title, what,    c, line) {
      line = "| " title " |"
      for (c = 1; c <= columns; ++c) if (is_used[kind, c]) line = line " " cell(what, c) " |"
      print line
    }
    function note(kind, what, c, first_run) {
      is_used[kind, c] = 1
      ++hunted[what, c]
      if (first_run > 0) { ++found[what, c]; first[what, c] = first_run }
    }
    function ratio(above, below, format) { return below > 0 ? sprintf(format, above / below) : "-" }

    $1 == "plain" { plain[$2] = $3; plain_runs += $4; plain_racy += $5 }
    $1 == "error" { ++errors; next }
    FILENAME ~ /clean/ && $1 == "hunt" { clean[$2] = 1; clean_runs += $4 }
    FILENAME ~ /found/ && $1 == "hunt" {
      c = column_of($3, $4)
      runs[c] += $4
      suspensions[c] += $8; thrashings[c] += $9; timeouts[c] += $10; suspended[c] += $11
      if (plain[$2] > 0 && $6 > 0) { cost[c] += log($6 / plain[$2]); ++costs[c] }
    }
    $1 == "race" {
      c = column_of($4, $5)
      if (!($3 in program_of)) { program_of[$3] = $2; race[++races] = $3 }
      note("race", $3, c, $7)
      ++hunts[c, $6]
      if ($7 > 0) { ++total[c]; ++by_run[c, $7] }
    }
    $1 == "deadlock" {
      if (!($2 in known)) { known[$2] = 1; deadlock[++deadlocks] = $2 }
      note("deadlock", $2, column_of($3, $4), $6)
    }

    END {
      for (key in hunts) { split(key, part, SUBSEP); ++hunt_count[part[1]] }
      print "Races found, by strategy and number of runs: in how many of the hunts, or in which run of a single one.\n"
      heading("race", "program | race")
      for (r = 1; r <= races; ++r) row("race", program_of[race[r]] " | " race[r], race[r])
      line = "| **races per hunt, of " races "** | |"
      for (c = 1; c <= columns; ++c) if (is_used["race", c]) line = line " **" ratio(total[c] + 0, hunt_count[c], "%.1f") "** |"
      print line
      print "\nWhat it took: time in multiples of a plain `deadheat run` (geometric mean of the programs), and what the"
      print "strategies did in a run.\n"
      print "| strategy, runs | time | suspensions | suspended, ms | thrashing | at the time limit |"
      print "| --- | ---: | ---: | ---: | ---: | ---: |"
      for (c = 1; c <= columns; ++c) {
        if (!runs[c]) continue
        printf "| %s, %d | %s | %s | %s | %s%s | %s |\n", strategy_of[c], runs_of[c],
          (costs[c] ? sprintf("%.2f", exp(cost[c] / costs[c])) : "-"), ratio(suspensions[c], runs[c], "%.2f"),
          ratio(suspended[c], runs[c], "%.1f"), ratio(100 * thrashings[c], suspensions[c], "%.1f"),
          (suspensions[c] ? "%" : ""), ratio(timeouts[c], runs[c], "%.2f")
      }
      print "\nThrashing is in percent of the suspensions.\n\nDeadlocks found, likewise:\n"
      heading("deadlock", "program")
      for (d = 1; d <= deadlocks; ++d) row("deadlock", deadlock[d], deadlock[d])
      for (program in clean) ++clean_programs
      printf "\n%d programs without races and deadlocks, %d runs, and all of the above: %s.\n", clean_programs, clean_runs,
        (errors ? "**" errors " findings or outputs that should not be**" : "nothing was found that is not there, and every output was as it should be")
      printf "Plain runs of the programs with races, before: %d of %d had one.\n", plain_racy, plain_runs

      # The longest hunts of each strategy.
      for (c = 1; c <= columns; ++c) {
        if (runs[c] && runs_of[c] > runs_of[longest[strategy_of[c]]] + 0) longest[strategy_of[c]] = c
      }
      for (strategy in longest) {
        c = longest[strategy]
        sum = 0
        for (n = 1; n <= runs_of[c]; ++n) {
          sum += by_run[c, n]
          printf "%s\t%d\t%.3f\t%d\n", strategy, n, sum / hunt_count[c], races > data
        }
      }
    }' "$results"/hunt-{plain,found,clean,deadlock}.tsv
}

plot_hunt() {
  gnuplot <<PLOT
set terminal svg size 760,440 font "sans,13" background "white"
set output "$results/hunt.svg"
set title "Hidden races found, by number of runs"
set datafile separator "\t"
stats "$results/hunt.dat" using 4 nooutput
races = STATS_max
set logscale x
set xlabel "runs"
set ylabel "races found, mean of the hunts"
set xrange [0.9:*]
set yrange [-0.5:races * 1.08]
set xtics (1, 2, 3, 5, 10, 20, 30, 50, 100)
set grid
set key outside bottom center horizontal
strategies = "drfinder pct contest native"
colour(at) = word("#4c72b0 #dd8452 #55a868 #c44e52", at)
plot races with lines lc rgb "#999999" dt 2 title "all", \
  for [at = 1 : words(strategies)] "< grep -P '^".word(strategies, at)."\t' $results/hunt.dat" using 2:3 \
  with steps lw 2 lc rgb colour(at) title word(strategies, at)
PLOT
}
