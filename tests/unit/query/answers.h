/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_QUERY_ANSWERS_H
#define TESTS_UNIT_QUERY_ANSWERS_H

#include "query/report.h"

/* The function of that name, or null. */
const struct function *answer_function(const struct functions *functions, const char *name);

/* The node that this path (names with ';' between, without the root) leads to, or null. */
const struct flame_node *answer_node(const struct flame *flame, const char *path);

/*
 * Asserts what holds for every answer: totals are self plus the children's, siblings are sorted,
 * and the functions' self values add up to the whole.
 */
void answer_check(const struct flame *flame, const struct functions *functions);

#endif
