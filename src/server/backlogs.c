// SPDX-License-Identifier: Apache-2.0
#include "server/backlogs.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* More than a spool holds, and than a collector is away: so no sum overflows. */
#define FILMS_MAX  1000000u
#define OLDEST_MAX (100u * 365 * 86400)
#define BYTES_MAX  (UINT64_C(1) << 48)

struct said {
	uint64_t agent, heard; /* ns */
	uint64_t doubt, films, oldest, bytes;
	char name[BACKLOGS_NAME_MAX + 1];
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
	       parse_number(&header, ", oldest=", OLDEST_MAX, &said->oldest) &&
	       (!*header || parse_number(&header, ", bytes=", BYTES_MAX, &said->bytes)) &&
	       !*header && said->doubt <= said->films &&
	       (said->films || (!said->oldest && !said->bytes));
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

void backlogs_read(struct backlogs *b, uint64_t agent, const char *name, const char *header,
		   uint64_t now)
{
	struct said said = {.agent = agent, .heard = now};

	if (!header)
		return;
	snprintf(said.name, sizeof(said.name), "%s", name);
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
		sum->bytes += said->bytes;
		if (said->oldest > sum->oldest)
			sum->oldest = said->oldest;
	}
	sum->malformed = b->malformed;
	sum->crowded = b->crowded;
	pthread_mutex_unlock(&b->lock);
}

/* Puts an agent into the list of the worst, which is sorted, and has room for all of them. */
static size_t put_worst(struct backlogs_agent *worst, size_t count, const struct said *said)
{
	size_t at;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(worst[i].name, said->name) != 0)
			continue;
		if (worst[i].oldest >= said->oldest)
			return count;
		memmove(worst + i, worst + i + 1, (--count - i) * sizeof(*worst));
		break;
	}
	for (at = 0; at < count && worst[at].oldest >= said->oldest; at++)
		;
	if (at == BACKLOGS_WORST)
		return count;
	count += count < BACKLOGS_WORST;
	memmove(worst + at + 1, worst + at, (count - at - 1) * sizeof(*worst));
	worst[at] = (struct backlogs_agent){
		.films = said->films, .bytes = said->bytes, .oldest = said->oldest};
	memcpy(worst[at].name, said->name, sizeof(said->name));
	return count;
}

size_t backlogs_worst(struct backlogs *b, uint64_t now, struct backlogs_agent worst[BACKLOGS_WORST])
{
	size_t count = 0;

	pthread_mutex_lock(&b->lock);
	vec_foreach (&b->said, said)
		if (said->films && is_fresh(said, now))
			count = put_worst(worst, count, said);
	pthread_mutex_unlock(&b->lock);
	return count;
}
