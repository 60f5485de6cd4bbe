/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_REFUSALS_H
#define PROBE_REFUSALS_H

#include <stdbool.h>

#include "probe/functions.h"

/* Whether a function of that name, as in the symbol table, is to be left alone. */
enum probe_refusal refusal_by_name(const char *symbol, bool is_go);

/* Whether the image at that path is a dynamic loader. */
bool refusal_is_loader(const char *path);

/* The length of the name without what compilers append to copies and parts: ".part.0", ".constprop.1". */
size_t refusal_base_length(const char *symbol);

/*
 * Whether no exception can pass through a call of that library's function: it is written in C, throws nothing,
 * calls nothing back, and is no place at which a thread can be cancelled.
 */
bool call_lets_nothing_pass(const char *library, const char *symbol);

#endif
