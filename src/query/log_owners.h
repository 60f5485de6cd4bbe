/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOG_OWNERS_H
#define QUERY_LOG_OWNERS_H

#include "query/log_lines.h"

/*
 * Finds the threads that lines belong to, by their text. Returns 0 or a negative errno with *why
 * filled.
 */
int log_owners_find(struct log_lines *lines, struct film *film, struct fail *why);

#endif
