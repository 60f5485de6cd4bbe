// SPDX-License-Identifier: Apache-2.0
#include "query/histories.h"

#include <errno.h>
#include <stdlib.h>

#include "base/saturated.h"
#include "base/vec.h"

/* Slices of a chunk, which is 4 MiB. */
#define CHUNK 65536u

/*
 * The slices in the order in which they are read: in chunks, so that each can go once it is sorted.
 */
struct loading {
	vec(struct slice *) chunks;
	size_t count;
	size_t *first;
	uint8_t *lanes; /* of the event that is read; null: its threads are threads */
	struct histories *histories;
};

static bool add(struct loading *loading, const struct slice *slice)
{
	struct slice *chunk;

	if (loading->count % CHUNK == 0) {
		chunk = malloc(CHUNK * sizeof(*chunk));
		if (!chunk || !vec_push(&loading->chunks, chunk)) {
			free(chunk);
			return false;
		}
	}
	(*vec_last(&loading->chunks))[loading->count++ % CHUNK] = *slice;
	return true;
}

static void loading_free(struct loading *loading)
{
	vec_foreach (&loading->chunks, chunk)
		free(*chunk);
	vec_free(&loading->chunks);
}

/* Apart from the slices, each of which takes one line of the cache: few wait for locks. */
static bool add_lock(struct histories *histories, const struct slice *slice,
		     const struct slice_lock *lock)
{
	struct slice_lock of = *lock;

	if ((!lock->address && !lock->holder) || !slice_is_wait(slice->kind))
		return true;
	of.start = slice->start;
	of.end = slice->end;
	of.thread = slice->thread;
	return vec_push(&histories->locks, of);
}

/* What ended it is not known. */
static void open_end(struct slice *slice)
{
	slice->flags |= FILM_WAIT_OPEN;
	slice->waker = 0;
	slice->context = FILM_WAIT_BY_NONE;
}

static int add_slice(void *context, const struct slice *slice,
		     const struct slice_evidence *evidence)
{
	struct loading *loading = context;
	struct slice of = *slice;

	if (evidence->ready_object)
		of.object = evidence->ready_object;
	of.flags &= ~(uint32_t)FILM_WAIT_OPEN;
	/* what ended it is behind what was asked for */
	if (slice->goes_on)
		open_end(&of);
	if (loading->count >= HISTORIES_MAX)
		return -E2BIG;
	if (!add(loading, &of) || !add_lock(loading->histories, slice, &evidence->lock))
		return -ENOMEM;
	loading->first[of.thread + 1]++;
	if (loading->lanes)
		loading->lanes[of.thread] = 1;
	return 0;
}

/* A thread in the run queue waits for the CPU on which it runs next. */
static void place_ready(struct histories *histories)
{
	for (size_t i = 0; i + 1 < histories->count; i++) {
		struct slice *slice = &histories->slices[i], *next = slice + 1;

		if ((slice->kind == SLICE_WOKEN || slice->kind == SLICE_PREEMPTED) &&
		    next->thread == slice->thread && next->kind == SLICE_ON_CPU)
			slice->cpu = next->cpu;
	}
}

/* Whether a slice goes on with the one before it: no thread waits again before it has run. */
static bool goes_on(const struct slice *before, const struct slice *slice)
{
	return before->thread == slice->thread && before->end == slice->start &&
	       before->kind == slice->kind && slice_is_wait(slice->kind);
}

/* Makes one slice of the parts of a wait, of which the last one says what ended it. */
static void join_waits(struct histories *histories)
{
	struct slice *to = histories->slices;
	uint32_t threads = histories->film->thread_count;
	size_t count = 0;

	for (uint32_t thread = 0; thread < threads; thread++) {
		size_t from = histories->first[thread], next = histories->first[thread + 1];

		histories->first[thread] = count;
		for (size_t i = from; i < next; i++) {
			struct slice slice = histories->slices[i];

			if (count > histories->first[thread] && goes_on(&to[count - 1], &slice)) {
				slice.start = to[--count].start;
				slice.stack = slice.stack ? slice.stack : to[count].stack;
			}
			to[count++] = slice;
		}
	}
	histories->first[threads] = histories->count = count;
}

/*
 * A wait behind which nothing is known has ended at a moment, and in a way, that is not known
 * either.
 */
static void end_unseen(struct histories *histories)
{
	for (size_t i = 0; i + 1 < histories->count; i++) {
		struct slice *slice = &histories->slices[i], *next = slice + 1;

		if (slice_is_wait(slice->kind) && next->thread == slice->thread &&
		    next->kind == SLICE_HOLE)
			slice->flags &= ~(uint32_t)FILM_WAIT_OPEN;
	}
}

/* How far the ends of the threads of a process that is killed are apart. */
#define END_NS 100000000ull

/*
 * When each process ended, as the film says or its threads show; UINT64_MAX: it lives. Null: no
 * memory.
 */
static uint64_t *ends_of_processes(const struct histories *histories)
{
	const struct film *film = histories->film;
	uint64_t *ends = calloc(film->process_count + 1ull, sizeof(*ends));

	for (uint32_t thread = 0; ends && thread < film->thread_count; thread++) {
		size_t next = histories->first[thread + 1];
		const struct slice *last = &histories->slices[next - 1];
		uint64_t *end = &ends[film->threads[thread].process];

		if (next == histories->first[thread])
			continue;
		if (film->processes[film->threads[thread].process].end)
			*end = film->processes[film->threads[thread].process].end;
		else if (!(last->flags & FILM_TURN_ENDS))
			*end = UINT64_MAX;
		else if (last->end > *end)
			*end = last->end;
	}
	return ends;
}

/* Whether a thread, which has slices, ended as it asked for that. */
static bool exits(const struct histories *histories, uint32_t thread)
{
	return histories->slices[histories->first[thread + 1] - 1].flags & FILM_TURN_EXITS;
}

/*
 * Waits with which a thread's history ends have not ended. Neither has the last wait of a thread
 * that was killed as its process ended: that end does not answer the wait, and the thread that
 * caused it is not the one for which it waited. One that asked for the end had come back before.
 */
static int mark_open(struct histories *histories)
{
	uint64_t *ends = ends_of_processes(histories);

	if (!ends)
		return -ENOMEM;
	for (uint32_t thread = 0; thread < histories->film->thread_count; thread++) {
		size_t first = histories->first[thread], at = histories->first[thread + 1];
		uint64_t end = ends[histories->film->threads[thread].process];

		while (at > first && !slice_is_wait(histories->slices[at - 1].kind))
			at--;
		if (at == first || (at < histories->first[thread + 1] &&
				    (exits(histories, thread) || end == UINT64_MAX ||
				     add_saturated(histories->slices[at - 1].end, END_NS) < end)))
			continue;
		open_end(&histories->slices[at - 1]);
	}
	free(ends);
	return 0;
}

/*
 * Brings the slices of a thread beside each other; they stay in order. Each chunk is freed as soon
 * as its slices have their places, so that memory never has all slices twice.
 */
static int sort_by_thread(struct histories *histories, struct loading *loading)
{
	uint32_t threads = histories->film->thread_count;
	size_t *next = malloc((threads + 1ull) * sizeof(*next));

	histories->slices = malloc((loading->count + 1) * sizeof(*histories->slices));
	if (!next || !histories->slices) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < threads; i++) {
		histories->first[i + 1] += histories->first[i];
		next[i] = histories->first[i];
	}
	vec_foreach (&loading->chunks, chunk) {
		size_t left = loading->count - histories->count;

		for (size_t i = 0; i < left && i < CHUNK; i++) {
			const struct slice *slice = &(*chunk)[i];

			histories->slices[next[slice->thread]++] = *slice;
			histories->count++;
		}
		free(*chunk);
		*chunk = NULL;
	}
	free(next);
	join_waits(histories);
	place_ready(histories);
	end_unseen(histories);
	return mark_open(histories);
}

/* Reads the slices of an event. 0 or a negative errno. */
static int load(struct histories *histories, struct loading *loading, struct film *film,
		uint32_t event, struct fail *why)
{
	loading->lanes = NULL;
	if (slices_are_of_lanes(film, event)) {
		if (!histories->lanes)
			histories->lanes = calloc(film->thread_count + 1ull, 1);
		if (!histories->lanes)
			return -ENOMEM;
		loading->lanes = histories->lanes;
	}
	return slices_each(film, event, histories->from, histories->to, add_slice, loading, why);
}

int histories_load(struct histories *histories, struct film *film, uint32_t event, uint64_t from,
		   uint64_t to, struct fail *why)
{
	struct loading loading = {.histories = histories};
	int err = -ENOMEM;

	*histories = (struct histories){.film = film, .from = from, .to = to};
	histories->first = calloc(film->thread_count + 2ull, sizeof(*histories->first));
	loading.first = histories->first;
	if (histories->first)
		err = load(histories, &loading, film, event, why);
	for (uint32_t lanes = 0; !err && (lanes = slices_beside(film, event, lanes));)
		err = load(histories, &loading, film, lanes, why);
	if (!err)
		err = sort_by_thread(histories, &loading);
	loading_free(&loading);
	if (err == -E2BIG)
		return fail(why, err, "narrow the time with --from and --to",
			    "cannot follow wakers: the film has more than %d slices of threads",
			    HISTORIES_MAX);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read what threads did") : err;
}

void histories_free(struct histories *histories)
{
	free(histories->slices);
	free(histories->first);
	free(histories->lanes);
	vec_free(&histories->locks);
	*histories = (struct histories){0};
}

size_t histories_find(const struct histories *histories, uint32_t thread, uint64_t time)
{
	size_t low = histories->first[thread], high = histories->first[thread + 1];
	size_t begin = low;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (histories->slices[middle].start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > begin ? low - 1 : HISTORY_NONE;
}
