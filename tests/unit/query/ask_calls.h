/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_QUERY_ASK_CALLS_H
#define TESTS_UNIT_QUERY_ASK_CALLS_H

#include "film_build.h"
#include "query/report.h"

/* What the tests of films of calls share. Any difference fails the test. */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A film of one thread with these calls. */
struct film *film_of(const struct film_build_call *calls, size_t count);

/* Asks, and asserts what holds for every answer. */
void ask(struct film *film, const struct question *q, struct report *report);

/* The node that this path leads to has these times. */
void assert_node(const struct report *report, const char *path, uint64_t total, uint64_t self);

/* The function of that name has these times and that many calls; 0: none that counts. */
const struct function *assert_function(const struct report *report, const char *name,
				       uint64_t total, uint64_t self, uint64_t calls);

#endif
