/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DEMANGLE_D_H
#define SYMBOL_DEMANGLE_D_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Names of D (https://dlang.org/spec/abi.html#name_mangling): "d.Box!(int).Box.mix(ulong)" from
 * "_D1d__T3BoxTiZQh3mixMFNaNbNiNfmZm". The name is hostile input of any length that the caller
 * allows.
 */

/*
 * How many characters a name stands for at most, with its back references written out: one that
 * refers to another one that refers … doubles its text with each few bytes. A name of D; else, and
 * for what is beyond any bound, 0.
 */
size_t demangle_d_cost(const char *name);

/*
 * Costlier names are left as they are. What costs more than the second recurses too deep for a
 * common stack.
 */
#define DEMANGLE_D_COST_MAX  ((size_t)64 << 10)
#define DEMANGLE_D_COST_FLAT ((size_t)2 << 10)

/*
 * A new string, to be freed; null: no name of D, too costly, or no memory. parameters false:
 * without them.
 */
char *demangle_d(const char *name, bool parameters);

#endif
