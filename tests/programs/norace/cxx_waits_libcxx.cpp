// SPDX-License-Identifier: Apache-2.0
// record: no (a race that headers of the library have among themselves is hidden in the report only)
// The same with libc++.
// compilers: clang
// levels: -O2 (the other level is built with libstdc++)
// flags: -stdlib=libc++ -D_LIBCPP_ENABLE_EXPERIMENTAL
// libraries: -stdlib=libc++
// needs: /usr/lib/llvm-19/include/c++/v1/version
#include "cxx_waits.cpp"
