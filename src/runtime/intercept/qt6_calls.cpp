// SPDX-License-Identifier: Apache-2.0
// Wrappers of Qt 6 (qt_calls.h).
#define QT_LIBRARY "libQt6Core"
#include "runtime/intercept/qt_calls.h"
