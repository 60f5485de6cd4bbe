// SPDX-License-Identifier: Apache-2.0
/* A request took long, also one that is not over, or failed. */
#include "host/triggers.h"

#include <stdio.h>

#include "base/text.h"

bool trigger_request(const struct happening *happening, char *to, size_t size)
{
	char process[64], endpoint[128], id[96], took[32], usual[32], more[96] = "",
								      status[32] = "";

	text_make_safe(process, sizeof(process), happening->process);
	text_make_safe(endpoint, sizeof(endpoint), happening->endpoint);
	text_make_safe(id, sizeof(id), happening->id);
	text_duration(took, sizeof(took), happening->waited);
	text_duration(usual, sizeof(usual), happening->usual_ns);
	if (happening->has_failed && happening->status)
		snprintf(status, sizeof(status), " with status %u", happening->status);
	if (happening->usual_ns)
		snprintf(more, sizeof(more), ", 99 of 100 take less than %s", usual);
	if (happening->is_open) {
		snprintf(to, size, "%s (%d): %s%s%s has taken %s and is not over%s", process,
			 (int)happening->pid, endpoint, *id ? ", id " : "", id, took, more);
		return true;
	}
	snprintf(to, size, "%s (%d): %s%s%s%s%s%s%s%s", process, (int)happening->pid, endpoint,
		 *id ? ", id " : "", id, happening->has_failed ? ", failed" : "", status,
		 happening->has_failed ? " after " : " took ", took, more);
	return true;
}
