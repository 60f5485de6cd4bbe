// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/lives_table.h"

#include <string.h>

struct life *lives_table_look_up(struct lives *lives, uint32_t number)
{
	const uint64_t *place = map_get(&lives->places, number);

	if (!place)
		return NULL;
	lives->recent[number % LIVES_RECENT] = (struct recent){number, (uint32_t)*place};
	return &lives->all.at[*place];
}

void lives_table_forget(struct lives *lives, struct life *life)
{
	map_remove(&lives->places, life->number);
	if (lives->recent[life->number % LIVES_RECENT].number == life->number)
		lives->recent[life->number % LIVES_RECENT].number = 0;
	life->number = 0;
	/* room was made when there was one more of them */
	lives->free.at[lives->free.count++] = (uint32_t)(life - lives->all.at);
}

/*
 * Those that ended, and those that only woke others: they are not introduced again, so what they
 * have woken has no waker.
 */
static void make_room(struct lives *lives)
{
	memset(lives->ended, 0, sizeof(lives->ended));
	lives->ended_count = 0;
	vec_foreach (&lives->all, life)
		if (life->number && (!life->is_meant || life->mode == LIFE_NEW))
			lives_table_forget(lives, life);
}

struct life *lives_table_make(struct lives *lives, uint32_t number)
{
	uint32_t place = (uint32_t)lives->all.count;

	if (!lives->free.count && place >= LIVES_MAX)
		make_room(lives);
	if (lives->free.count)
		place = lives->free.at[--lives->free.count];
	else if (lives->all.count >= LIVES_MAX || !vec_reserve(&lives->free, place + 1) ||
		 !vec_push(&lives->all, (struct life){0}))
		return NULL;
	if (!map_put(&lives->places, number, place)) {
		lives->free.at[lives->free.count++] = place;
		return NULL;
	}
	lives->all.at[place] = (struct life){.number = number};
	return &lives->all.at[place];
}

/* Whether a film has one thread for both: a thread is met again when records were lost. */
static bool is_same_thread(const struct capture_identity *a, const struct capture_identity *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->thread_start == b->thread_start &&
	       a->exec_id == b->exec_id && !strncmp(a->comm, b->comm, sizeof(a->comm));
}

void lives_meet(struct lives *lives, uint32_t number, const struct capture_identity *identity,
		bool meant, uint64_t executed)
{
	struct life *life = lives_table_find(lives, number);
	bool is_known = life != NULL;

	if (!life)
		life = lives_table_make(lives, number);
	if (!life) {
		lives->counts.refused++;
		return;
	}
	if (meant && !life->is_meant && (is_known || executed))
		life->since = executed;
	life->is_meant |= meant;
	life->next_identity = *identity;
	life->is_renamed = life->mode != LIFE_NEW && life->thread &&
			   !is_same_thread(&life->identity, identity);
	if (!life->is_renamed) {
		if (!is_same_thread(&life->identity, identity))
			life->thread = 0;
		life->identity = *identity;
	}
}
