#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# in_clean_root.sh: what a new user does, on a machine that has Debian's minimum and nothing else. `script/package
# --clean-root` starts it inside of such a root, with the Debian packages in /deadheat/packages and the repository's
# examples in /deadheat/examples. It follows docs/guide.md, and runs the commands of the workflow for GitHub.
set -euo pipefail

readonly examples=/deadheat/examples
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

fail() {
  echo "in_clean_root: $*" >&2
  exit 1
}

# expect CODE COMMAND...: shows its output, insists on its exit code.
expect() {
  local expected="$1" status=0
  shift
  "$@" || status=$?
  ((status == expected)) || fail "expected exit code $expected but saw $status from: $*"
}

step() { printf '\n== %s\n' "$*"; }

step "a project whose test has a race, and the packages beside it, as examples/ci/github-actions.yml wants them"
mkdir -p /project/third_party
cp -r /deadheat/packages /project/third_party/deadheat
cp "$examples/forgotten-lock/bank.cpp" "$examples/forgotten-lock/fixed.cpp" /project
cat >/project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(bank CXX)
find_package(Threads REQUIRED)
enable_testing()
foreach(name bank fixed)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE Threads::Threads)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
END
cd /project
mapfile -t commands < <(sed -nE 's/^ +- run: //p' "$examples/ci/github-actions.yml")
((${#commands[@]} >= 5)) || fail "examples/ci/github-actions.yml has only ${#commands[@]} commands"
for ((i = 0; i + 1 < ${#commands[@]}; ++i)); do
  step "${commands[i]}"
  bash -ec "${commands[i]}" >/tmp/output 2>&1 || fail "failed: $(tail -n 40 /tmp/output)"
  tail -n 25 /tmp/output
done
step "${commands[-1]}"
bash -ec "${commands[-1]}" >/tmp/output 2>&1 && fail "the race did not fail the tests: $(cat /tmp/output)"
cat /tmp/output
grep -qE "Account::deposit.*/bank\.cpp:12" /tmp/output || fail "no report in the output of ctest"
grep -qE "50% tests passed, 1 tests failed out of 2" /tmp/output || fail "another test than 'bank' failed as well"

step "by hand, as in the guide"
mkdir /by-hand && cd /by-hand
deadheat c++ -g -O1 -pthread "$examples/forgotten-lock/bank.cpp" -o bank
expect 66 deadheat run ./bank
deadheat c++ -g -O1 -pthread "$examples/forgotten-lock/fixed.cpp" -o fixed
expect 0 deadheat run ./fixed
expect 0 deadheat races list

step "find_package"
mkdir /with-package && cd /with-package
cp "$examples/forgotten-lock/bank.cpp" .
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(bank CXX)
find_package(Deadheat REQUIRED)
add_executable(bank bank.cpp)
target_link_libraries(bank PRIVATE Deadheat::runtime)
END
cmake -B build -G Ninja >/dev/null
cmake --build build >/dev/null
expect 66 deadheat run --quiet ./build/bank

step "pkg-config"
apt-get -qq install -y --no-install-recommends pkg-config >/dev/null 2>&1
mkdir /with-pkg-config && cd /with-pkg-config
# shellcheck disable=SC2046
g++ -g -O1 $(pkg-config --cflags deadheat) -c "$examples/forgotten-lock/bank.cpp"
# shellcheck disable=SC2046
g++ bank.o -o bank $(pkg-config --libs deadheat)
expect 66 deadheat run --quiet ./bank

step "manual pages and completion"
[[ -s /usr/share/man/man1/deadheat.1 && -s /usr/share/man/man1/deadheat-run.1 ]] || fail "no manual pages"
[[ -s /usr/share/bash-completion/completions/deadheat ]] || fail "no completion"

step "with clang 19: the compiler pass"
apt-get -qq install -y --no-install-recommends clang-19 >/dev/null 2>&1
cd /by-hand
deadheat c++ --cxx=clang++-19 --explain -g -O1 -pthread "$examples/off-by-one/pixels.cpp" -o pixels
expect 66 deadheat run --quiet ./pixels
deadheat doctor

step "removal"
apt-get -qq purge -y deadheat libdeadheat libdeadheat-dev >/dev/null 2>&1
left="$(find /usr /etc /var/lib -xdev -iname '*deadheat*' ! -path '/var/lib/dpkg/*' ! -path '/var/lib/apt/*')"
[[ -z "$left" ]] || fail "left behind: $left"
echo "all of it works"
