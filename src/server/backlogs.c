// SPDX-License-Identifier: Apache-2.0
#include "server/backlogs.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* More than a spool holds, and than a collector is away: so no sum overflows. */
#define FILMS_MAX  1000000u
#define OLDEST_MAX (100u * 365 * 86400)

struct said {
	uint64_t agent, heard; /* ns */
	uint64_t doubt, films, oldest;
};

struct backlogs {
	pthread_mutex_t lock;
	struct map places; /* in said, by agent */
	vec(struct said) said;
	uint64_t malformed, crowded;
};

struct backlogs *backlogs_new(void)
{
	struct backlogs *b = calloc(1, sizeof(*b));

	if (b)
		pthread_mutex_init(&b->lock, NULL);
	return b;
}

void backlogs_free(struct backlogs *b)
{
	if (!b)
		return;
	map_free(&b->places);
	vec_free(&b->said);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* "name=123" at *text, which moves behind it. False: it is something else, or above most. */
static bool parse_number(const char **text, const char *name, uint64_t most, uint64_t *number)
{
	const char *at = *text;
	size_t length = strlen(name);

	if (strncmp(at, name, length) != 0)
		return false;
	at += length;
	if (*at < '0' || *at > '9')
		return false;
	for (*number = 0; *at >= '0' && *at <= '9'; at++) {
		*number = *number * 10 + (uint64_t)(*at - '0');
		if (*number > most)
			return false;
	}
	*text = at;
	return true;
}

static bool parse(const char *header, struct said *said)
{
	return parse_number(&header, "doubt=", FILMS_MAX, &said->doubt) &&
	       parse_number(&header, ", films=", FILMS_MAX, &said->films) &&
	       parse_number(&header, ", oldest=", OLDEST_MAX, &said->oldest) && !*header &&
	       said->doubt <= said->films && (said->films || !said->oldest);
}

static bool is_fresh(const struct said *said, uint64_t now)
{
	return now < said->heard + BACKLOGS_FRESH_NS;
}

/* With the lock held, as below. */
static void forget_old(struct backlogs *b, uint64_t now)
{
	for (size_t i = 0; i < b->said.count;) {
		struct said *said = &b->said.at[i], *last = vec_last(&b->said);

		if (is_fresh(said, now)) {
			i++;
			continue;
		}
		map_remove(&b->places, said->agent);
		if (said != last) {
			*said = *last;
			/* it has a slot, so that this takes no memory */
			map_put(&b->places, said->agent, i);
		}
		b->said.count--;
	}
}

static void keep(struct backlogs *b, const struct said *said)
{
	const uint64_t *place = map_get(&b->places, said->agent);

	if (place) {
		b->said.at[*place] = *said;
		return;
	}
	if (b->said.count >= BACKLOGS_AGENTS_MAX)
		forget_old(b, said->heard);
	if (b->said.count >= BACKLOGS_AGENTS_MAX || !vec_push(&b->said, *said)) {
		b->crowded++;
	} else if (!map_put(&b->places, said->agent, b->said.count - 1)) {
		b->said.count--;
		b->crowded++;
	}
}

void backlogs_read(struct backlogs *b, uint64_t agent, const char *header, uint64_t now)
{
	struct said said = {.agent = agent, .heard = now};

	if (!header)
		return;
	pthread_mutex_lock(&b->lock);
	if (parse(header, &said))
		keep(b, &said);
	else
		b->malformed++;
	pthread_mutex_unlock(&b->lock);
}

void backlogs_sum(struct backlogs *b, uint64_t now, struct backlogs_sum *sum)
{
	*sum = (struct backlogs_sum){0};
	pthread_mutex_lock(&b->lock);
	vec_foreach (&b->said, said) {
		if (!is_fresh(said, now))
			continue;
		sum->agents++;
		sum->behind += said->films > 0;
		sum->films += said->films;
		sum->doubt += said->doubt;
		if (said->oldest > sum->oldest)
			sum->oldest = said->oldest;
	}
	sum->malformed = b->malformed;
	sum->crowded = b->crowded;
	pthread_mutex_unlock(&b->lock);
}
