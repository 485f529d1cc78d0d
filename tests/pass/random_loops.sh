#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# random_loops.sh GENERATOR DEADHEAT SUPPORT [FIRST_SEED [COUNT]]: programs of random
# loops, compiled in each way; the arrays that are reported must be those on which
# the loops, carried out one access at a time, have a race.
set -euo pipefail

generator="$1" deadheat="$2" support="$3" first="${4:-1}" count="${5:-${DEADHEAT_TEST_LOOPS:-2}}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failures=0
for ((seed = first; seed < first + count; ++seed)); do
  "$generator" "$seed" "$work/loops.c" | sort >"$work/expected"
  for way in "--pass=full -O2" "--pass=full -O1" "--pass=full -O3 -mavx2" "--pass=plain -O2" "--pass=full -O0"; do
    read -r -a options <<<"$way"
    if [[ "$way" == *avx2* ]] && ! grep -q avx2 /proc/cpuinfo; then continue; fi
    "$deadheat" cc --cc=clang-19 "${options[@]}" -w -I"$support" "$work/loops.c" -o "$work/loops"
    "$deadheat" run "$work/loops" >"$work/report" 2>&1 || true
    grep -oE '^[0-9]+\. .*' "$work/report" | grep -oE 'case_[0-9]+' | sort -u >"$work/found" || true
    if ! diff "$work/expected" "$work/found" >"$work/difference"; then
      echo "seed $seed, $way: expected (<) and found (>) differ"
      cat "$work/difference"
      failures=$((failures + 1))
    fi
  done
done
echo "$count programs, $failures failures"
((failures == 0))
