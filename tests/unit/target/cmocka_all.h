/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGET_CMOCKA_ALL_H
#define TESTS_TARGET_CMOCKA_ALL_H

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* base/fail.h has a function of that name; tests use fail_msg() */
#undef fail

#endif
