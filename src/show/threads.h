/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_THREADS_H
#define SHOW_THREADS_H

#include <stdbool.h>
#include <stdio.h>

#include "query/threads.h"

/* A dump of threads. 0 or -ENOMEM; its caller sees that the stream failed when it closes it. */

/* each: a stack for every thread; else one for those of a process that are alike. */
int show_threads_text(struct thread_dump *dump, bool each, FILE *out);
int show_threads_json(struct thread_dump *dump, FILE *out);

#endif
