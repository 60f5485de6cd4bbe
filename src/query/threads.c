// SPDX-License-Identifier: Apache-2.0
#include "query/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/events.h"
#include "arch/system_call_names.h"
#include "query/explain/explain.h"

/* A sample of a CPU that is further from the moment is of something else that the thread did. */
#define APART_MAX 250000000ull

struct gathering {
	vec(struct thread_state) states;
	struct film *film;
	struct wait_classes classes;
	const struct thread_waits *waits;
	/* Of threads that ran: */
	struct map running;  /* thread: its place in states */
	vec(uint64_t) apart; /* by place in states: between the moment and its stack */
};

static bool runs(const struct thread_state *state)
{
	return state->state == FILM_WAIT_RUNS;
}

static int add_state(struct gathering *g, const struct film_waits *waits, size_t i)
{
	uint32_t call = waits->call[i];
	const char *name = call ? syscall_name(g->film->info.arch, call - 1) : NULL;
	struct thread_state state = {
		.thread = waits->thread[i],
		.process = g->film->threads[waits->thread[i]].process,
		.stack = waits->stack[i],
		.time = waits->end[i],
		.since = waits->duration[i],
		.state = (uint8_t)waits->state[i],
	};

	/* of a thread that ran, its registers are of another time */
	if (!runs(&state)) {
		state.number = (uint16_t)call;
		state.call = name;
		state.class = wait_class_of(&g->classes, waits, i);
	}
	if (!state.call)
		state.call = "";
	/* one that runs, or could, waits for nothing */
	if (g->waits->all && !runs(&state) && state.state != FILM_WAIT_READY)
		state.wait = g->waits->all[state.thread];
	if (!vec_push(&g->states, state) || !vec_push(&g->apart, APART_MAX))
		return -ENOMEM;
	if (runs(&state) && !map_put(&g->running, state.thread, g->states.count - 1))
		return -ENOMEM;
	return 0;
}

static int add_states(void *context, const struct film_waits *waits)
{
	int err = 0;

	for (size_t i = 0; !err && i < waits->count; i++)
		err = add_state(context, waits, i);
	return err;
}

/* The stacks of those that ran: the sample next to the moment. */
static int match_samples(void *context, const struct film_samples *samples)
{
	struct gathering *g = context;

	for (size_t i = 0; i < samples->count; i++) {
		const uint64_t *place = map_get(&g->running, samples->thread[i]);
		struct thread_state *state = place ? &g->states.at[*place] : NULL;
		uint64_t apart;

		if (!state || !samples->stack[i])
			continue;
		apart = samples->time[i] > state->time ? samples->time[i] - state->time
						       : state->time - samples->time[i];
		if (apart >= g->apart.at[*place])
			continue;
		g->apart.at[*place] = apart;
		state->stack = samples->stack[i];
	}
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Whom they wait for. Hundreds that wait for a lock each, one of their own, are alike. */
static int by_wait(const struct thread_wait *a, const struct thread_wait *b)
{
	int order = compare(a->holder, b->holder);

	if (!order)
		order = compare(a->peer, b->peer);
	return order ? order : compare(a->is_dead, b->is_dead);
}

/* Those that are alike beside each other, in order of tid. */
static int by_likeness(const void *left, const void *right, void *context)
{
	const struct thread_state *a = left, *b = right;
	const struct film *film = context;
	int order = compare(film->processes[a->process].pid, film->processes[b->process].pid);

	if (!order)
		order = compare(a->process, b->process);
	if (!order)
		order = compare(a->stack, b->stack);
	if (!order)
		order = compare(a->state, b->state);
	if (!order)
		order = compare(a->number, b->number);
	if (!order)
		order = compare(a->class, b->class);
	if (!order)
		order = by_wait(&a->wait, &b->wait);
	return order ? order : compare(film->threads[a->thread].tid, film->threads[b->thread].tid);
}

/* As by_likeness(), with the groups of a process by the tid of their first thread. */
struct ordered {
	struct thread_state state;
	uint32_t pid, tid, first;
};

static int by_first(const void *left, const void *right)
{
	const struct ordered *a = left, *b = right;
	int order = compare(a->pid, b->pid);

	if (!order)
		order = compare(a->state.process, b->state.process);
	if (!order)
		order = compare(a->first, b->first);
	return order ? order : compare(a->tid, b->tid);
}

static bool is_alike(const struct thread_state *a, const struct thread_state *b)
{
	return a->process == b->process && a->stack == b->stack && a->state == b->state &&
	       a->number == b->number && a->class == b->class && !by_wait(&a->wait, &b->wait);
}

static int order(struct gathering *g)
{
	size_t count = g->states.count, i, group = 0;
	struct thread_state *at = g->states.at;
	struct ordered *ordered = calloc(count + 1, sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	if (count)
		qsort_r(at, count, sizeof(*at), by_likeness, g->film);
	for (i = 0; i < count; i++) {
		const struct film_thread *thread = &g->film->threads[at[i].thread];

		if (!i || !is_alike(&at[i - 1], &at[i]))
			group = i;
		ordered[i] = (struct ordered){
			.state = at[i],
			.pid = g->film->processes[at[i].process].pid,
			.tid = thread->tid,
			.first = g->film->threads[at[group].thread].tid,
		};
	}
	if (count)
		qsort(ordered, count, sizeof(*ordered), by_first);
	for (i = 0; i < count; i++) {
		at[i] = ordered[i].state;
		if (!i || !is_alike(&at[i - 1], &at[i]))
			group = i;
		at[i].group = group;
	}
	free(ordered);
	return 0;
}

/* Stacks as they are shown, which may be the same for several of the film. */
static void fold_states(struct gathering *g, const struct fold *fold)
{
	if (fold->into)
		vec_foreach (&g->states, state)
			state->stack = fold->into[state->stack];
}

static int gather(struct gathering *g, const struct thread_dump *dump, struct fail *why)
{
	uint32_t cpus = film_find_event(g->film, event_type(EVENT_ON_CPU)->name);
	int err = wait_classes_init(&g->classes, g->film);

	if (!err)
		err = film_each_waits(g->film, dump->event, 0, UINT64_MAX, add_states, g, why);
	if (!err && cpus && g->running.count)
		err = film_each_samples(g->film, cpus, 0, UINT64_MAX, match_samples, g, why);
	if (err)
		return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot list the threads") : err;
	fold_states(g, &dump->fold);
	err = order(g);
	return err ? fail_errno(why, err, NULL, "cannot list the threads") : 0;
}

int thread_dump_make(struct film *film, const struct shape *shape, struct thread_dump *dump,
		     struct fail *why)
{
	struct gathering g = {.film = film, .waits = &dump->waits};
	int err;

	*dump = (struct thread_dump){
		.film = film,
		.event = film_find_event(film, event_type(EVENT_DUMP)->name),
		.labels.shape = shape,
	};
	if (!dump->event)
		return fail(why, -ENOENT, NULL, "the film has no dump of threads");
	if (fold_stacks(film, shape, &dump->fold) ||
	    frame_labels_init(&dump->frames, &dump->labels, film) ||
	    view_count_losses(&dump->losses, film, dump->event, 0))
		return fail_errno(why, -ENOMEM, NULL, "cannot list the threads");
	dump->paths = dump->fold.paths ? dump->fold.paths : film->stacks;
	err = thread_waits_load(film, &dump->waits, why);
	if (!err)
		err = gather(&g, dump, why);
	wait_classes_free(&g.classes);
	map_free(&g.running);
	vec_free(&g.apart);
	dump->threads = g.states.at;
	dump->count = err ? 0 : g.states.count;
	for (size_t i = 0; i < dump->count; i++) {
		uint64_t time = dump->threads[i].time;

		dump->from = !i || time < dump->from ? time : dump->from;
		dump->to = time > dump->to ? time : dump->to;
	}
	return err;
}

void thread_dump_free(struct thread_dump *dump)
{
	free(dump->threads);
	thread_waits_free(&dump->waits);
	view_free_reasons(&dump->losses);
	frame_labels_free(&dump->frames);
	labels_free(&dump->labels);
	fold_free(&dump->fold);
	*dump = (struct thread_dump){0};
}

/* The wait with which the history of a thread ends; null: it has none. */
static const struct slice *last_wait(const struct histories *histories, uint32_t thread)
{
	size_t next = histories->first[thread + 1];
	const struct slice *slice =
		next > histories->first[thread] ? &histories->slices[next - 1] : NULL;

	return slice && slice_is_wait(slice->kind) ? slice : NULL;
}

static const struct slice_lock *lock_of(const struct explainer *e, const struct slice *slice)
{
	return slice->kind == SLICE_WAIT + WAIT_LOCK ? explain_lock_of(&e->locks, slice) : NULL;
}

static void put_object(const struct explainer *e, const struct slice *slice,
		       const struct slice_lock *lock, char *words, size_t size)
{
	*words = 0;
	if (lock)
		lock_words(e->film,
			   &(struct lock_shown){.address = lock->address,
						.place = lock->place,
						.kind = lock->kind},
			   words, size);
	else if (slice_object(e->film, slice, NULL, words, size) != OBJECT_KNOWN)
		*words = 0;
}

static int add_wait(const struct explainer *e, uint32_t thread, struct thread_wait *wait)
{
	const struct slice *slice = last_wait(&e->histories, thread);
	const struct slice_lock *lock = slice ? lock_of(e, slice) : NULL;
	char words[512];

	if (!slice)
		return 0;
	put_object(e, slice, lock, words, sizeof(words));
	wait->object = *words ? strdup(words) : NULL;
	wait->holder = lock && lock->holder != thread ? lock->holder : 0;
	wait->peer = slice->object ? e->peers[slice->object] : 0;
	return *words && !wait->object ? -ENOMEM : 0;
}

/* Holders are followed, up to as many as there are threads: a cycle that is met does not end. */
static bool is_dead(const struct thread_waits *waits, uint32_t thread)
{
	uint32_t at = waits->all[thread].holder;

	for (uint32_t i = 0; at && at != thread && i < waits->count; i++)
		at = waits->all[at].holder;
	return at == thread;
}

int thread_waits_load(struct film *film, struct thread_waits *waits, struct fail *why)
{
	const struct filter all = {0};
	struct explainer e;
	int err;

	*waits = (struct thread_waits){0};
	if (!slices_event(film))
		return 0;
	err = explainer_init(&e, film, &all, NULL, why);
	if (!err) {
		waits->count = film->thread_count;
		waits->all = calloc(waits->count + 1ull, sizeof(*waits->all));
		err = waits->all ? 0 : -ENOMEM;
		for (uint32_t thread = 1; !err && thread < waits->count; thread++)
			err = add_wait(&e, thread, &waits->all[thread]);
		if (err)
			fail_errno(why, err, NULL, "cannot list the threads");
	} else if (err == -ENOENT) {
		/* no thread was seen long enough: what is known without it is shown */
		err = 0;
	}
	explainer_free(&e);
	for (uint32_t thread = 1; !err && waits->all && thread < waits->count; thread++)
		waits->all[thread].is_dead = is_dead(waits, thread);
	return err;
}

void thread_waits_free(struct thread_waits *waits)
{
	for (uint32_t thread = 0; waits->all && thread < waits->count; thread++)
		free(waits->all[thread].object);
	free(waits->all);
	*waits = (struct thread_waits){0};
}
