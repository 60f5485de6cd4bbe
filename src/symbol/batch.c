// SPDX-License-Identifier: Apache-2.0
#include "symbol/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/*
 * Symbols that lie over each other make a pass quadratic. Real tables hold each address in a few
 * symbols at most; a table that needs more than this was made to waste time.
 */
#define WORK_LIMIT (16u << 20)

/*
 * Bytes of names that are kept for a batch: 32,768 of C++ have some 5 MB, of which many are asked
 * for twice.
 */
#define TEXT_LIMIT ((size_t)32 << 20)

struct place {
	uint64_t address;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int batch_make(struct batch *b, const uint64_t *addresses, size_t count)
{
	struct place *sorted = calloc(count + 1, sizeof(*sorted));
	int err = -ENOMEM;
	size_t i;

	*b = (struct batch){.work = WORK_LIMIT, .text = TEXT_LIMIT};
	b->at = calloc(count + 1, sizeof(*b->at));
	b->places = calloc(count + 1, sizeof(*b->places));
	if (!sorted || !b->at || !b->places)
		goto out;

	for (i = 0; i < count; i++)
		sorted[i] = (struct place){addresses[i], i};
	qsort(sorted, count, sizeof(*sorted), compare_places);
	for (i = 0; i < count; i++) {
		b->places[i] = sorted[i].index;
		if (!i || sorted[i].address != sorted[i - 1].address)
			b->at[b->count++] = (struct question){.address = sorted[i].address,
							      .start = sorted[i].address,
							      .first = i};
		b->at[b->count - 1].repeats++;
	}
	err = 0;
out:
	free(sorted);
	if (err)
		batch_free(b);
	return err;
}

void batch_free(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->at[i].name);
	free(b->at);
	free(b->places);
	*b = (struct batch){0};
}

size_t batch_find(const struct batch *b, uint64_t address)
{
	return search_first(b->count, i, b->at[i].address < address);
}

static size_t open_count(const struct batch *b)
{
	size_t open = 0;

	for (size_t i = 0; i < b->count; i++)
		open += !b->at[i].settled;
	return open;
}

size_t batch_settle(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->at[i].name)
			b->at[i].settled = true;
	return open_count(b);
}

/*
 * Larger is better: code that says it is a function, then the innermost, then the function itself
 * before the name of one that chooses another at run time, then what is visible most widely.
 */
static int compare_claims(const struct symbol_claim *a, const struct symbol_claim *b)
{
	if (a->kind != b->kind)
		return a->kind > b->kind ? 1 : -1;
	if (a->start != b->start)
		return a->start > b->start ? 1 : -1;
	if (a->resolver != b->resolver)
		return a->resolver ? -1 : 1;
	return a->binding - b->binding;
}

/*
 * Between names for the same place: one without an old version ("f" before "f@V1"), with fewer
 * underscores in front, the shorter one; the rest is only so that the answer is always the same.
 */
static int compare_names(const char *a, const char *b)
{
	bool a_old = strchr(a, '@') != NULL, b_old = strchr(b, '@') != NULL;
	size_t a_under = strspn(a, "_"), b_under = strspn(b, "_");
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_old != b_old)
		return a_old ? -1 : 1;
	if (a_under != b_under)
		return a_under < b_under ? 1 : -1;
	if (a_length != b_length)
		return a_length < b_length ? 1 : -1;
	return -strcmp(a, b);
}

bool batch_wants(const struct question *q, const struct symbol_claim *claim)
{
	return !q->settled && (!q->name || compare_claims(claim, &q->claim) >= 0);
}

void batch_set_name(struct question *q, const struct symbol_claim *claim, char *name)
{
	int better = 1;

	if (q->name)
		better = compare_claims(claim, &q->claim);
	if (!better)
		better = compare_names(name, q->name);
	if (q->settled || better <= 0) {
		free(name);
		return;
	}
	free(q->name);
	q->name = name;
	q->claim = *claim;
}

void batch_emit(const struct batch *b, const struct question *q, const struct symbol_name *names,
		size_t count, symbol_found *found, void *context)
{
	for (size_t i = 0; i < q->repeats; i++)
		found(context, b->places[q->first + i], names, count);
}
