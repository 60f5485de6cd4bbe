// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "film/events.h"
#include "query/level.h"
#include "query/names.h"
#include "query/slices.h"
#include "query/view_fill.h"

struct collector {
	struct view *view;
	const struct filter_kept *kept;
	/* stack to its place in view->weights plus one: for a whole view, where most time goes, an
	   array; else a map by group and stack */
	uint32_t *of_stack;
	struct map of_pair;
	uint64_t *last; /* of a level: by process, when its state is taken */
	uint64_t leaks; /* what must have been there for so long before, ns; 0: all */
	int err;	/* why add_samples() ended the walk */
};

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

static struct weight *weight_of_sample(struct collector *c, uint32_t thread, uint32_t stack)
{
	const struct view *view = c->view;
	uint32_t group = 0;

	if (view->group == VIEW_THREAD)
		group = thread;
	else if (view->group == VIEW_PROCESS)
		group = view->film->threads[thread].process;
	return weight_of(c, group, view->fold.into ? view->fold.into[stack] : stack);
}

/* How many samples a row is; 0: it says that a process holds nothing. */
static uint32_t count_of(const struct film_samples *samples, size_t row)
{
	if (!samples->count_of)
		return 1;
	return samples->count_of[row] ? samples->count_of[row] : samples->value[row] != 0;
}

static int add(struct collector *c, uint32_t thread, uint32_t stack, uint64_t value, uint32_t count)
{
	struct view *view = c->view;
	struct weight *weight = weight_of_sample(c, thread, stack);

	if (!weight)
		return c->err = -ENOMEM;
	/* no part can overflow where the whole does not */
	if (__builtin_add_overflow(view->total, value, &view->total))
		return c->err = -EOVERFLOW;
	view->processes[view->film->threads[thread].process] += value;
	weight->value += value;
	weight->samples += count;
	view->samples += count;
	return 0;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct collector *c = context;
	const struct view *view = c->view;
	int err = 0;

	for (size_t i = 0; !err && i < samples->count; i++) {
		uint32_t thread = samples->thread[i], stack = samples->stack[i];
		uint32_t count = count_of(samples, i);

		if (!count || !c->kept->threads[thread] || !c->kept->stacks[stack])
			continue;
		if (c->last && samples->time[i] != c->last[view->film->threads[thread].process])
			continue;
		/* when it was allocated is known to be before the film, or it is not known */
		if (c->leaks && c->last && samples->born[i] + c->leaks > samples->time[i])
			continue;
		err = add(c, thread, stack, samples->value[i], count);
	}
	return err;
}

/* The rows of a wait that lasts are several, and only the last of them has its stack. */
static int add_slice(void *context, const struct slice *slice,
		     const struct slice_evidence *evidence)
{
	struct collector *c = context;
	uint32_t stack = slice->stack;

	(void)evidence;
	if (!slice_is_wait(slice->kind) || !c->kept->threads[slice->thread] ||
	    !c->kept->stacks[stack])
		return 0;
	return add(c, slice->thread, stack, slice->end - slice->start, 1);
}

static int add_all(struct collector *c, uint32_t event, uint64_t from, uint64_t to,
		   struct fail *why)
{
	struct film *film = c->view->film;

	return film_has_turns(film, event)
		       ? slices_each(film, event, from, to, add_slice, c, why)
		       : film_each_samples(film, event, from, to, add_samples, c, why);
}

/* -- growth ------------------------------------------------------------------------------------ */

static void subtract(uint64_t *from, uint64_t value)
{
	*from -= value < *from ? value : *from;
}

/* The same samples as of add_samples(), of an earlier state. */
static int subtract_samples(void *context, const struct film_samples *samples)
{
	struct collector *c = context;
	struct view *view = c->view;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t thread = samples->thread[i], stack = samples->stack[i];
		uint32_t process = view->film->threads[thread].process;
		struct weight *weight;

		if (!count_of(samples, i) || !c->kept->threads[thread] || !c->kept->stacks[stack] ||
		    samples->time[i] != c->last[process])
			continue;
		weight = weight_of_sample(c, thread, stack);
		if (!weight)
			return c->err = -ENOMEM;
		subtract(&weight->value, samples->value[i]);
		subtract(&view->processes[process], samples->value[i]);
	}
	return 0;
}

/* The first state of each process that lived before the film and has none from then. */
static int add_first(void *context, const struct film_samples *samples)
{
	struct collector *c = context;
	const struct film *film = c->view->film;

	for (size_t i = 0; i < samples->count; i++) {
		uint32_t process = film->threads[samples->thread[i]].process;
		uint64_t *first = &c->last[process];

		if (film->processes[process].start < film->info.start && !*first)
			*first = samples->time[i];
	}
	return 0;
}

/*
 * Subtracts what stacks had so long before the last state. If that was before the film, what they
 * had at its beginning: a process that began later had nothing.
 */
static int keep_growth(struct collector *c, uint32_t event, uint64_t grown, struct fail *why)
{
	struct view *view = c->view;
	uint64_t *now = c->last, end = 0, samples = 0;
	size_t kept = 0;
	int err = 0;

	for (uint32_t i = 1; i < view->film->process_count; i++)
		end = now[i] > end ? now[i] : end;
	end = end > grown ? end - grown + 1 : 0;
	c->last = level_last(view->film, event, 0, end, why);
	err = c->last ? film_each_samples(view->film, event, 0, UINT64_MAX, add_first, c, why)
		      : -EIO;
	if (!err)
		err = film_each_samples(view->film, event, 0, UINT64_MAX, subtract_samples, c, why);
	free(c->last);
	c->last = now;
	view->total = 0;
	vec_foreach (&view->weights, weight) {
		if (!weight->value)
			continue;
		view->total += weight->value;
		samples += weight->samples;
		view->weights.at[kept++] = *weight;
	}
	view->weights.count = kept;
	view->samples = samples;
	return err;
}

/* -- what stacks are --------------------------------------------------------------------------- */

/* What a stack has that is to be told. */
enum {
	HAS_GUESS = 1,
	HAS_GAP = 2,
};

/* The outermost frame of each stack says whether and why the stack was cut. */
static bool account(struct view *view, const uint64_t *samples, const uint32_t *outermost,
		    const uint8_t *has, struct map *known)
{
	const struct film *film = view->film;

	for (uint32_t stack = 0; !stack || stack < film->stack_count; stack++) {
		const struct film_frame *frame = &film->frames[outermost[stack]];
		const char *words = "no stack";
		size_t length = strlen(words);

		if (!samples[stack])
			continue;
		view->stacks.guessed += has[stack] & HAS_GUESS ? samples[stack] : 0;
		view->stacks.gaps += has[stack] & HAS_GAP ? samples[stack] : 0;
		if (stack)
			words = frame->kind == FILM_FRAME_MARK
					? name_truncation(film->functions[frame->function].name,
							  &length)
					: NULL;
		if (!words) {
			view->stacks.complete += samples[stack];
			continue;
		}
		view->stacks.truncated += samples[stack];
		if (!view_count_reason(&view->stacks.reasons, known, words, length, samples[stack]))
			return false;
	}
	return true;
}

/* What a stack has, of which its parent's is known. */
static uint8_t what_has(const struct film *film, const struct film_stack *stack, uint8_t parent)
{
	const struct film_frame *frame = &film->frames[stack->frame];

	if (stack->how == FILM_HOW_FRAME_POINTER)
		parent |= HAS_GUESS;
	/* the mark of a stack that was cut is its outermost frame */
	if (stack->parent && frame->kind == FILM_FRAME_MARK &&
	    !strcmp(film->functions[frame->function].name, FILM_GAP))
		parent |= HAS_GAP;
	return parent;
}

int view_account_stacks(struct view *view, const uint64_t *samples)
{
	const struct film *film = view->film;
	uint32_t *outermost = calloc(film->stack_count + 1ull, sizeof(*outermost));
	uint8_t *has = calloc(film->stack_count + 1ull, 1);
	struct map known = {0};
	bool done = false;

	if (outermost && has) {
		for (uint32_t i = 1; i < film->stack_count; i++) {
			const struct film_stack *stack = &film->stacks[i];

			outermost[i] = stack->parent ? outermost[stack->parent] : stack->frame;
			has[i] = what_has(film, stack, has[stack->parent]);
		}
		done = account(view, samples, outermost, has, &known);
	}
	view_sort_reasons(&view->stacks.reasons);
	free(outermost);
	free(has);
	map_free(&known);
	return done ? 0 : -ENOMEM;
}

static int account_weights(struct view *view)
{
	uint64_t *samples = calloc(view->film->stack_count + 1ull, sizeof(*samples));
	int err = -ENOMEM;

	if (samples) {
		vec_foreach (&view->weights, weight)
			samples[weight->stack] += weight->samples;
		err = view_account_stacks(view, samples);
	}
	free(samples);
	return err;
}

int view_fill_samples(struct view *view, const struct shape *shape, const struct filter_kept *kept,
		      uint64_t from, uint64_t to, struct fail *why)
{
	struct film *film = view->film;
	struct collector c = {.view = view, .kept = kept, .leaks = kept->leaks};
	uint32_t event = (uint32_t)(view->event - film->events);
	int err = -ENOMEM;

	if (event_of(view->event)->is_level) {
		c.last = level_last(film, event, from, to, why);
		if (!c.last)
			return err;
	}
	if (kept->leaks && !film_has_held(film, event)) {
		free(c.last);
		return fail(why, -EINVAL, "-e mem-inuse --leaks TIME shows what is in use for long",
			    "--leaks says nothing of %s", view->event->name);
	}
	if (kept->grown && !c.last)
		return fail(why, -EINVAL, "it is of levels, such as mem-inuse or rss",
			    "--grown says nothing of %s", view->event->name);
	if (fold_stacks(film, shape, &view->fold)) {
		free(c.last);
		return fail_errno(why, err, NULL, "cannot fold the stacks");
	}
	view->paths = view->fold.paths ? view->fold.paths : film->stacks;
	view->path_count = film->stack_count;
	view->processes = calloc(film->process_count + 1ull, sizeof(*view->processes));
	if (view->group == VIEW_WHOLE)
		c.of_stack = calloc(film->stack_count + 1ull, sizeof(*c.of_stack));
	if (!view->processes || (view->group == VIEW_WHOLE && !c.of_stack))
		c.err = err;
	else
		err = add_all(&c, event, from, to, why);
	if (!err && !c.err && c.last && !kept->leaks && !kept->grown)
		err = level_peak(film, event, from, to, kept, &view->peak, why);
	if (!err && !c.err && kept->grown)
		err = keep_growth(&c, event, kept->grown, why);
	if (!err && !c.err && view->also)
		err = film_each_samples(film, view->also, from, to, add_samples, &c, why);
	free(c.last);
	free(c.of_stack);
	map_free(&c.of_pair);
	if (c.err == -EOVERFLOW)
		return fail(why, err, NULL, "the samples of the film add up to more than 64 bits");
	if (c.err)
		return fail_errno(why, err, NULL, "cannot add up the samples");
	if (err)
		return err;
	return account_weights(view) ? fail_errno(why, -ENOMEM, NULL, "cannot count the stacks")
				     : 0;
}
