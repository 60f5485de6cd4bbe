// SPDX-License-Identifier: Apache-2.0
#include "send/backlog.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"

#define PAUSE_MIN (60 * SECOND_NS)
#define PAUSE_MAX (3600 * SECOND_NS)

/* Whether a film waits, and its bytes; of one that has just gone, none. */
static bool is_waiting(struct spool *spool, uint64_t number, uint64_t *bytes)
{
	struct spool_film film;
	struct stat st;

	*bytes = 0;
	if (!number || !spool_after(spool, number - 1, &film) || film.number != number)
		return false;
	if (!stat(film.path, &st))
		*bytes = (uint64_t)st.st_size;
	return true;
}

void backlog_read(struct spool *spool, uint64_t beside, uint64_t doubt, uint64_t wall,
		  struct backlog *backlog)
{
	struct spool_status status;
	struct spool_film film;
	uint64_t bytes = 0;
	bool has = spool_first(spool, &film);

	*backlog = (struct backlog){.doubt = doubt};
	if (has && film.number == beside)
		has = spool_after(spool, beside, &film);
	if (!has)
		return;
	spool_status(spool, &status);
	if (status.films)
		backlog->films = status.films - is_waiting(spool, beside, &bytes);
	if (backlog->films)
		backlog->bytes = status.bytes > bytes ? status.bytes - bytes : 0;
	if (wall / MS_NS > film.number)
		backlog->oldest = (wall / MS_NS - film.number) / 1000;
}

void backlog_put_header(const struct backlog *b, char *to, size_t size)
{
	snprintf(to, size,
		 "X-Stackcam-Backlog: doubt=%" PRIu64 ", films=%" PRIu64 ", oldest=%" PRIu64
		 ", bytes=%" PRIu64,
		 b->doubt, b->films, b->oldest, b->bytes);
}

bool backlog_is_due(struct backlog_pace *pace, uint64_t now, bool is_stuck, uint64_t doubt)
{
	uint64_t wait = pace->pause > PAUSE_MIN ? pace->pause : PAUSE_MIN;

	if (!is_stuck) {
		pace->since = pace->pause = 0;
		return false;
	}
	if (!pace->since)
		pace->since = now;
	if ((!doubt && now - pace->since < PAUSE_MIN) || (pace->last && now - pace->last < wait))
		return false;
	pace->last = now;
	pace->pause = pace->pause ? pace->pause * 2 : PAUSE_MIN;
	if (pace->pause > PAUSE_MAX)
		pace->pause = PAUSE_MAX;
	return true;
}
