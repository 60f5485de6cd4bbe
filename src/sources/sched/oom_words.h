/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OOM_WORDS_H
#define SOURCES_SCHED_OOM_WORDS_H

#include <stddef.h>

#include "sources/happening.h"

/*
 * "out of memory: 30 MB anonymous, 2 MB of files; control group x holds 32 MB of 32 MB", with no
 * control characters.
 */
void oom_words(const struct happening_oom *oom, char *to, size_t size);

#endif
