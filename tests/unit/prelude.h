/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PRELUDE_H
#define TESTS_UNIT_PRELUDE_H

/* What every unit test includes: cmocka.h, and what it wants before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* base/fail.h has a function of that name; tests use fail_msg() */
#undef fail

#endif
