// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/rss_turns.h"

#include <stdlib.h>

#define PROCESSES_MAX 65536u

/* Added to what a process has, and to how long it has waited: nothing times much is not nothing. */
#define LEAST_BYTES 65536.0
#define LEAST_NS    1000000000.0

void rss_turns_begin(struct rss_turns *turns)
{
	turns->order.count = 0;
	vec_foreach (&turns->all, turn)
		turn->is_there = turn->is_fresh = false;
}

bool rss_turns_see(struct rss_turns *turns, pid_t pid, uint64_t now)
{
	const struct rss_turn fresh = {
		.pid = pid, .count_due = now, .read_due = now, .is_there = true};
	const uint64_t *place = map_get(&turns->places, (uint64_t)pid);

	if (place) {
		turns->all.at[*place].is_there = true;
		return true;
	}
	if (turns->all.count >= PROCESSES_MAX || !vec_push(&turns->all, fresh))
		return false;
	if (map_put(&turns->places, (uint64_t)pid, turns->all.count - 1))
		return true;
	turns->all.count--;
	return false;
}

void rss_turns_forget_gone(struct rss_turns *turns,
			   void (*gone)(void *context, const struct rss_turn *turn), void *context)
{
	size_t kept = 0;

	turns->order.count = 0;
	vec_foreach (&turns->all, turn) {
		uint64_t *place = map_get(&turns->places, (uint64_t)turn->pid);

		if (turn->is_there) {
			*place = kept;
			turns->all.at[kept++] = *turn;
			continue;
		}
		gone(context, turn);
		vec_free(&turn->rows);
		map_remove(&turns->places, (uint64_t)turn->pid);
	}
	turns->all.count = kept;
}

static int longest_first(const void *a, const void *b)
{
	const struct rss_turn *one = *(struct rss_turn *const *)a,
			      *other = *(struct rss_turn *const *)b;

	if (one->count_due != other->count_due)
		return one->count_due > other->count_due ? 1 : -1;
	return (one->pid > other->pid) - (one->pid < other->pid);
}

static double weight(const struct rss_turn *turn, uint64_t now)
{
	return ((double)turn->bytes + LEAST_BYTES) * ((double)(now - turn->read_due) + LEAST_NS);
}

static int heaviest_first(const void *a, const void *b, void *context)
{
	const struct rss_turn *one = *(struct rss_turn *const *)a,
			      *other = *(struct rss_turn *const *)b;
	double of_one = weight(one, *(const uint64_t *)context);
	double of_other = weight(other, *(const uint64_t *)context);

	if (of_one != of_other)
		return of_one < of_other ? 1 : -1;
	return (one->pid > other->pid) - (one->pid < other->pid);
}

void rss_turns_to_count(struct rss_turns *turns, uint64_t now)
{
	turns->order.count = 0;
	vec_foreach (&turns->all, turn)
		if (turn->count_due <= now && !vec_push(&turns->order, turn))
			break;
	if (turns->order.count)
		qsort(turns->order.at, turns->order.count, sizeof(*turns->order.at), longest_first);
}

void rss_turns_to_read(struct rss_turns *turns, uint64_t now)
{
	turns->order.count = 0;
	vec_foreach (&turns->all, turn)
		/* there is nothing to be read of one that has nothing */
		if (turn->read_due <= now && (turn->bytes || !turn->was_counted) &&
		    !vec_push(&turns->order, turn))
			break;
	if (turns->order.count)
		qsort_r(turns->order.at, turns->order.count, sizeof(*turns->order.at),
			heaviest_first, &now);
}

void rss_turns_turn(struct rss_turns *turns, uint64_t now)
{
	vec_foreach (&turns->all, turn) {
		turn->is_of_before |= turn->thread;
		turn->thread = 0;
		turn->was_read = turn->was_counted = turn->is_fresh = false;
		turn->count_due = turn->read_due = now;
		turn->told = turn->rows_bytes = 0;
		turn->rows.count = 0;
	}
}

void rss_turns_free(struct rss_turns *turns)
{
	vec_foreach (&turns->all, turn)
		vec_free(&turn->rows);
	vec_free(&turns->all);
	vec_free(&turns->order);
	map_free(&turns->places);
}
