// SPDX-License-Identifier: Apache-2.0
/* What the slow requests of an endpoint of a service have that the usual ones lack. */
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
	uint32_t process; /* that asked for it: of another one than the request's; 0 */
	uint64_t slow, usual;
};

struct comparing {
	struct explainer *e;
	vec(struct explain_served) served; /* of the endpoint, the fastest first */
	vec(struct kind_sum) sums;
	struct map known;
	uint32_t process; /* of the requests */
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

static const char *server_of(const struct comparing *c, uint32_t thread)
{
	return c->e->film->processes[c->e->film->threads[thread].process].comm;
}

/* Of the same service: a proxy may have the same endpoint as what it asks. */
static bool collect(struct comparing *c, const struct request *request)
{
	const char *server = server_of(c, request_answerer(request));

	vec_foreach (&c->e->requests.served, served)
		if (served->endpoint == request->row.endpoint &&
		    !strcmp(server_of(c, served->answerer), server) &&
		    !vec_push(&c->served, *served))
			return false;
	if (c->served.count)
		qsort(c->served.at, c->served.count, sizeof(*c->served.at), fastest_first);
	return true;
}

/* "lock mutex guard in app", "on-cpu"; and where */
static struct kind_sum *sum_of(struct comparing *c, const struct explain_part *part)
{
	const char *kind = explain_kind(c->e, part);
	struct buf words = {0};
	const uint64_t *known;
	uint32_t process = c->e->film->threads[part->thread].process;
	uint64_t key;

	process = process == c->process ? 0 : process;
	buf_put_text(&words, kind);
	/* a condition has several words by turns */
	if (part->kind == SLICE_WAIT + WAIT_LOCK && strcmp(kind, "condition")) {
		buf_put_u8(&words, ' ');
		explain_object_words(c->e, part, &words);
	}
	buf_put_u8(&words, 0);
	if (words.failed) {
		buf_free(&words);
		return NULL;
	}
	key = hash_u64(hash_bytes(words.at, words.count) + process);
	known = map_get(&c->known, key);
	if (known) {
		buf_free(&words);
		return &c->sums.at[*known];
	}
	if (!map_put(&c->known, key, c->sums.count) ||
	    !vec_push(&c->sums, (struct kind_sum){.words = (char *)words.at, .process = process})) {
		buf_free(&words);
		return NULL;
	}
	return vec_last(&c->sums);
}

/*
 * Parts, and of a wait for the answer of another service what that one spent. As deep as services
 * ask each other.
 */
static int add_parts(struct comparing *c, const struct explanation *x, uint32_t first, bool is_slow)
{
	int err = 0;

	for (uint32_t i = first; !err && i; i = x->parts.at[i - 1].next) {
		const struct explain_part *part = &x->parts.at[i - 1];
		struct kind_sum *sum;

		if (part->is_call && part->first) {
			err = add_parts(c, x, part->first, is_slow);
			continue;
		}
		sum = sum_of(c, part);
		if (!sum)
			err = -ENOMEM;
		else if (is_slow)
			sum->slow += part->duration;
		else
			sum->usual += part->duration;
	}
	return err;
}

static int add_request(struct comparing *c, const struct explain_served *served, bool is_slow)
{
	const struct request request = explain_served_request(served);
	struct explanation x;
	int err = explain_request(c->e, &request, &x);

	c->process = c->e->film->threads[served->answerer].process;
	if (!err)
		err = add_parts(c, &x, x.first, is_slow);
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
		d->process = sum->process;
		snprintf(d->words, sizeof(d->words), "%s", sum->words);
	}
}

int explain_compare(struct explainer *e, const struct request *request,
		    struct explain_difference *d)
{
	struct comparing c = {.e = e};
	int err = collect(&c, request) ? 0 : -ENOMEM;
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
