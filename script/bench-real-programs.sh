# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Real programs for script/bench (bench-sampling-real.sh): Debian's source packages, each built twice, natively by
# clang 19 and by the wrapper, which takes clang 19 and the compiler pass. Both have -O2 -g.
#
#   build/bench/real/apt                a configuration of apt: the sources of what the system gets its packages from
#   build/bench/real/packages, sources  what was fetched, and unpacked with Debian's changes
#   build/bench/real/native, deadheat   a copy of the sources for each program, built there
#
# The system's own configuration and lists of packages stay as they are. What is there already is used again; programs
# of the wrapper are built anew if the runtime or the pass has changed. What cannot be fetched or built is named in one
# line and left out.

readonly real="$repository_root/$results/real"
readonly real_flags="-O2 -g"
# Programs and the packages that they are made of; the first one has the program.
declare -rA packages_of=([pbzip2]="pbzip2 bzip2" [xz]=xz-utils [lbzip2]=lbzip2 [zstd]=libzstd [redis]=redis [memcached]=memcached)
declare -rA real_paths=([pbzip2]=pbzip2/pbzip2 [xz]=xz-utils/src/xz/xz [lbzip2]=lbzip2/src/lbzip2
  [zstd]=libzstd/programs/zstd [redis]=redis/src/redis-server [memcached]=memcached/memcached)

# real_program WAY NAME: where it is.
real_program() { echo "$real/$1/$2/${real_paths[$2]}"; }

private_apt() {
  apt-get -q -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$real/apt/sources.list.d" \
    -o Dir::State::lists="$real/apt/lists" -o Dir::Cache="$real/apt/cache" -o APT::Sandbox::User=root "$@"
}

# From where packages come, sources come as well: the same lines with `deb-src` in place of `deb`.
make_private_apt() {
  local file
  if [[ -d "$real/apt/lists/partial" ]]; then return; fi
  mkdir -p "$real/apt/sources.list.d" "$real/apt/lists/partial" "$real/apt/cache"
  for file in /etc/apt/sources.list.d/*.sources; do
    if [[ -e "$file" ]]; then sed 's/^Types:.*/Types: deb-src/' "$file" >"$real/apt/sources.list.d/${file##*/}"; fi
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    if [[ -e "$file" ]]; then sed -n 's/^deb\( .*\)/deb-src\1/p' "$file" >"$real/apt/sources.list.d/${file##*/}.list"; fi
  done
  # Places that have no sources are no reason to do without the others.
  private_apt update >"$real/apt/log" 2>&1 || true
}

# fetch_source PACKAGE: into build/bench/real/sources/PACKAGE, the version beside it. Where Debian's changes cannot be
# fetched the authors' archive has to do.
fetch_source() {
  local package="$1" packed="$real/packages/$1" unpacked="$real/sources/$1" archive
  if [[ -s "$unpacked.version" ]]; then return; fi
  make_private_apt
  rm -rf "$packed" "$unpacked"
  mkdir -p "$packed" "$real/sources"
  if (cd "$packed" && private_apt source --download-only "$package") >>"$real/apt/log" 2>&1; then
    dpkg-source --no-check -x "$packed"/*.dsc "$unpacked" >>"$real/apt/log" 2>&1 &&
      sed -n 's/^Version: //p' "$packed"/*.dsc | head -n 1 >"$unpacked.version"
  elif (cd "$packed" && private_apt source --download-only --tar-only "$package") >>"$real/apt/log" 2>&1; then
    archive="$(find "$packed" -name '*.orig.tar.*' ! -name '*.asc')"
    mkdir "$unpacked"
    tar xf "$archive" -C "$unpacked" --strip-components=1 &&
      archive="${archive##*_}" &&
      echo "${archive%.orig.*} without Debian's changes" >"$unpacked.version"
  fi
  [[ -s "$unpacked.version" ]]
}

# build_NAME: in a directory with a copy of each of its packages; CC and CXX are in the environment.
build_pbzip2() {
  # shellcheck disable=SC2086
  make -C bzip2 CC="$CC" CFLAGS="$real_flags -D_FILE_OFFSET_BITS=64" libbz2.a &&
    $CXX $real_flags -pthread -Ibzip2 -D_LARGEFILE_SOURCE -D_FILE_OFFSET_BITS=64 -DUSE_STACKSIZE_CUSTOMIZATION \
      -Wno-reserved-user-defined-literal pbzip2/*.cpp bzip2/libbz2.a -o pbzip2/pbzip2
}

# configure_and_make DIRECTORY OPTION...
configure_and_make() {
  local directory="$1"
  shift
  (cd "$directory" && CFLAGS="$real_flags" ./configure -q "$@") && make -C "$directory" -j "$cores"
}
build_xz() { configure_and_make xz-utils --disable-shared --disable-nls --disable-doc; }

# Without Debian's changes gnulib does not know today's libc; the definitions tell it.
build_lbzip2() { CPPFLAGS="-D_IO_ftrylockfile -D_IO_IN_BACKUP=0x100" configure_and_make lbzip2; }

# Its own flags turn warnings into errors: those that are given to make take their place.
build_memcached() {
  (cd memcached && ./configure -q --disable-docs --disable-coverage) &&
    make -C memcached -j "$cores" memcached CFLAGS="$real_flags -pthread"
}

build_zstd() {
  make -C libzstd/programs -j "$cores" zstd CC="$CC" CFLAGS="$real_flags" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0
}

build_redis() { make -C redis -j "$cores" redis-server CC="$CC" CXX="$CXX" OPTIMIZATION=-O2 MALLOC=libc; }

# build_real_way WAY NAME
build_real_way() {
  local way="$1" name="$2" place="$real/$1/$2" package CC=clang-19 CXX=clang++-19 dependencies=()
  if [[ "$way" == deadheat ]]; then
    CC="$build/bin/deadheat-cc --cc=clang-19" CXX="$build/bin/deadheat-c++ --cxx=clang++-19"
    dependencies=("$build/lib/deadheat")
  fi
  if [[ -e "$place/built" && -z "$(find script/bench-real-programs.sh "${dependencies[@]}" -newer "$place/built" -print -quit)" ]]; then return; fi
  say "building $name ($way)"
  rm -rf "$place"
  mkdir -p "$place"
  for package in ${packages_of[$name]}; do cp -a "$real/sources/$package" "$place/$package"; done
  if (export CC CXX && cd "$place" && "build_$name") >"$place.log" 2>&1 && [[ -x "$(real_program "$way" "$name")" ]]; then
    touch "$place/built"
    return
  fi
  say "$name cannot be built ($way; $place.log says why): left out"
  return 1
}

# build_real NAME: both, or it says why not and fails.
build_real() {
  local name="$1" package
  for package in ${packages_of[$name]}; do
    if fetch_source "$package"; then continue; fi
    say "the sources of $package cannot be fetched ($real/apt/log says why): $name is left out"
    return 1
  done
  build_real_way native "$name" && build_real_way deadheat "$name"
}

# "NAME VERSION, ..." of the programs named.
real_versions() {
  local name package text=""
  for name in "$@"; do
    for package in ${packages_of[$name]}; do text+=", $package $(cat "$real/sources/$package.version")"; done
  done
  echo "${text#, }"
}
