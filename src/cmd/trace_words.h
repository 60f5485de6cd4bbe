/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TRACE_WORDS_H
#define CMD_TRACE_WORDS_H

#include <stdint.h>

#include "sources/calls/calls.h"
#include "cmd/recording.h"

/* What 'trace' says while it runs and at its end, to standard error. */

/* words: of plan_warning() */
void trace_warn(const char *words);

/* For struct session; context: the struct calls. */
void trace_show_progress(void *context, uint64_t elapsed_ns);

/* film: its name, null: none was kept. */
void trace_show_end(const char *film, const struct recording *recording,
		    const struct calls_statistics *calls);

#endif
