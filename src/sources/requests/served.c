// SPDX-License-Identifier: Apache-2.0
/* Which requests are served just now, by thread, id and goroutine. */
#include <stdio.h>
#include <string.h>

#include "sources/requests/track_private.h"

/* With the pid, as the same id passes through other processes of the machine, too. */
uint64_t requests_served_id(const struct capture_identity *identity, const char *id)
{
	return *id ? hash_u64(hash_bytes(id, strlen(id)) ^ identity->pid) | 1 : 0;
}

uint64_t requests_served_task(const struct capture_identity *identity, uint64_t number)
{
	const uint64_t what[] = {identity->pid, identity->exec_id, number};

	return number ? hash_bytes(what, sizeof(what)) | 1 : 0;
}

bool requests_served_has_lanes(const struct requests_track *track,
			       const struct capture_identity *identity)
{
	return track->to.has_goroutines &&
	       track->to.has_goroutines(track->to.context, (pid_t)identity->pid);
}

void requests_served_change(struct requests_track *track, const struct asked *asked, int64_t by,
			    uint64_t time)
{
	if (asked->row.role != FILM_REQUEST_SERVED)
		return;
	requests_open_change(&track->by_thread, key_of_thread(&asked->identity), asked->row.number,
			     by);
	if (asked->id_key)
		requests_open_change(&track->by_id, asked->id_key, asked->row.number, by);
	if (asked->goroutine_key)
		requests_open_change_at(&track->by_goroutine, asked->goroutine_key,
					asked->row.number, by, time);
}

/* What the thread of a piece has published: it knows better than any header. */
void requests_served_context(struct requests_track *track, struct asked *asked,
			     const struct requests_record *record)
{
	char id[FILM_REQUEST_ID + 1] = "";
	uint8_t any = 0;

	if (!(record->flags & REQUESTS_CONTEXT))
		return;
	for (size_t i = 0; i < sizeof(record->trace); i++) {
		any |= record->trace[i];
		snprintf(id + 2 * i, 3, "%02x", record->trace[i]);
	}
	if (!any || !strncmp(asked->row.id, id, FILM_REQUEST_ID))
		return;
	requests_served_change(track, asked, -1, 0);
	memcpy(asked->row.id, id, sizeof(asked->row.id));
	asked->row.id_kind = FILM_REQUEST_ID_CONTEXT;
	asked->row.flags &= ~(uint32_t)FILM_REQUEST_ID_CUT;
	asked->id_key = requests_served_id(&asked->identity, id);
	requests_served_change(track, asked, 1, asked->begun);
}
