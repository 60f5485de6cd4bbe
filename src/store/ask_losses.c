// SPDX-License-Identifier: Apache-2.0
/* What films have lost, by reason: the index has the sums alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "store/ask_private.h"

struct counter {
	struct store_losses *losses;
	struct fail *why;
};

/* Films may be made by anyone: of many reasons the first ones are kept apart. */
static int count_loss(struct store_losses *losses, const struct film_loss *loss)
{
	char *reason;

	vec_foreach (&losses->all, known) {
		if (strcmp(known->reason, loss->reason))
			continue;
		known->count = add_saturated(known->count, loss->count);
		return 0;
	}
	if (losses->all.count == STORE_REASONS_MAX)
		return 0;
	reason = strdup(loss->reason);
	if (reason && vec_push(&losses->all, (struct store_loss){reason, loss->count}))
		return 0;
	free(reason);
	return -ENOMEM;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct counter *counter = context;
	const struct film *film = of->film;
	int err = 0;

	for (size_t i = 0; i < film->loss_count && !err; i++)
		if (!film->losses[i].event || film->losses[i].event == of->event)
			err = count_loss(counter->losses, &film->losses[i]);
	return err ? fail_errno(counter->why, err, NULL, "cannot list what was lost") : 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct store_loss *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->reason, right->reason);
}

int store_losses(struct store *store, const struct store_ask *ask, struct store_losses *losses,
		 struct fail *why)
{
	struct counter counter = {losses, why};
	struct asked asked = {0};
	int err;

	*losses = (struct store_losses){0};
	err = asked_begin(&asked, store, ask, why);
	if (!err)
		err = ask_films(&asked, film_open_losses, &losses->sum, add_film, &counter, why);
	if (losses->all.count)
		qsort(losses->all.at, losses->all.count, sizeof(*losses->all.at), largest_first);
	asked_free(&asked);
	return err;
}

void store_losses_free(struct store_losses *losses)
{
	vec_foreach (&losses->all, loss)
		free(loss->reason);
	vec_free(&losses->all);
}
