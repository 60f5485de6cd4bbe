/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_CALLED_H
#define SOURCES_CALLS_CALLED_H

#include <stddef.h>

#include "base/fail.h"
#include "base/vec.h"
#include "probe/functions.h"

/*
 * Where a program calls a library's function, a probe on the stub of its procedure linkage table
 * costs several times as much as one inside the function: stubs begin with an indirect jump, which
 * the kernel cannot emulate. So the function itself is probed, and calls that do not come from the
 * program are passed over (CALLS_FUNCTION_CALLER).
 */

/* Names that were made up of a function's and its library's. */
struct called_names {
	vec(char *) all;
};

void called_names_free(struct called_names *names);

/* A library that is loaded with the program. */
struct called_library {
	const struct symbol_image *image;
	const char *name;		  /* of its file */
	struct probe_functions functions; /* out: what is probed instead of stubs; to be freed, */
	struct called_names names;	  /* and this, after them */
};

/* As in struct probe_question. */
struct called_wish {
	enum probe_exit_wish exit;
	bool calm, stays;
};

/*
 * stubs: functions of the program with a library. For those that exactly one of the libraries
 * defines, and whose probe is cheaper there, or has arguments (stays): the function is left in the
 * library's list, its name is the stub's, and moved[i] of the stub is set. Functions that the
 * dynamic loader chooses (IFUNC) stay with their stub. Returns 0 or a negative errno with *why
 * filled.
 */
int called_find(struct symbols *symbols, const struct probe_functions *stubs, bool *moved,
		struct called_library *libraries, size_t count, const struct called_wish *wish,
		struct fail *why);

#endif
