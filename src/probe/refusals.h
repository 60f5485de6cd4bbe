/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_REFUSALS_H
#define PROBE_REFUSALS_H

#include <stdbool.h>

#include "probe/functions.h"

/* Whether a function of that name, as in the symbol table, is to be left alone. */
enum probe_refusal refusal_by_name(const char *symbol, bool is_go);

/* Whether it is only a part of a function: "f.cold". */
bool refusal_is_part(const char *symbol);

/* Whether the image at that path is a dynamic loader. */
bool refusal_is_loader(const char *path);

/*
 * The length of the name without what compilers append to copies and parts: ".part.0",
 * ".constprop.1".
 */
size_t refusal_base_length(const char *symbol);

/*
 * Whether that library's function only computes: it calls nothing back, enters no system call (a
 * profiler's malloc() in front of the library's own would look at the stack), and no program puts
 * another one in its place.
 */
bool call_is_pure(const char *library, const char *symbol);

#endif
