// SPDX-License-Identifier: Apache-2.0
#include "query/call_names.h"

#include <errno.h>
#include <stdlib.h>

#include "query/replay.h"

int call_names_init(struct call_names *names, const struct film *film)
{
	*names = (struct call_names){.film = film};
	names->of_frame = calloc(film->frame_count + 1ull, sizeof(*names->of_frame));
	return names->of_frame ? 0 : -ENOMEM;
}

void call_names_free(struct call_names *names)
{
	free(names->of_frame);
	name_pool_free(&names->pool);
	*names = (struct call_names){0};
}

const char *call_names_of(struct call_names *names, uint32_t frame)
{
	const char **known = &names->of_frame[frame];
	char place[256];

	if (*known)
		return *known;
	*known = replay_name(names->film, frame, place, sizeof(place));
	if (*known == place)
		*known = name_pool_add(&names->pool, place);
	return *known;
}
