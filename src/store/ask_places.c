// SPDX-License-Identifier: Apache-2.0
/* Builds and source lines of a function: the index has neither, the films do. */
#include <errno.h>

#include "query/view.h"
#include "store/ask_private.h"

struct finder {
	const char *name, *image;
	struct store_places *found;
	struct asked_request request;
	struct fail *why;
};

static int add_film(void *context, const struct ask_film *of)
{
	struct finder *f = context;
	struct store_sum *sum = &f->found->sum;
	struct view view = {0};
	bool has;
	int err = asked_view(of, VIEW_WHOLE, &view, &f->request, &has, f->why);

	if (!err && has)
		err = sum_add(sum, view.samples, view.total, f->why);
	if (!err && has) {
		sum->truncated += view.stacks.truncated;
		sum->guessed += view.stacks.guessed;
		if (places_add(&f->found->places, &view, &of->question->shape, f->name, f->image))
			err = fail_errno(f->why, -ENOMEM, NULL, "cannot find the function");
	}
	view_free(&view);
	return err;
}

int store_places(struct store *store, const struct store_ask *ask, const char *name,
		 const char *image, struct store_places *places, struct fail *why)
{
	struct finder finder = {.name = name, .image = image, .found = places, .why = why};
	struct asked asked = {0};
	int err;

	*places = (struct store_places){0};
	err = asked_begin(&asked, store, ask, why);
	asked.is_spread = true;
	if (!err)
		err = ask_films(&asked, film_open, &places->sum, add_film, &finder, why);
	if (!err)
		err = asked_request_check(&finder.request, ask, &places->sum, why);
	asked_free(&asked);
	return err;
}

void store_places_free(struct store_places *places)
{
	places_free(&places->places);
}
