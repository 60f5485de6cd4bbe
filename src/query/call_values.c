// SPDX-License-Identifier: Apache-2.0
#include "query/call_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/replay.h"
#include "query/values.h"
#include "query/shown_text.h"

#define BYTES_MAX ((size_t)512 << 20)

/* What a call and its values have in common. */
static uint64_t key_of(uint64_t end, uint64_t duration, uint32_t thread, uint32_t frame)
{
	struct {
		uint64_t end, duration;
		uint32_t thread, frame;
	} key = {end, duration, thread, frame};

	return hash_bytes(&key, sizeof(key));
}

/* Adds a tree as text, with the zero byte behind it. */
static void put_text(struct buf *texts, const struct shown_tree *tree)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = tree->nodes.count ? open_memstream(&text, &size) : NULL;

	if (to) {
		shown_print_list(to, tree);
		texts->failed |= fclose(to) != 0;
	} else {
		texts->failed |= tree->nodes.count > 0;
	}
	if (text)
		buf_put(texts, text, strlen(text));
	buf_put_u8(texts, 0);
	free(text);
}

static int add_call(void *context, const struct valued_call *call)
{
	struct call_values *values = context;
	uint64_t key = key_of(call->end, call->duration, call->thread, call->frame);
	size_t at = values->texts.count;

	if (at > BYTES_MAX) {
		values->left_out++;
		return 0;
	}
	put_text(&values->texts, &call->arguments);
	put_text(&values->texts, &call->results);
	return values->texts.failed || !map_put(&values->of_call, key, at) ? -ENOMEM : 0;
}

int call_values_read(struct film *film, const struct replay_question *q, struct call_values *values,
		     struct fail *why)
{
	/* borrowed, not to be freed; calls that began before what is asked for may end behind it */
	struct question question = {.event = q->event, .filter = q->filter};
	uint64_t broken;
	int err;

	question.filter.to = (struct when){0};
	err = values_each(film, &question, add_call, values, &broken, why);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot show the values of calls") : err;
}

void call_values_warn(const struct call_values *values)
{
	if (values->left_out)
		fprintf(stderr, "stackcam: the values of %llu calls are left out: too many\n",
			(unsigned long long)values->left_out);
}

void call_values_free(struct call_values *values)
{
	map_free(&values->of_call);
	buf_free(&values->texts);
}

const char *call_values_text(const struct call_values *values, const struct film_call *call)
{
	const uint64_t *at = map_get(&values->of_call,
				     key_of(call->end, call->duration, call->thread, call->frame));

	return at ? (const char *)values->texts.at + *at : NULL;
}

const char *call_values_returned(const struct call_values *values, const struct film_call *call)
{
	const char *given = call_values_text(values, call);

	return given ? given + strlen(given) + 1 : NULL;
}

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
