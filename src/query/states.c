// SPDX-License-Identifier: Apache-2.0
#include "query/states.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/filter.h"

struct summing {
	struct states *states;
	struct filter_kept kept;
	uint32_t *places; /* by thread: its place in the threads of its part, and 1 */
	struct part *parts;
	void **contexts; /* they again, each */
	unsigned int part_count;
};

/* What is summed up of a part of the threads. */
struct part {
	const struct summing *s;
	struct state_lists threads;
	struct state_objects objects;
	uint64_t slices;
};

void state_words(const struct film *film, const struct state *state, char *words, size_t size)
{
	const char *name = slice_kind_name(state->kind), *call;

	if (!slice_is_wait(state->kind) || slice_wait_class(state->kind) != WAIT_OTHER) {
		snprintf(words, size, "%s%s", name, state->for_condition ? " (condition)" : "");
		return;
	}
	call = wait_call_name(film->info.arch, state->of, state->call);
	if (*call == '?')
		snprintf(words, size, "%s (system call %u)", name, state->call - 1u);
	else
		snprintf(words, size, "%s (%s)", name, *call ? call : "no system call");
}

uint64_t state_quantile(const struct state *state, unsigned int of_thousand)
{
	uint64_t ns = latency_quantile(&state->times, of_thousand);

	return ns < state->longest ? ns : state->longest;
}

/* What tells states apart. Without their times: this is made for each slice. */
struct likeness {
	uint16_t call;
	uint8_t kind, of;
	bool for_condition;
};

static struct likeness likeness_of(const struct slice *slice, const struct slice_evidence *evidence)
{
	struct likeness like = {.kind = slice->kind, .of = slice->state};

	if (slice->kind == SLICE_WAIT + WAIT_OTHER)
		like.call = slice->call;
	if (slice->kind == SLICE_WAIT + WAIT_LOCK)
		like.for_condition = !evidence->lock.address && slice_is_for_condition(slice);
	return like;
}

static struct state state_like(struct likeness like)
{
	return (struct state){.kind = like.kind,
			      .call = like.call,
			      .of = like.of,
			      .for_condition = like.for_condition};
}

void state_words_of(const struct film *film, const struct state_object *object, char *words,
		    size_t size)
{
	const struct state like = state_like(likeness_of(&object->like, &object->evidence));

	state_words(film, &like, words, size);
}

static bool is_like(const struct state *state, struct likeness like)
{
	return state->kind == like.kind && state->call == like.call &&
	       state->for_condition == like.for_condition;
}

/*
 * Apart from what is done for each slice, as it is rare: it is made on the stack first, and
 * compilers do that where a function begins.
 */
static __attribute__((noinline)) struct state *new_state(struct state_list *list,
							 struct likeness like)
{
	if (!vec_push(&list->states, state_like(like)))
		return NULL;
	list->places[like.kind] = (uint32_t)list->states.count;
	return vec_last(&list->states);
}

static struct state *state_of(struct state_list *list, struct likeness like)
{
	uint32_t place = list->places[like.kind];

	/* of some kinds there may be several */
	if (place && is_like(&list->states.at[place - 1], like))
		return &list->states.at[place - 1];
	if (place)
		vec_foreach (&list->states, state)
			if (is_like(state, like))
				return state;
	return new_state(list, like);
}

/* Of these kinds there are several states. */
static bool has_variants(unsigned int kind)
{
	return kind == SLICE_WAIT + WAIT_OTHER || kind == SLICE_WAIT + WAIT_LOCK;
}

static struct state *state_of_slice(struct state_list *list, const struct slice *slice,
				    const struct slice_evidence *evidence)
{
	uint32_t place = list->places[slice->kind];

	return place && !has_variants(slice->kind) ? &list->states.at[place - 1]
						   : state_of(list, likeness_of(slice, evidence));
}

static __attribute__((noinline)) struct state_list *new_list(struct part *part, uint32_t thread)
{
	struct state_list *list;

	if (!vec_push(&part->threads, (struct state_list){0}))
		return NULL;
	part->s->places[thread] = (uint32_t)part->threads.count;
	list = vec_last(&part->threads);
	list->thread = thread;
	list->process = part->s->states->film->threads[thread].process;
	list->threads = 1;
	return list;
}

static struct state_list *list_of(struct part *part, uint32_t thread)
{
	uint32_t place = part->s->places[thread];

	return place ? &part->threads.at[place - 1] : new_list(part, thread);
}

static int add_slice(void *context, const struct slice *slice,
		     const struct slice_evidence *evidence)
{
	uint64_t time = slice->end - slice->start;
	struct part *part = context;
	const struct states *states = part->s->states;
	struct state_list *list;
	struct state *state;

	if (!part->s->kept.threads[slice->thread])
		return 0;
	list = list_of(part, slice->thread);
	state = list ? state_of_slice(list, slice, evidence) : NULL;
	if (!state || !latency_add(&state->times, time, 1))
		return -ENOMEM;
	if (slice_is_wait(slice->kind) &&
	    !state_objects_add(&part->objects, states->film, slice, evidence))
		return -ENOMEM;
	list->unlinked |= states->unlinked.of_stack[slice->stack];
	part->slices++;
	list->life += time;
	if (slice->kind == SLICE_ON_CPU || slice->kind == SLICE_RUNNING)
		list->on_cpu += time;
	state->total += time;
	state->longest = time > state->longest ? time : state->longest;
	state->parts += slice->began_before || slice->goes_on;
	return 0;
}

static bool add_list(struct state_list *to, const struct state_list *list)
{
	to->life += list->life;
	to->on_cpu += list->on_cpu;
	to->threads++;
	vec_foreach (&list->states, state) {
		const struct likeness like = {state->call, state->kind, state->of,
					      state->for_condition};
		struct state *sum = state_of(to, like);

		if (!sum || !latency_merge(&sum->times, &state->times))
			return false;
		sum->total += state->total;
		sum->parts += state->parts;
		sum->longest = state->longest > sum->longest ? state->longest : sum->longest;
	}
	return true;
}

static int add_up(struct states *states)
{
	uint32_t *places = calloc(states->film->process_count + 1ull, sizeof(*places));
	int err = places ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < states->threads.count; i++) {
		const struct state_list *thread = &states->threads.at[i];
		const struct state_list process = {.process = thread->process};

		if (!places[thread->process]) {
			if (!vec_push(&states->processes, process)) {
				err = -ENOMEM;
				break;
			}
			places[thread->process] = (uint32_t)states->processes.count;
		}
		states->unlinked.of_process[thread->process] |= thread->unlinked;
		if (!add_list(&states->processes.at[places[thread->process] - 1], thread) ||
		    !add_list(&states->all, thread))
			err = -ENOMEM;
	}
	free(places);
	return err;
}

static int more_first(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int longest_first(const void *left, const void *right)
{
	const struct state *a = left, *b = right;
	int order = more_first(a->total, b->total);

	if (!order)
		order = more_first(b->kind, a->kind);
	return order ? order : more_first(b->call, a->call);
}

/* By time on CPUs; those without are in the order of their numbers. */
static int busiest_first(const void *left, const void *right)
{
	const struct state_list *a = left, *b = right;
	int order = more_first(a->on_cpu, b->on_cpu);

	if (!order)
		order = more_first(b->process, a->process);
	return order ? order : more_first(b->thread, a->thread);
}

static void sort_list(struct state_list *list)
{
	if (list->states.count)
		qsort(list->states.at, list->states.count, sizeof(*list->states.at), longest_first);
}

static int sort_all(struct states *states)
{
	if (!state_objects_sort(&states->objects))
		return -ENOMEM;
	sort_list(&states->all);
	vec_foreach (&states->processes, list)
		sort_list(list);
	vec_foreach (&states->threads, list)
		sort_list(list);
	if (states->processes.count)
		qsort(states->processes.at, states->processes.count, sizeof(*states->processes.at),
		      busiest_first);
	if (states->threads.count)
		qsort(states->threads.at, states->threads.count, sizeof(*states->threads.at),
		      busiest_first);
	return 0;
}

static void free_list(struct state_list *list)
{
	vec_foreach (&list->states, state)
		latency_free(&state->times);
	vec_free(&list->states);
}

static void free_lists(struct state_lists *lists)
{
	vec_foreach (lists, list)
		free_list(list);
	vec_free(lists);
}

static int begin_parts(struct summing *s)
{
	s->part_count = slices_parts(s->states->film, s->states->event);
	s->parts = calloc(s->part_count, sizeof(*s->parts));
	s->contexts = calloc(s->part_count, sizeof(*s->contexts));
	s->places = calloc(s->states->film->thread_count + 1ull, sizeof(*s->places));
	if (!s->parts || !s->contexts || !s->places)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->part_count; i++) {
		s->contexts[i] = &s->parts[i];
		s->parts[i].s = s;
		state_objects_init(&s->parts[i].objects, s->states->film);
	}
	return 0;
}

/* The lists of the threads move. */
static int merge_parts(struct summing *s)
{
	struct states *states = s->states;

	for (unsigned int i = 0; i < s->part_count; i++) {
		struct part *part = &s->parts[i];

		if (!vec_reserve(&states->threads, states->threads.count + part->threads.count) ||
		    !state_objects_merge(&states->objects, &part->objects))
			return -ENOMEM;
		vec_foreach (&part->threads, list)
			states->threads.at[states->threads.count++] = *list;
		vec_free(&part->threads);
		states->slices += part->slices;
	}
	return 0;
}

static void end_parts(struct summing *s)
{
	for (unsigned int i = 0; s->parts && i < s->part_count; i++) {
		free_lists(&s->parts[i].threads);
		state_objects_free(&s->parts[i].objects);
	}
	free(s->parts);
	free(s->contexts);
	free(s->places);
	filter_kept_free(&s->kept);
}

/* What of the film's time a question asks for. */
static int choose_span(struct states *states, const struct filter *filter, struct fail *why)
{
	const struct film_info *info = &states->film->info;
	int err = filter_span(filter, info, &states->from, &states->to, why);

	if (states->to > info->end)
		states->to = info->end;
	if (states->from < info->start)
		states->from = info->start;
	return err;
}

int states_make(struct film *film, uint32_t event, const struct filter *filter,
		struct states *states, struct fail *why)
{
	struct summing s = {.states = states};
	int err;

	*states = (struct states){
		.film = film, .event = event, .are_lanes = slices_are_of_lanes(film, event)};
	state_objects_init(&states->objects, film);
	err = choose_span(states, filter, why);
	if (err)
		return err;
	err = filter_apply(filter, film, &s.kept, why);
	if (!err)
		err = begin_parts(&s);
	if (!err)
		err = unlinked_begin(film, &states->unlinked);
	if (!err)
		err = slices_each_part(film, event, states->from, states->to, add_slice,
				       s.part_count, s.contexts, why);
	if (!err)
		err = merge_parts(&s);
	if (!err)
		err = add_up(states);
	if (!err)
		err = view_count_losses(&states->losses, film, event, 0);
	if (!err)
		err = sort_all(states);
	end_parts(&s);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot sum up states") : err;
}

void states_free(struct states *states)
{
	free_list(&states->all);
	free_lists(&states->processes);
	free_lists(&states->threads);
	state_objects_free(&states->objects);
	unlinked_free(&states->unlinked);
	view_free_reasons(&states->losses);
}
