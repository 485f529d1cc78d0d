// SPDX-License-Identifier: Apache-2.0
// gcc's headers, in the order in which they need each other.
#pragma once

// clang-format off
#include "gcc-plugin.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "context.h"
#include "ssa.h"
#include "gimple-iterator.h"
#include "gimple-expr.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "fold-const.h"
#include "stor-layout.h"
#include "builtins.h"
#include "stringpool.h"
#include "attribs.h"
#include "asan.h"
#include "cfghooks.h"
#include "tree-cfg.h"
#include "tree-ssa-alias.h"
#include "tree-dfa.h"
#include "tree-ssa-loop-ivopts.h"
#include "memmodel.h"
#include "cgraph.h"
// clang-format on
