// SPDX-License-Identifier: Apache-2.0
#include "query/explain/name_servers.h"

#include <string.h>

#include "query/objects.h"

const char *explain_name_server(const char *object)
{
	const char *other = strstr(object, " -> ");
	size_t length = strlen(object);

	if (!other || length < 3 || strcmp(object + length - 3, ":53") ||
	    (strncmp(object, "udp ", 4) && strncmp(object, "tcp ", 4)))
		return NULL;
	return other + 4;
}

void explain_name_servers_mark(struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct slice *slice = &histories->slices[i];

		/* an event loop may wait for others, too */
		if ((slice->kind == SLICE_WAIT + WAIT_POLL ||
		     slice->kind == SLICE_WAIT + WAIT_RECEIVE) &&
		    slice->object && slice->descriptor == FILM_FD_SOCKET &&
		    explain_name_server(object_name(histories->film, slice->object)))
			slice->flags |= HISTORY_NAMES;
	}
}
