/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_CHECK_H
#define TESTS_FUZZ_CHECK_H

#include <stdlib.h>

/* What must hold for every input. */
#define check(what)              \
	do {                     \
		if (!(what))     \
			abort(); \
	} while (0)

#endif
