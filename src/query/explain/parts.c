// SPDX-License-Identifier: Apache-2.0
#include "query/explain/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "query/explain/asked.h"
#include "query/explain/name_servers.h"

struct summing {
	struct explainer *e;
	const struct critical_path *path;
	struct explanation *x;
	uint32_t below;
	size_t first;	     /* of the parts: those before are of other paths */
	struct map known;    /* a hash of what makes parts alike: place in x->parts */
	uint32_t *parts_of;  /* by wait of the path: place of its part, and 1 */
	uint32_t *behind;    /* by wait: waits for the same lock between it and the first of them */
	vec(struct ran) ran; /* samples of parts */
	struct explain_besides besides;
	struct device_rans worked;
};

struct ran {
	uint32_t part, stack; /* stack: of which the innermost frame ran */
	bool is_reclaim;
};

/* The kind of a wait for an answer of which no slice is known. */
#define ANSWER (SLICE_WAIT + WAIT_RECEIVE)

static const struct slice *slice_at(const struct summing *s, size_t slice)
{
	return slice == HISTORY_NONE ? NULL : &s->e->histories.slices[slice];
}

static uint64_t name_server_key(const struct film *film, const struct slice *slice)
{
	const char *server = explain_name_server(object_name(film, slice->object));

	return hash_bytes(server, strlen(server));
}

/* What makes parts of the same parent alike. */
static uint64_t key_of(struct explainer *e, const struct explain_part *part,
		       const struct slice *slice)
{
	uint64_t key[] = {
		part->parent,
		(uint64_t)part->kind << 24 | (uint64_t)part->ended << 16 |
			(uint64_t)part->is_made << 11 | (uint64_t)part->is_passed_on << 10 |
			(uint64_t)part->is_of_connection << 9 | (uint64_t)part->is_followed << 8 |
			(slice && slice_is_wait(slice->kind) && !part->made ? slice->descriptor
									    : 0),
		(uint64_t)part->thread << 32 | (part->is_followed ? part->waker : 0),
		0,
		0,
	};
	uint64_t device;

	if (part->made) {
		/* what else it waited for at that time, in an event loop say, does not matter */
		key[3] = hash_bytes(part->made->peer, strlen(part->made->peer)) ^
			 hash_bytes(part->made->endpoint, strlen(part->made->endpoint));
	} else if (part->ended == CRITICAL_SHARED) {
		/* so does, of all that it may have waited for, what came next */
		key[1] = (uint64_t)part->ended << 16;
		key[3] = slice->call;
	} else if (slice && slice_is_wait(slice->kind)) {
		key[3] = slice->call;
		if (slice->flags & HISTORY_NAMES)
			/* of each look-up the near end is another one */
			key[4] = name_server_key(e->film, slice);
		else if (slice->kind != SLICE_WAIT + WAIT_LOCK)
			key[4] = slice_object_key(&e->objects, slice, NULL);
		if (slice->state == FILM_WAIT_GOROUTINE)
			/* what it waits for has no address: where it does tells */
			key[4] = explain_stack_own(&e->stacks, slice->stack);
		else if (part->lock)
			key[4] = lock_is_waiters_own(part->lock->kind) ? 1 : part->lock->address;
		else if (explain_is_of_memory(e, slice))
			/* there is one, and the address is what the call was about */
			key[4] = 1;
		else if (slice->kind == SLICE_WAIT + WAIT_LOCK)
			/*
			 * a condition has several words by turns; where it is waited for tells them
			 * apart
			 */
			key[4] = slice_is_for_condition(slice)
					 ? explain_stack_own(&e->stacks, slice->stack)
					 : slice->address;
		/* different work of one stream is alike */
		device =
			device_works_key(&e->device_works, slice->thread, slice->start, slice->end);
		key[4] = device ? device : key[4];
	}
	return hash_bytes(key, sizeof(key));
}

/*
 * Whether a time belongs to the wait of which a part got the last piece: each piece but the last
 * one of a wait is one that began anew. Waits that led on come from the end backwards.
 */
static bool goes_on(struct explain_part *part, const struct slice *slice)
{
	bool is_retried = slice && slice->flags & HISTORY_RETRIED;
	bool result = part->count && (part->is_followed ? is_retried : part->was_retried);

	part->was_retried = is_retried;
	part->retries += is_retried;
	return result;
}

/* The part that a time is of: its place, and 1; 0: no memory. */
static uint32_t add(struct summing *s, struct explain_part *like, uint64_t start, uint64_t end)
{
	const struct slice *slice = slice_at(s, like->slice);
	uint64_t length = end - start, key;
	bool is_of_last;
	struct explain_part *part;
	const uint64_t *known;

	if (slice && slice->kind == SLICE_WAIT + WAIT_LOCK)
		like->lock = explain_lock_of(&s->e->locks, slice);
	key = key_of(s->e, like, slice);
	known = map_get(&s->known, key);
	if (!known &&
	    (!vec_push(&s->x->parts, *like) || !map_put(&s->known, key, s->x->parts.count - 1)))
		return 0;
	part = known ? &s->x->parts.at[*known] : vec_last(&s->x->parts);
	part->duration += length;
	is_of_last = goes_on(part, slice);
	/* of a request that others waited for in several pieces, it is one */
	part->count += !is_of_last && (!like->before || part->counted != like->before);
	part->counted = like->before;
	part->is_likely |= like->is_likely;
	part->run = is_of_last ? part->run + length : length;
	if (part->run > part->longest) {
		part->longest = part->run;
		part->slice = like->slice;
		part->waker = like->waker;
		part->lock = like->lock;
		part->before = like->before;
	}
	if (slice && slice->stack && length > part->stack_longest) {
		part->stack_longest = length;
		part->stack = slice->stack;
	}
	if (slice && slice_is_wait(like->kind) &&
	    device_rans_add(&s->worked, &s->e->device_works, slice->thread, start, end,
			    (uint32_t)(part - s->x->parts.at)))
		return 0;
	return (uint32_t)(part - s->x->parts.at) + 1;
}

static uint32_t parent_of(const struct summing *s, uint32_t wait)
{
	return wait ? s->parts_of[wait - 1] : s->below;
}

/* The request that a thread behind a wait had made itself, and whose answer it waited for. */
static const struct explain_made *asked_of(const struct summing *s, const struct slice *slice,
					   uint64_t start, uint64_t end)
{
	if (!slice || (!(slice->flags & HISTORY_ASKED) && slice->kind != SLICE_WAIT + WAIT_RECEIVE))
		return NULL;
	return explain_asked_in(&s->e->requests, slice->thread, start, end);
}

/* What is the same for all that wait for a lock; 0: it is not known, or not a lock. */
static uint64_t lock_of(const struct summing *s, const struct slice *slice)
{
	const struct film *film = s->e->film;
	const struct slice_lock *lock;
	uint64_t key[2];

	if (slice->kind != SLICE_WAIT + WAIT_LOCK || slice->state == FILM_WAIT_GOROUTINE)
		return 0;
	lock = explain_lock_of(&s->e->locks, slice);
	if (lock ? lock_is_waiters_own(lock->kind) : slice_is_for_condition(slice))
		return 0;
	key[0] = film->threads[slice->thread].process;
	key[1] = lock ? lock->address : explain_is_of_memory(s->e, slice) ? 1 : slice->address;
	return hash_bytes(key, sizeof(key)) | 1;
}

/*
 * A convoy: a thread that held the lock had itself waited for it, behind another one. All of them
 * are one queue for the thread that comes last, and what each did with the lock is a part of its
 * wait.
 */
static bool joins_queue(struct summing *s, size_t i)
{
	const struct critical_wait *wait = &s->path->waits.at[i], *before;
	const struct slice *slices = s->e->histories.slices;
	struct explain_part *part;
	uint64_t lock;

	if (!wait->parent)
		return false;
	before = &s->path->waits.at[wait->parent - 1];
	if (before->slice == HISTORY_NONE)
		return false;
	lock = lock_of(s, &slices[wait->slice]);
	if (!lock || lock != lock_of(s, &slices[before->slice]))
		return false;
	s->parts_of[i] = s->parts_of[wait->parent - 1];
	s->behind[i] = s->behind[wait->parent - 1] + 1;
	part = &s->x->parts.at[s->parts_of[i] - 1];
	if (s->behind[i] > part->queue) {
		part->queue = s->behind[i];
		part->first_holder = slices[wait->slice].waker;
	}
	return true;
}

static bool add_waits(struct summing *s)
{
	const struct critical_path *path = s->path;

	for (size_t i = 0; i < path->waits.count; i++) {
		const struct critical_wait *wait = &path->waits.at[i];
		const struct slice *slice = slice_at(s, wait->slice);

		if (slice && joins_queue(s, i))
			continue;
		struct explain_part like = {
			.parent = parent_of(s, wait->parent),
			.kind = slice	       ? slice->kind
				: wait->before ? SLICE_WAIT + WAIT_OTHER
					       : ANSWER,
			.is_queue = wait->before,
			.is_of_connection = wait->is_of_connection,
			.before = wait->before,
			.ended = slice && slice->flags & FILM_WAIT_OPEN && !wait->is_call
					 ? CRITICAL_OPEN
					 : CRITICAL_CPU,
			.is_followed = !wait->before,
			.is_call = wait->is_call,
			.is_likely = wait->is_likely,
			.is_passed_on = wait->is_passed_on,
			.is_made = wait->is_made,
			.thread = wait->thread,
			.waker = wait->waker,
			.slice = wait->slice,
			.made = wait->made ? wait->made
					   : asked_of(s, slice, wait->start, wait->end),
		};

		s->parts_of[i] = add(s, &like, wait->start, wait->end);
		if (!s->parts_of[i])
			return false;
	}
	return true;
}

/* What ran in a time on a CPU. */
static bool add_samples(struct summing *s, const struct critical_step *step, uint32_t part)
{
	/* of a goroutine the thread's */
	uint32_t thread = s->e->histories.slices[step->slice].thread;
	size_t count;
	const struct explain_sample *sample =
		explain_samples_in(&s->e->samples, thread, step->start, step->end, &count);

	s->x->parts.at[part].samples += count;
	for (size_t i = 0; i < count; i++) {
		const struct ran ran = {
			.part = part,
			.stack = explain_stack_own(&s->e->stacks, sample[i].stack),
			.is_reclaim = roles_has(&s->e->roles, sample[i].stack, FILM_ROLE_RECLAIM),
		};

		s->x->parts.at[part].reclaiming += ran.is_reclaim;
		s->x->parts.at[part].for_group +=
			ran.is_reclaim &&
			roles_has(&s->e->roles, sample[i].stack, FILM_ROLE_RECLAIM_GROUP);
		s->x->parts.at[part].swapping +=
			ran.is_reclaim &&
			(roles_has(&s->e->roles, sample[i].stack, FILM_ROLE_SWAP_OUT) ||
			 roles_has(&s->e->roles, sample[i].stack, FILM_ROLE_SWAP_IN));
		if (!vec_push(&s->ran, ran))
			return false;
	}
	return true;
}

static int add_step(struct summing *s, const struct critical_step *step)
{
	const struct slice *slice = slice_at(s, step->slice);
	bool is_answer =
		step->made || step->ended == CRITICAL_SENT || step->ended == CRITICAL_ANSWERED;
	struct explain_part like = {
		.parent = parent_of(s, step->wait),
		.kind = !slice				? (is_answer ? ANSWER : SLICE_HOLE)
			: step->ended == CRITICAL_READY ? SLICE_WOKEN
							: slice->kind,
		.ended = (uint8_t)step->ended,
		.thread = step->thread,
		.waker = slice ? slice->waker : 0,
		.slice = step->slice,
		.made = step->made ? step->made : asked_of(s, slice, step->start, step->end),
	};
	uint32_t part = add(s, &like, step->start, step->end);

	if (!part)
		return -ENOMEM;
	if (step->ended == CRITICAL_CPU && !add_samples(s, step, part - 1))
		return -ENOMEM;
	if (step->ended != CRITICAL_READY)
		return 0;
	/* no core is known for which a goroutine waits, but what the runtime ran instead */
	if (histories_is_lane(&s->e->histories, slice->thread))
		return explain_behind_lane(s->e, slice->thread, step->start, step->end, &s->besides,
					   part - 1);
	explain_throttle_add(&s->x->parts.at[part - 1], step->start, step->end);
	return explain_behind(s->e, slice->cpu, step->start, step->end, &s->besides, part - 1);
}

static const struct film_frame *frame_of(const struct summing *s, uint32_t stack)
{
	return &s->e->film->frames[s->e->stacks.paths[stack].frame];
}

/* Two functions: by name, so that it is the same for films that have them by other ids. */
static int by_name(const struct film *film, uint32_t a, uint32_t b)
{
	int order = strcmp(film->functions[a].name, film->functions[b].name);

	if (order)
		return order;
	return a < b ? -1 : 1;
}

/* Places of one function are one function, by its name, or else by where it begins. */
static int by_function(const struct film *film, const struct film_frame *a,
		       const struct film_frame *b)
{
	uint64_t one = a->start ? a->start : a->address, two = b->start ? b->start : b->address;

	if (a->function != b->function)
		return by_name(film, a->function, b->function);
	if (a->function)
		return 0;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return one < two ? -1 : one > two;
}

static int by_part_and_function(const void *left, const void *right, void *context)
{
	const struct ran *a = left, *b = right;
	const struct summing *s = context;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return by_function(s->e->film, frame_of(s, a->stack), frame_of(s, b->stack));
}

static void keep_function(struct explain_part *part, struct explain_function function)
{
	for (size_t i = 0; i < EXPLAIN_NAMED; i++) {
		struct explain_function before = part->functions[i];

		if (function.samples <= before.samples)
			continue;
		part->functions[i] = function;
		function = before;
	}
}

/* With fewer samples, their share says nothing. */
#define RECLAIM_LEAST 3

/*
 * Of time on a CPU in which the kernel freed memory, for a function that needed some, makes a part
 * of its own, in proportion to the samples, if these are a tenth of all. Returns its place and 1,
 * 0: there is none, or no memory for it.
 */
static uint32_t split_reclaim(struct explanation *x, uint32_t place)
{
	struct explain_part *part = &x->parts.at[place], split = *part;

	if (part->reclaiming < RECLAIM_LEAST || part->reclaiming * 10 < part->samples)
		return 0;
	split.is_reclaim = true;
	split.samples = part->reclaiming;
	split.duration = (uint64_t)((__int128)part->duration * part->reclaiming / part->samples);
	if (split.duration == part->duration) {
		part->is_reclaim = true;
		return 0;
	}
	if (!split.duration || !vec_push(&x->parts, split))
		return 0;
	part = &x->parts.at[place];
	part->duration -= split.duration;
	part->samples -= split.samples;
	return (uint32_t)x->parts.count;
}

static int split_all_reclaim(struct summing *s)
{
	size_t count = s->x->parts.count;
	uint32_t *into = calloc(count + 1, sizeof(*into));

	if (!into)
		return -ENOMEM;
	for (size_t i = s->first; i < count; i++)
		into[i] = split_reclaim(s->x, (uint32_t)i);
	vec_foreach (&s->ran, ran)
		if (ran->is_reclaim && into[ran->part])
			ran->part = into[ran->part] - 1;
	free(into);
	return 0;
}

static void sum_functions(struct summing *s)
{
	size_t i, k;

	if (s->ran.count)
		qsort_r(s->ran.at, s->ran.count, sizeof(*s->ran.at), by_part_and_function, s);
	for (i = 0; i < s->ran.count; i = k) {
		const struct ran *first = &s->ran.at[i];

		for (k = i + 1; k < s->ran.count; k++)
			if (by_part_and_function(first, &s->ran.at[k], s))
				break;
		keep_function(&s->x->parts.at[first->part],
			      (struct explain_function){first->stack, k - i});
	}
}

static int by_part_and_thread(const void *left, const void *right)
{
	const struct explain_beside *a = left, *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void keep_behind(struct explain_part *part, struct explain_behind behind)
{
	part->beside = part->beside > behind.ns ? part->beside - behind.ns : 0;
	for (size_t i = 0; i < EXPLAIN_NAMED; i++) {
		struct explain_behind before = part->behind[i];

		if (behind.ns <= before.ns)
			continue;
		part->behind[i] = behind;
		behind = before;
	}
}

static void sum_behind(struct summing *s)
{
	const struct explain_besides *all = &s->besides;
	size_t i, k;

	for (i = s->first; i < s->x->parts.count; i++)
		if (s->x->parts.at[i].ended == CRITICAL_READY)
			s->x->parts.at[i].beside = s->x->parts.at[i].duration;
	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_part_and_thread);
	for (i = 0; i < all->count; i = k) {
		struct explain_behind behind = {all->at[i].thread, 0};

		for (k = i; k < all->count && !by_part_and_thread(&all->at[i], &all->at[k]); k++)
			behind.ns += all->at[k].ns;
		keep_behind(&s->x->parts.at[all->at[i].part], behind);
	}
}

static struct device_share *works_of_part(void *context, uint32_t part)
{
	const struct explanation *x = context;

	return x->parts.at[part].works;
}

/* Whether the thread of a wait's parts holds what was waited for. */
static bool is_held(const struct summing *s, const struct explain_part *part)
{
	const struct slice *slice = slice_at(s, part->slice);

	return slice && slice_is_wait(slice->kind) &&
	       (slice->flags & (HISTORY_ROW | HISTORY_TABLE | HISTORY_HELD) ||
		(part->lock && part->lock->holder && part->lock->holder == part->waker));
}

static void mark_parents(struct summing *s)
{
	struct explain_part *all = s->x->parts.at;

	for (size_t i = s->first; i < s->x->parts.count; i++) {
		all[i].holds = all[i].parent && is_held(s, &all[all[i].parent - 1]);
		all[i].is_in_queue = all[i].parent && all[all[i].parent - 1].queue;
		all[i].is_in_call = all[i].parent && (all[all[i].parent - 1].is_call ||
						      all[all[i].parent - 1].is_queue);
	}
}

struct ordered {
	uint32_t place, parent;
	uint64_t duration;
};

static int shortest_first(const void *left, const void *right)
{
	const struct ordered *a = left, *b = right;

	if (a->duration != b->duration)
		return a->duration < b->duration ? -1 : 1;
	return a->place > b->place ? -1 : a->place < b->place;
}

/* Links each part's parts, the longest first. */
int explain_link_parts(struct explanation *x)
{
	struct ordered *ordered = malloc((x->parts.count + 1) * sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	for (size_t i = 0; i < x->parts.count; i++)
		ordered[i] = (struct ordered){(uint32_t)i, x->parts.at[i].parent,
					      x->parts.at[i].duration};
	if (x->parts.count)
		qsort(ordered, x->parts.count, sizeof(*ordered), shortest_first);
	for (size_t i = 0; i < x->parts.count; i++) {
		uint32_t parent = ordered[i].parent;
		uint32_t *first = parent ? &x->parts.at[parent - 1].first : &x->first;

		x->parts.at[ordered[i].place].next = *first;
		*first = ordered[i].place + 1;
	}
	free(ordered);
	return 0;
}

int explain_sum_up(struct explainer *e, const struct critical_path *path, uint32_t below,
		   struct explanation *x)
{
	struct summing s = {.e = e, .path = path, .x = x, .below = below, .first = x->parts.count};
	int err = 0;

	s.parts_of = calloc(path->waits.count + 1, sizeof(*s.parts_of));
	s.behind = calloc(path->waits.count + 1, sizeof(*s.behind));
	if (!s.parts_of || !s.behind || !add_waits(&s))
		err = -ENOMEM;
	for (size_t i = 0; !err && i < path->steps.count; i++)
		err = add_step(&s, &path->steps.at[i]);
	if (!err)
		err = split_all_reclaim(&s);
	if (!err) {
		sum_functions(&s);
		sum_behind(&s);
		device_rans_sum(&s.worked, works_of_part, x);
		mark_parents(&s);
	}
	free(s.parts_of);
	free(s.behind);
	map_free(&s.known);
	vec_free(&s.ran);
	vec_free(&s.besides);
	vec_free(&s.worked);
	return err;
}
