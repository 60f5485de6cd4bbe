// SPDX-License-Identifier: Apache-2.0
/* What the slow requests of an endpoint have that the usual ones lack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "show/explain.h"

enum {
	COMPARED_MIN = 20,  /* requests of an endpoint */
	EXPLAINED_MAX = 20, /* of the slow ones, and of the usual ones */
};

/* What is alike in several explanations, with its ns in all slow and in all usual ones. */
struct kind_sum {
	char *words;
	uint64_t slow, usual;
};

struct comparing {
	struct explainer *e;
	vec(struct explain_served) served; /* of the endpoint, the fastest first */
	vec(struct kind_sum) sums;
	struct map known;
};

static uint64_t length_of(const struct explain_served *served)
{
	return served->end - served->start;
}

static int fastest_first(const void *left, const void *right)
{
	uint64_t a = length_of(left), b = length_of(right);

	return a < b ? -1 : a > b;
}

static bool collect(struct comparing *c, uint32_t endpoint)
{
	vec_foreach (&c->e->requests.served, served)
		if (served->endpoint == endpoint && !vec_push(&c->served, *served))
			return false;
	if (c->served.count)
		qsort(c->served.at, c->served.count, sizeof(*c->served.at), fastest_first);
	return true;
}

/* "lock mutex guard in app", "on-cpu" */
static struct kind_sum *sum_of(struct comparing *c, const struct explain_part *part)
{
	struct buf words = {0};
	const uint64_t *known;
	uint64_t key;

	buf_put_text(&words, explain_kind(c->e, part));
	if (words.count && part->kind == SLICE_WAIT + WAIT_LOCK)
		buf_put_u8(&words, ' ');
	if (part->kind == SLICE_WAIT + WAIT_LOCK)
		explain_object_words(c->e, part, &words);
	buf_put_u8(&words, 0);
	if (words.failed) {
		buf_free(&words);
		return NULL;
	}
	key = hash_bytes(words.at, words.count);
	known = map_get(&c->known, key);
	if (known) {
		buf_free(&words);
		return &c->sums.at[*known];
	}
	if (!map_put(&c->known, key, c->sums.count) ||
	    !vec_push(&c->sums, (struct kind_sum){.words = (char *)words.at})) {
		buf_free(&words);
		return NULL;
	}
	return vec_last(&c->sums);
}

static int add_request(struct comparing *c, const struct explain_served *served, bool is_slow)
{
	const struct request request = explain_served_request(served);
	struct explanation x;
	int err = explain_request(c->e, &request, &x);

	for (uint32_t i = x.first; !err && i; i = x.parts.at[i - 1].next) {
		struct kind_sum *sum = sum_of(c, &x.parts.at[i - 1]);

		if (!sum)
			err = -ENOMEM;
		else if (is_slow)
			sum->slow += x.parts.at[i - 1].duration;
		else
			sum->usual += x.parts.at[i - 1].duration;
	}
	explanation_free(&x);
	return err;
}

/* Some of the requests [from, to) by rank, at even distances. Their mean goes to *mean. */
static int add_ranks(struct comparing *c, size_t from, size_t to, bool is_slow, uint64_t *mean,
		     uint64_t *count)
{
	size_t step = (to - from + EXPLAINED_MAX - 1) / EXPLAINED_MAX;
	uint64_t sum = 0;
	int err = 0;

	*count = 0;
	for (size_t i = from; !err && i < to; i += step, ++*count) {
		sum += length_of(&c->served.at[i]);
		err = add_request(c, &c->served.at[i], is_slow);
	}
	*mean = *count ? sum / *count : 0;
	return err;
}

static void find_most(const struct comparing *c, struct explain_difference *d)
{
	if (!d->slow_count || !d->usual_count)
		return;
	vec_foreach (&c->sums, sum) {
		int64_t more = (int64_t)(sum->slow / d->slow_count) -
			       (int64_t)(sum->usual / d->usual_count);

		if (more <= d->ns)
			continue;
		d->ns = more;
		snprintf(d->words, sizeof(d->words), "%s", sum->words);
	}
}

int explain_compare(struct explainer *e, uint32_t endpoint, struct explain_difference *d)
{
	struct comparing c = {.e = e};
	int err = collect(&c, endpoint) ? 0 : -ENOMEM;
	size_t count = c.served.count;

	*d = (struct explain_difference){.requests = count};
	if (!err && count >= COMPARED_MIN) {
		err = add_ranks(&c, count - (count + 99) / 100, count, true, &d->slow,
				&d->slow_count);
		if (!err)
			err = add_ranks(&c, count * 2 / 5, count * 3 / 5, false, &d->usual,
					&d->usual_count);
		if (!err)
			find_most(&c, d);
	}
	vec_foreach (&c.sums, sum)
		free(sum->words);
	vec_free(&c.sums);
	vec_free(&c.served);
	map_free(&c.known);
	return err;
}
