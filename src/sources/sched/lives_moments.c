// SPDX-License-Identifier: Apache-2.0
/* What is asked of all lives at a moment, without reporting any of them. */
#include "sources/sched/lives_table.h"

void lives_each_long(struct lives *lives, uint64_t time, uint64_t least,
		     void (*emit)(void *context, const struct capture_identity *identity,
				  uint64_t since, const struct film_wait *evidence),
		     void *context)
{
	vec_foreach (&lives->all, life) {
		if (!life->number || !life->is_meant || life->mode != LIFE_OFF || life->woken ||
		    life->is_long || !life->has_evidence || life->waits > time ||
		    time - life->waits < least)
			continue;
		life->is_long = true;
		/* as it is called now: the other name is of what it did before */
		emit(context, &life->next_identity, life->waits, &life->evidence);
	}
}

void lives_turn(struct lives *lives)
{
	vec_foreach (&lives->all, life) {
		life->thread = 0;
		life->evidence.stack = 0;
		life->lock = (struct lives_lock){0};
		life->object_row = 0;
		if (life->mode != LIFE_NEW)
			life->flags = FILM_TURN_BEGINS | FILM_WAIT_BEFORE;
	}
}
