# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of this directory share. Source it first; it moves to the
# root of the repository, so that every script works from any directory.

set -euo pipefail

repository_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$repository_root"

# One core at least, also where nproc is confined.
cores="$(nproc 2>/dev/null || echo 1)"
export CTEST_PARALLEL_LEVEL="$cores"

# What scripts run is no history that anybody will ask for.
export DEADHEAT_STORE="${DEADHEAT_STORE:-none}"

say() {
  printf 'deadheat: %s\n' "$*"
}

die() {
  printf 'deadheat: error: %s\n' "$*" >&2
  exit 1
}

# "8 s", "2 min 3 s".
duration() {
  local seconds="$1"
  if ((seconds < 60)); then
    printf '%d s' "$seconds"
  else
    printf '%d min %d s' "$((seconds / 60))" "$((seconds % 60))"
  fi
}

# list_files PATTERN...: files of the project whose names match, committed or
# not, one per line.
list_files() {
  local folders=() patterns=() folder pattern
  for folder in src include tests bench fuzz examples pass; do
    if [[ -d "$folder" ]]; then folders+=("$folder"); fi
  done
  for pattern in "$@"; do
    patterns+=(-o -name "$pattern")
  done
  find "${folders[@]}" -type f \( "${patterns[@]:1}" \) | LC_ALL=C sort
}

# The C++ files.
list_sources() {
  list_files '*.cpp' '*.h'
}

# Our shell scripts, one per line.
list_scripts() {
  find script .ci tests -type f \( -path 'script/*' -o -path '.ci/*' -o -name '*.sh' \) \
    -exec grep -lE '^#!.*\bbash\b|shellcheck shell=' {} + | LC_ALL=C sort
}

# Configures a preset; says nothing unless it fails.
configure() {
  local preset="$1" output
  if ! output="$(cmake --preset "$preset" 2>&1)"; then
    printf '%s\n' "$output" >&2
    die "cannot configure preset '$preset'; if a package is missing, script/bootstrap installs it"
  fi
}
