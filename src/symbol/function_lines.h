/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_FUNCTION_LINES_H
#define SYMBOL_FUNCTION_LINES_H

#include "symbol/functions.h"

/*
 * Appends functions as lines of a map of perf, "START SIZE NAME", with demangled names: of each
 * address the best one, "name@plt" for stubs. *count: how many are no stubs. 0 or -ENOMEM.
 */
int symbol_function_lines(const struct symbol_functions *functions, struct buf *to,
			  uint64_t *count);

#endif
