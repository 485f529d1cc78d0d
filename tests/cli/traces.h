// SPDX-License-Identifier: Apache-2.0
// Small traces for the tests of the command line.
#pragma once

namespace deadheat {

// One race: the teller writes under a lock that main does not take.
inline constexpr char kRacyTrace[] = R"(thread 0 main
thread 1 teller
name accounts 0x601040 64
lock audit 0x51
0 fork 1 @ main.cpp:5(main)
0 write accounts+8 8 @ bank.cpp:31(transfer)
1 enter @ main.cpp:7(serve)
1 acquire audit @ bank.cpp:40(deposit)
1 write accounts+8 8 @ bank.cpp:42(deposit)
1 release audit @ bank.cpp:43(deposit)
1 leave
0 join 1
)";

// The same with the lock on both sides.
inline constexpr char kQuietTrace[] = R"(0 fork 1
0 acquire audit
0 write balance 8
0 release audit
1 acquire audit
1 write balance 8
1 release audit
0 join 1
)";

// Races in its first four events; the fifth releases a lock that nobody holds.
inline constexpr char kInvalidTrace[] = R"(0 fork 1
0 write balance 8
1 write balance 8
1 read balance 8
1 release audit
0 join 1
)";

}  // namespace deadheat
