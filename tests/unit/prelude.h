/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PRELUDE_H
#define TESTS_UNIT_PRELUDE_H

/* What every unit test includes: cmocka.h, and what it wants before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* base/fail.h has a function of the name of cmocka's macro, which that of fail_msg() uses. */
#undef fail
#undef fail_msg
#define fail_msg(...)                               \
	do {                                        \
		print_error("ERROR: " __VA_ARGS__); \
		print_error("\n");                  \
		_fail(__FILE__, __LINE__);          \
	} while (0)

#endif
