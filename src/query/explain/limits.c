// SPDX-License-Identifier: Apache-2.0
#include "query/explain/limits.h"

#include <errno.h>
#include <string.h>

#include "film/gauges.h"
#include "query/machine.h"
#include "query/objects.h"

#define LIMITS_MAX 4096

struct loading {
	struct explain_limits *limits;
	const struct film *film;
};

static bool keep(struct explain_limits *limits, const char *group, uint64_t bytes)
{
	vec_foreach (&limits->all, limit)
		if (!strcmp(limit->group, group)) {
			limit->bytes = bytes;
			return true;
		}
	return limits->all.count >= LIMITS_MAX ||
	       vec_push(&limits->all, (struct explain_limit){group, bytes});
}

static int take(void *context, const struct film_gauges *gauges)
{
	const struct loading *loading = context;

	for (size_t i = 0; i < gauges->count; i++)
		if (gauges->kind[i] == FILM_GAUGE_GROUP_LIMIT &&
		    !keep(loading->limits, object_name(loading->film, gauges->object[i]),
			  gauges->value[i]))
			return -ENOMEM;
	return 0;
}

int explain_limits_load(struct explain_limits *limits, struct film *film, uint64_t from,
			uint64_t to, struct fail *why)
{
	struct loading loading = {limits, film};
	uint32_t event = machine_event(film);

	return event ? film_each_gauges(film, event, from, to, take, &loading, why) : 0;
}

void explain_limits_free(struct explain_limits *limits)
{
	vec_free(&limits->all);
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
