// SPDX-License-Identifier: Apache-2.0
#include "query/view.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "query/filter.h"
#include "query/names.h"

struct collector {
	struct view *view;
	struct filter_kept kept;
	/* stack to its place in view->weights plus one: for a whole view, where most time goes, an
	   array; else a map by group and stack */
	uint32_t *of_stack;
	struct map of_pair;
	int err; /* why take_samples() ended the walk */
};

static int pick_event(struct view *view, const char *name, struct fail *why)
{
	const struct film *film = view->film;
	struct buf names = {0};
	uint32_t id = 1;

	if (name)
		id = film_find_event(film, name);
	if (id && id < film->event_count) {
		view->event = &film->events[id];
		return 0;
	}
	if (film->event_count < 2)
		return fail(why, -ENOENT, NULL, "the film has no events");
	for (id = 1; id < film->event_count; id++)
		buf_printf(&names, "%s%s", id > 1 ? ", " : "", film->events[id].name);
	buf_put_u8(&names, 0);
	fail(why, -ENOENT, NULL, "the film has no event '%s', only %s", name,
	     names.failed ? "others" : (const char *)names.at);
	buf_free(&names);
	return -ENOENT;
}

static struct weight *weight_of(struct collector *c, uint32_t group, uint32_t stack)
{
	struct view *view = c->view;
	uint64_t key = (uint64_t)group << 32 | stack, *known;

	if (c->of_stack) {
		if (c->of_stack[stack])
			return &view->weights.at[c->of_stack[stack] - 1];
	} else {
		known = map_get(&c->of_pair, key);
		if (known)
			return &view->weights.at[*known];
	}
	if (view->weights.count == UINT32_MAX - 1 ||
	    !vec_push(&view->weights, (struct weight){.group = group, .stack = stack}))
		return NULL;
	if (c->of_stack)
		c->of_stack[stack] = (uint32_t)view->weights.count;
	else if (!map_put(&c->of_pair, key, view->weights.count - 1))
		return NULL;
	return vec_last(&view->weights);
}

static int take_samples(void *context, const struct film_samples *samples)
{
	struct collector *c = context;
	struct view *view = c->view;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t thread = samples->thread[i], stack = samples->stack[i], group = 0;
		struct weight *weight;

		if (!c->kept.threads[thread] || !c->kept.stacks[stack])
			continue;
		if (view->group == VIEW_THREAD)
			group = thread;
		else if (view->group == VIEW_PROCESS)
			group = view->film->threads[thread].process;
		weight = weight_of(c, group, stack);
		if (!weight)
			return c->err = -ENOMEM;
		/* no part can overflow where the whole does not */
		if (__builtin_add_overflow(view->total, samples->value[i], &view->total))
			return c->err = -EOVERFLOW;
		view->threads[thread] += samples->value[i];
		weight->value += samples->value[i];
		weight->samples++;
		view->samples++;
	}
	return 0;
}

static int by_group_and_stack(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low || high < low ? low : value > high ? high : value;
}

static int collect(struct collector *c, const struct question *q, struct fail *why)
{
	struct view *view = c->view;
	struct film *film = view->film;
	uint64_t from, to, film_total;
	int err;

	film_event_total(film, (uint32_t)(view->event - film->events), &view->film_samples,
			 &film_total);
	view->is_filtered = filter_is_set(&q->filter);
	err = filter_span(&q->filter, &film->info, &from, &to, why);
	if (err)
		return err;
	view->from = clamp(from, film->info.start, film->info.end);
	view->to = clamp(to, film->info.start, film->info.end);
	if (filter_apply(&q->filter, film, &c->kept))
		return fail_errno(why, -ENOMEM, NULL, "cannot filter the samples");
	view->threads = calloc(film->thread_count + 1ull, sizeof(*view->threads));
	if (view->group == VIEW_WHOLE)
		c->of_stack = calloc(film->stack_count + 1ull, sizeof(*c->of_stack));
	if (!view->threads || (view->group == VIEW_WHOLE && !c->of_stack))
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the samples");

	err = film_each_samples(film, (uint32_t)(view->event - film->events), from, to,
				take_samples, c, why);
	if (c->err == -EOVERFLOW)
		return fail(why, err, NULL, "the samples of the film add up to more than 64 bits");
	if (c->err)
		return fail_errno(why, err, NULL, "cannot add up the samples");
	if (view->weights.count)
		qsort(view->weights.at, view->weights.count, sizeof(*view->weights.at),
		      by_group_and_stack);
	return err;
}

/* Adds to the count of a reason; known finds those that are there by the hash of their words. */
static bool count_reason(struct view_reasons *reasons, struct map *known, const char *words,
			 size_t length, uint64_t count)
{
	uint64_t hash = hash_bytes(words, length), *index = map_get(known, hash);
	char *copy;

	/* only in a film made for it do two reasons share a hash, and then they are counted as one */
	if (index) {
		reasons->at[*index].count += count;
		return true;
	}
	copy = strndup(words, length);
	if (!copy || !vec_push(reasons, (struct view_reason){copy, count})) {
		free(copy);
		return false;
	}
	return map_put(known, hash, reasons->count - 1);
}

static int most_first(const void *a, const void *b)
{
	const struct view_reason *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->words, y->words);
}

static void sort_reasons(struct view_reasons *reasons)
{
	if (reasons->count)
		qsort(reasons->at, reasons->count, sizeof(*reasons->at), most_first);
}

static void free_reasons(struct view_reasons *reasons)
{
	vec_foreach (reasons, reason)
		free(reason->words);
	vec_free(reasons);
}

static int account_losses(struct view *view)
{
	const struct film *film = view->film;
	struct map known = {0};
	bool done = true;

	for (size_t i = 0; done && i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (loss->count && (!loss->event || &film->events[loss->event] == view->event))
			done = count_reason(&view->losses, &known, loss->reason,
					    strlen(loss->reason), loss->count);
	}
	sort_reasons(&view->losses);
	map_free(&known);
	return done ? 0 : -ENOMEM;
}

/* The outermost frame of each stack says whether and why the stack was cut. */
static bool account_weights(struct view *view, const uint32_t *outermost, const uint8_t *guessed,
			    struct map *known)
{
	const struct film *film = view->film;

	vec_foreach (&view->weights, weight) {
		const struct film_frame *frame = &film->frames[outermost[weight->stack]];
		const char *words = "no stack";
		size_t length = strlen(words);

		view->stacks.guessed += guessed[weight->stack] ? weight->samples : 0;
		if (weight->stack)
			words = frame->kind == FILM_FRAME_MARK
					? name_truncation(film->functions[frame->function].name,
							  &length)
					: NULL;
		if (!words) {
			view->stacks.complete += weight->samples;
			continue;
		}
		view->stacks.truncated += weight->samples;
		if (!count_reason(&view->stacks.reasons, known, words, length, weight->samples))
			return false;
	}
	return true;
}

static int account_stacks(struct view *view)
{
	const struct film *film = view->film;
	uint32_t *outermost = calloc(film->stack_count + 1ull, sizeof(*outermost));
	uint8_t *guessed = calloc(film->stack_count + 1ull, 1);
	struct map known = {0};
	bool done = false;

	if (outermost && guessed) {
		for (uint32_t i = 1; i < film->stack_count; i++) {
			const struct film_stack *stack = &film->stacks[i];

			outermost[i] = stack->parent ? outermost[stack->parent] : stack->frame;
			guessed[i] = guessed[stack->parent] | (stack->how != FILM_HOW_EXACT);
		}
		done = account_weights(view, outermost, guessed, &known);
	}
	sort_reasons(&view->stacks.reasons);
	free(outermost);
	free(guessed);
	map_free(&known);
	return done ? 0 : -ENOMEM;
}

int view_open(struct film *film, const struct question *q, enum view_group group, struct view *view,
	      struct fail *why)
{
	struct collector c = {.view = view};
	int err;

	*view = (struct view){.film = film, .group = group};
	err = pick_event(view, q->event, why);
	if (!err)
		err = collect(&c, q, why);
	if (!err && (account_stacks(view) || account_losses(view)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot count stacks and losses");
	filter_kept_free(&c.kept);
	free(c.of_stack);
	map_free(&c.of_pair);
	return err;
}

void view_free(struct view *view)
{
	vec_free(&view->weights);
	free(view->threads);
	free_reasons(&view->stacks.reasons);
	free_reasons(&view->losses);
	*view = (struct view){0};
}
