// SPDX-License-Identifier: Apache-2.0
#include "film/losses.h"

#include <string.h>

#include "base/saturated.h"
#include "film/batch.h"

static const char *const own_reasons[OWN_LOSSES] = {
	[LOST_ROW] = "film: no room for another process, thread, image or source file",
	[LOST_FUNCTION] = "film: no room for another function",
	[LOST_FRAME] = "film: no room for another frame",
	[LOST_NAME] = "film: no room for all names of a frame",
	[LOST_STACK] = "film: no room for another stack",
	[LOST_SAMPLE] = "film: no room for another sample before the next commit",
	[LOST_CALL] = "film: no room for another call before the next commit",
	[LOST_WAIT] = "film: waits longer than their calls, cut to them",
	[LOST_PROBE] = "film: no room for another probe's cost before the next commit",
	[LOST_SUM] = "film: no room for another function's sums before the next commit",
	[LOST_PAUSE] = "film: no room for another wait before the next commit",
	[LOST_REQUEST] = "film: no room for another request before the next commit",
	[LOST_VALUE] = "film: no room for another value of a call before the next commit",
	[LOST_GAUGE] = "film: no room for another value of the machine before the next commit",
	[LOST_LOG] = "film: no room for a part of a logged line before the next commit",
	[LOST_WORK] = "film: no room for another kernel or copy before the next commit",
	[LOST_REASON] = "film: no room for another reason of a loss",
};

struct loss {
	uint32_t event;
	const char *reason;
	uint64_t given; /* by the caller */
	uint64_t
		own; /* the writer's, where it has the same reason: another film's that was added */
	bool changed;
	bool is_time; /* ms, and no number of anything */
};

static struct loss *find(struct loss *at, size_t count, uint32_t event, const char *reason)
{
	for (; count; count--, at++) {
		if (at->event == event && !strcmp(at->reason, reason))
			return at;
	}
	return NULL;
}

/* The one of that event and reason, made if there are not max yet; null: no room. */
static struct loss *loss_of(struct losses *l, struct arena *texts, uint32_t event,
			    const char *reason, size_t max)
{
	struct loss *known = find(l->all.at, l->all.count, event, reason);
	struct loss loss = {.event = event, .changed = true};

	if (known || l->all.count >= max)
		return known;
	loss.reason = arena_text(texts, reason, strlen(reason));
	return loss.reason && vec_push(&l->all, loss) ? vec_last(&l->all) : NULL;
}

static struct loss *set(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
			uint64_t count)
{
	const struct loss *before = find(l->before.at, l->before.count, event, reason);
	struct loss *loss;

	if (before) {
		count = count > before->given ? count - before->given : 0;
		if (!count && !find(l->all.at, l->all.count, event, reason))
			return NULL;
	}
	/* the writer's own always have room */
	loss = loss_of(l, texts, event, reason, FILM_LOSSES_MAX - OWN_LOSSES);
	if (!loss) {
		l->own[LOST_REASON]++;
		return NULL;
	}
	loss->changed |= loss->given != count;
	loss->given = count;
	return loss;
}

void losses_set(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		uint64_t count)
{
	(void)set(l, texts, event, reason, count);
}

void losses_set_time(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		     uint64_t ms)
{
	struct loss *loss = set(l, texts, event, reason, ms);

	if (loss)
		loss->is_time = true;
}

bool losses_learn(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		  uint64_t count)
{
	struct loss loss = {.event = event, .given = count};

	loss.reason = arena_text(texts, reason, strlen(reason));
	return loss.reason && vec_push(&l->all, loss);
}

static bool carry(struct losses *l, struct arena *texts, const struct loss *loss, uint64_t total)
{
	struct loss copy = {.event = loss->event, .given = total};

	copy.reason = arena_text(texts, loss->reason, strlen(loss->reason));
	return copy.reason && vec_push(&l->before, copy);
}

/* What the films before had lost by that reason, as a total. */
static uint64_t total_before(const struct losses *l, const struct loss *loss)
{
	const struct loss *base = find(l->before.at, l->before.count, loss->event, loss->reason);

	return base ? base->given : 0;
}

bool losses_continue(struct losses *l, struct arena *texts, const struct losses *before, bool kept)
{
	size_t count = kept ? before->all.count : 0, i;
	bool ok = true;

	for (i = 0; i < count; i++) {
		const struct loss *loss = &before->all.at[i];

		ok &= carry(l, texts, loss, loss->given + total_before(before, loss));
	}
	vec_foreach (&before->before, base) {
		if (!find(before->all.at, count, base->event, base->reason))
			ok &= carry(l, texts, base, base->given);
	}
	return ok;
}

uint64_t losses_sum(const struct losses *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < OWN_LOSSES; i++)
		sum = add_saturated(sum, l->own[i]);
	vec_foreach (&l->all, loss)
		if (!loss->is_time)
			sum = add_saturated(sum, loss->given);
	return sum;
}

uint64_t losses_longest(const struct losses *l)
{
	uint64_t longest = 0;

	vec_foreach (&l->all, loss)
		if (loss->is_time && loss->given > longest)
			longest = loss->given;
	return longest;
}

void losses_put(struct losses *l, struct arena *texts, struct buf *rows)
{
	size_t i;

	for (i = 0; i < OWN_LOSSES; i++) {
		struct loss *own;

		if (!l->own[i])
			continue;
		own = loss_of(l, texts, 0, own_reasons[i], FILM_LOSSES_MAX);
		if (!own)
			continue;
		own->changed |= own->own != l->own[i];
		own->own = l->own[i];
	}
	for (i = 0; i < l->all.count; i++) {
		struct loss *loss = &l->all.at[i];

		if (!loss->changed)
			continue;
		film_put_row(rows, FILM_ROW_LOSS, (uint64_t)i + 1, (uint64_t)loss->event,
			     loss->reason, add_saturated(loss->given, loss->own));
		loss->changed = false;
	}
}

void losses_free(struct losses *l)
{
	vec_free(&l->all);
	vec_free(&l->before);
}
