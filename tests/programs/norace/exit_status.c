// SPDX-License-Identifier: Apache-2.0
// The program's own exit status is handed on.
// exit: 3
int main(void) { return 3; }
