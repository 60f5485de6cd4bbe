// SPDX-License-Identifier: Apache-2.0
#include "query/explain/limits.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "film/gauges.h"
#include "query/machine.h"
#include "query/objects.h"

struct loading {
	struct explain_limits *limits;
	const struct film *film;
};

static bool keep(const struct loading *loading, uint32_t object, uint64_t bytes)
{
	struct explain_limits *limits = loading->limits;
	const uint64_t *known = map_get(&limits->known, object);

	if (known) {
		limits->all.at[*known].bytes = bytes;
		return true;
	}
	return vec_push(&limits->all,
			((struct explain_limit){object_name(loading->film, object), bytes})) &&
	       map_put(&limits->known, object, limits->all.count - 1);
}

static int keep_all(void *context, const struct film_gauges *gauges)
{
	for (size_t i = 0; i < gauges->count; i++)
		if (gauges->kind[i] == FILM_GAUGE_GROUP_LIMIT &&
		    !keep(context, gauges->object[i], gauges->value[i]))
			return -ENOMEM;
	return 0;
}

int explain_limits_load(struct explain_limits *limits, struct film *film, struct fail *why)
{
	struct loading loading = {limits, film};
	uint32_t event = machine_event(film);

	return event ? film_each_gauges(film, event, 0, UINT64_MAX, keep_all, &loading, why) : 0;
}

void explain_limits_free(struct explain_limits *limits)
{
	vec_free(&limits->all);
	map_free(&limits->known);
}

/* Whether a group is another one, or above it. */
static bool holds(const char *above, const char *group)
{
	size_t length = strlen(above);

	return length && !strncmp(group, above, length) && (!group[length] || group[length] == '/');
}

const struct explain_limit *explain_limit_of(const struct explain_limits *limits, const char *group)
{
	const struct explain_limit *found = NULL;

	vec_foreach (&limits->all, limit)
		if (holds(limit->group, group) &&
		    (!found || strlen(limit->group) > strlen(found->group)))
			found = limit;
	return found;
}
