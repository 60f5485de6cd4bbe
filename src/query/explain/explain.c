// SPDX-License-Identifier: Apache-2.0
#include "query/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "query/explain/asked.h"
#include "query/explain/by_roles.h"
#include "query/explain/calls.h"
#include "query/explain/name_servers.h"
#include "query/explain/parts.h"
#include "query/explain/peers.h"
#include "query/explain/marks.h"

bool explain_is_of_memory(const struct explainer *e, const struct slice *slice)
{
	const char *call = wait_call_name(e->film->info.arch, slice->state, slice->call);

	return slice->kind == SLICE_WAIT + WAIT_LOCK && slice->state != FILM_WAIT_SLEEPS &&
	       slice->state != FILM_WAIT_GOROUTINE && strncmp(call, "futex", 5);
}

uint32_t explain_exit_of(const struct explainer *e, uint32_t thread, uint32_t *status)
{
	const struct histories *h = &e->histories;
	const struct film *film = e->film;

	for (uint32_t id = 1; id < film->thread_count; id++) {
		const struct slice *last = &h->slices[h->first[id + 1] - 1];

		if (film->threads[id].process != film->threads[thread].process ||
		    h->first[id] == h->first[id + 1] || !(last->flags & FILM_TURN_EXITS) ||
		    strcmp(wait_call_name(film->info.arch, 0, last->call), "exit_group"))
			continue;
		*status = last->address & 0xff;
		return id;
	}
	return 0;
}

static int no_lives(const struct film *film, struct fail *why)
{
	if (film_find_event(film, event_type(EVENT_THREADS)->name))
		return fail(why, -ENOENT, NULL,
			    "cannot explain: nothing that was to be filmed ran, so the film has no "
			    "lives of threads");
	return fail(why, -ENOENT, "record with 'stackcam record -e threads,on-cpu'",
		    "cannot explain: the film has no lives of threads");
}

/* What the film has beside the histories. */
static int load_evidence(struct explainer *e, struct fail *why)
{
	uint32_t cpus = film_find_event(e->film, event_type(EVENT_ON_CPU)->name);
	uint32_t locks = film_find_event(e->film, event_type(EVENT_LOCK)->name);
	int err = 0;

	e->has_samples = cpus;
	if (cpus)
		err = explain_samples_load(&e->samples, e->film, cpus, e->from, e->to, why);
	if (!err)
		err = explain_locks_load(&e->locks, &e->histories, e->film, locks, e->from, e->to,
					 why);
	if (err)
		return err;
	explain_locks_hold(&e->locks, &e->histories);
	explain_children_mark(&e->histories);
	if (roles_init(&e->roles, e->film) || explain_by_roles(&e->histories, &e->roles))
		return fail_errno(why, -ENOMEM, NULL, "cannot explain");
	if (explain_accept_locks_mark(&e->locks, &e->histories) ||
	    explain_stacks_init(&e->stacks, e->film))
		return fail_errno(why, -ENOMEM, NULL, "cannot explain");
	explain_retries_mark(&e->histories, &e->stacks);
	return 0;
}

/* Which processes run tasks that share threads. */
static int find_unlinked(struct explainer *e)
{
	const struct histories *histories = &e->histories;
	int err = unlinked_begin(e->film, &e->unlinked);

	for (size_t i = 0; !err && i < histories->count; i++)
		unlinked_add(&e->unlinked, e->film, histories->slices[i].thread,
			     histories->slices[i].stack);
	return err;
}

/*
 * Each thread of the kernel proper is a process of its own. A worker of io_uring, which has the
 * flag where it waits for work, belongs to the process that it works for.
 */
static bool is_of_the_kernel(const struct film *film, const struct slice *slice)
{
	const struct film_thread *thread = &film->threads[slice->thread];

	return slice->flags & FILM_WAIT_KERNEL &&
	       thread->tid == film->processes[thread->process].pid;
}

int explainer_init(struct explainer *e, struct film *film, const struct filter *filter,
		   const struct explain_wanted *wanted, struct fail *why)
{
	uint64_t last, until;
	int err;

	*e = (struct explainer){.film = film, .event = slices_event(film)};
	if (!e->event)
		return no_lives(film, why);
	e->lanes = slices_beside(film, e->event, 0);
	err = filter_span(filter, &film->info, &e->from, &e->to, why);
	last = film_turns_end(film, e->event);
	/* a request that is not over ends with the film, whose last ns belongs to it */
	until = e->to + (e->to < UINT64_MAX);
	if (e->from < film->info.start)
		e->from = film->info.start;
	if (e->to > last)
		e->to = last;
	if (!err && wanted)
		err = explain_requests_load(&e->requests, film, filter, wanted, e->from, until,
					    why);
	/* a request that ended in that time may have begun before; else threads are explained */
	if (!err && e->requests.wanted.count)
		e->from = film->info.start;
	if (!err && e->from >= e->to)
		err = fail(why, -ENOENT, NULL, "the film has no lives of threads in that time");
	if (!err)
		err = histories_load(&e->histories, film, e->event, e->from, e->to, why);
	if (!err)
		err = served_lanes_load(&e->served_lanes, film, why);
	if (!err)
		err = find_unlinked(e);
	explain_asked_mark(&e->requests, &e->histories);
	explain_uploads_mark(&e->requests, &e->histories);
	explain_name_servers_mark(&e->histories);
	if (!err)
		err = explain_peers(e, why);
	if (!err)
		err = load_evidence(e, why);
	if (!err)
		err = log_lines_read(&e->logs, film, &(struct filter){0}, e->from, e->to, NULL,
				     why);
	if (!err)
		err = explain_limits_load(&e->limits, film, why);
	if (!err)
		err = device_works_load(&e->device_works, film, e->from, e->to, why);
	object_keys_init(&e->objects, film);
	for (size_t i = 0; !err && i < e->histories.count && !e->is_whole_machine; i++)
		e->is_whole_machine = is_of_the_kernel(film, &e->histories.slices[i]);
	return err;
}

void explainer_free(struct explainer *e)
{
	histories_free(&e->histories);
	explain_samples_free(&e->samples);
	explain_locks_free(&e->locks);
	served_lanes_free(&e->served_lanes);
	explain_stacks_free(&e->stacks);
	roles_free(&e->roles);
	explain_requests_free(&e->requests);
	explain_limits_free(&e->limits);
	occupants_free(&e->occupants);
	log_lines_free(&e->logs);
	unlinked_free(&e->unlinked);
	device_works_free(&e->device_works);
	free(e->peers);
	*e = (struct explainer){0};
}

/* The part of [from, to) in which a thread lived. */
static void cut_to_life(const struct histories *histories, uint32_t thread, uint64_t *from,
			uint64_t *to)
{
	size_t first = histories->first[thread], next = histories->first[thread + 1];
	uint64_t born = next > first ? histories->slices[first].start : histories->to;
	uint64_t dead = next > first ? histories->slices[next - 1].end : histories->to;

	if (*from < born)
		*from = born;
	if (*to > dead)
		*to = dead;
	if (*to < *from)
		*to = *from;
}

/*
 * Adds the path of a thread over [from, to) to an explanation, below a part: its place and 1, or 0.
 */
static int walk(struct explainer *e, struct explanation *x, uint32_t below, uint64_t from,
		uint64_t to, bool idle)
{
	struct critical_path path;
	/* what the thread did for others is not the request's */
	int err = x->request && !below
			  ? explain_calls(e, x->request, x->thread, from, to, &path)
			  : critical_find(&path, &e->histories, x->thread, from, to, idle);

	if (!err)
		err = explain_sum_up(e, &path, below, x);
	x->steps += path.steps.count;
	x->waits += path.waits.count;
	x->too_deep += path.too_deep;
	critical_free(&path);
	return err;
}

int explain_thread(struct explainer *e, uint32_t thread, uint64_t from, uint64_t to, bool idle,
		   struct explanation *x)
{
	int err;

	if (from < e->from)
		from = e->from;
	if (to > e->to)
		to = e->to;
	cut_to_life(&e->histories, thread, &from, &to);
	*x = (struct explanation){.thread = thread, .from = from, .to = to};
	err = walk(e, x, 0, from, to, idle);
	return err ? err : explain_link_parts(x);
}

/* The time in which the thread still served others: a part whose parts are what it did then. */
static int explain_queue(struct explainer *e, struct explanation *x, uint64_t until,
			 uint64_t others)
{
	struct explain_part part = {
		.kind = SLICE_WAIT + WAIT_OTHER,
		.ended = CRITICAL_EARLIER,
		.is_queue = true,
		.thread = x->thread,
		.waker = x->thread,
		.duration = until - x->from,
		.longest = until - x->from,
		.count = others,
		.slice = HISTORY_NONE,
	};

	if (until == x->from)
		return 0;
	if (!vec_push(&x->parts, part))
		return -ENOMEM;
	return walk(e, x, 1, x->from, until, false);
}

static bool shares_threads(const struct explainer *e, const struct explanation *x)
{
	return x->no_lane || e->unlinked.of_process[e->film->threads[x->thread].process];
}

int explain_request(struct explainer *e, const struct request *request, struct explanation *x)
{
	uint32_t lane = served_lane_of(&e->served_lanes, request);
	uint64_t others, queued = request_start(request);
	int err = 0;

	*x = (struct explanation){
		.request = request,
		.no_lane = !lane && served_has_lanes(&e->served_lanes, e->film, request),
		.thread = lane ? lane : request_answerer(request),
		.from = request_start(request),
		.to = request->row.end,
	};
	/* where tasks share threads, one that ran there meanwhile made no other wait for its end */
	if (!lane && !shares_threads(e, x)) {
		queued = explain_queued_until(&e->requests, request, &others);
		err = explain_queue(e, x, queued, others);
	}
	if (!err && queued < x->to)
		err = walk(e, x, 0, queued, x->to, true);
	return err ? err : explain_link_parts(x);
}

struct explain_at_once explain_others(const struct explainer *e, const struct explanation *x)
{
	if (!x->request || explain_is_of_lane(e, x))
		return (struct explain_at_once){0};
	if (x->request->row.role != FILM_REQUEST_MADE)
		return explain_at_once(&e->requests, x->request);
	/* those before it are a part then */
	vec_foreach (&x->parts, part)
		if (part->is_queue)
			return (struct explain_at_once){0};
	return explain_at_once_there(&e->requests, x->request);
}

const struct explain_made *explain_asked_late(const struct explainer *e,
					      const struct explanation *x, uint64_t *after)
{
	const struct explain_requests *requests = &e->requests;
	const struct explain_made *first;

	if (!x->request || !explain_has_made(requests, x->request->row.number))
		return NULL;
	first = &requests->made.at[explain_first_made(requests, x->request->row.number)];
	*after = first->start > x->from ? first->start - x->from : 0;
	return *after > (x->to - x->from) / 2 ? first : NULL;
}

void explain_mark_compared(struct explanation *all, size_t count)
{
	/* there are few */
	for (size_t i = 0; i < count; i++) {
		const struct request *request = all[i].request;

		all[i].is_compared = request && request->row.endpoint;
		for (size_t k = 0; k < i && all[i].is_compared; k++)
			if (all[k].request->row.endpoint == request->row.endpoint)
				all[i].is_compared = false;
	}
}

void explanation_free(struct explanation *x)
{
	vec_free(&x->parts);
}

/* How much of a slice is worth to be explained, in thousandths. */
static unsigned int worth_of(const struct slice *slice)
{
	enum wait_class class;

	if (!slice_is_wait(slice->kind))
		return slice->kind == SLICE_HOLE ? 0 : 1000;
	if (history_is_idle(slice))
		return 0;
	class = slice_wait_class(slice->kind);
	/* a thread that sleeps, or that waits for another one's word, often has nothing to do */
	if (class == WAIT_SLEEP || (slice->kind == SLICE_WAIT + WAIT_CHILD))
		return 1;
	if (class == WAIT_IPC || class == WAIT_RECEIVE || slice->flags & HISTORY_ASKED)
		return slice->flags & FILM_WAIT_OPEN ? 1 : 300;
	return slice_is_for_condition(slice) ? 2 : 1000;
}

static int worthiest_first(const void *left, const void *right)
{
	const struct explain_choice *a = left, *b = right;

	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

int explain_choose(struct explainer *e, const struct filter *filter,
		   struct explain_choice **choices, size_t *count, struct fail *why)
{
	const struct histories *histories = &e->histories;
	struct filter_kept kept;
	int err = filter_apply(filter, e->film, &kept, why);

	*count = 0;
	*choices = calloc(e->film->thread_count + 1ull, sizeof(**choices));
	if (!err && !*choices)
		err = fail_errno(why, -ENOMEM, NULL, "cannot explain");
	for (uint32_t thread = 1; !err && thread < e->film->thread_count; thread++) {
		struct explain_choice choice = {.thread = thread};

		/* threads are explained; the path of a request leads to goroutines, too */
		if (!kept.threads[thread] || (e->lanes && histories_is_lane(histories, thread)))
			continue;
		for (size_t i = histories->first[thread]; i < histories->first[thread + 1]; i++) {
			const struct slice *slice = &histories->slices[i];
			uint64_t length = slice->end - slice->start;

			choice.life += length;
			choice.worth += length / 1000 * worth_of(slice);
		}
		if (choice.life)
			(*choices)[(*count)++] = choice;
	}
	if (*count)
		qsort(*choices, *count, sizeof(**choices), worthiest_first);
	filter_kept_free(&kept);
	return err;
}
