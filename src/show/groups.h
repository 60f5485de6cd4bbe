/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_GROUPS_H
#define SHOW_GROUPS_H

#include "show/show.h"

/* The rows of a table by process, thread or image, below its heading. Returns 0 or -ENOMEM. */
int show_groups(const struct report *report, const struct show_options *options, FILE *out);

#endif
