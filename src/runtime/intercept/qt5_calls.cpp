// SPDX-License-Identifier: Apache-2.0
// Wrappers of Qt 5 (qt_calls.h).
#define QT_LIBRARY "libQt5Core"
#include "runtime/intercept/qt_calls.h"
