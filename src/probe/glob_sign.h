/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_GLOB_SIGN_H
#define PROBE_GLOB_SIGN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a symbol must have in it so that its demangled name can match a glob. Large C++ programs
 * have a million symbols, of which a glob means a few: demangling all takes seconds.
 */
struct glob_sign {
	size_t prefix; /* bytes of the glob that stand for themselves, from its first on */
	/* the last name between "::" that mangled names spell out, as far as it fits; "": none */
	char part[48];
};

void glob_sign_take(struct glob_sign *sign, const char *glob);

/* False: neither the symbol nor what it stands for matches the glob that the sign is of. */
bool glob_sign_fits(const struct glob_sign *sign, const char *glob, const char *symbol);

#endif
