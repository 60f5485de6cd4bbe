// SPDX-License-Identifier: Apache-2.0
#include "host/kept_lately.h"

#include <stddef.h>

#define HOUR_NS (3600 * 1000000000ull)

/* Those that are an hour old go. */
static void forget(struct kept_lately *lately, uint64_t time)
{
	size_t left = 0;

	vec_foreach (&lately->films, film)
		if (film->time + HOUR_NS > time)
			lately->films.at[left++] = *film;
	lately->films.count = left;
}

const char *kept_lately_refuses(struct kept_lately *lately, enum happening_kind kind, uint64_t time,
				uint64_t cool)
{
	const struct kept_because *last = NULL, now = {.time = time, .kind = kind};

	forget(lately, time);
	vec_foreach (&lately->films, film)
		if (film->kind == kind)
			last = film;
	if (last && time < last->time + cool)
		return "not kept: a film of the same kind of thing was kept just before";
	if (last && lately->hour && lately->films.count >= lately->hour)
		return "not kept: as many films as --camera-hourly allows were kept in the last "
		       "hour";
	return vec_push(&lately->films, now) ? NULL : "not kept: out of memory";
}

void kept_lately_free(struct kept_lately *lately)
{
	vec_free(&lately->films);
}
