/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_FIREFOX_WRITER_H
#define EXCHANGE_FIREFOX_WRITER_H

#include <stdio.h>

#include "base/fail.h"
#include "query/question.h"

/*
 * Profiles for the Firefox Profiler (https://profiler.firefox.com): its processed format, version
 * 58 (https://github.com/firefox-devtools/profiler, src/types/profile.ts and
 * docs-developer/CHANGELOG-formats.md).
 */

/*
 * The samples of the question's event, thread by thread, with their times. *samples: how many.
 * Returns 0 or a negative errno with *why filled; a caller that closes the stream sees whether
 * writing failed.
 */
int firefox_write_samples(struct film *film, const struct question *q, FILE *out, uint64_t *samples,
			  struct fail *why);

#endif
