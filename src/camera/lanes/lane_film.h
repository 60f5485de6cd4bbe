/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_LANE_FILM_H
#define CAMERA_LANES_LANE_FILM_H

#include "base/map.h"
#include "camera/source.h"

/*
 * What sources of lanes (goroutines, tasks, virtual threads) have in common: the film's rows of the
 * threads that theirs ran on, which their records name by number, and the turns that they write.
 * Zero but for source is one that has no film yet.
 */
struct lane_film {
	const struct source *source;
	uint32_t event;	    /* of the film */
	struct map threads; /* of this film */
};

/* Another film, in which the lanes are this event. */
void lane_film_turn(struct lane_film *film, uint32_t event);
void lane_film_free(struct lane_film *film);

/* As members of a struct go_lanes_to, whose context is the struct lane_film. */
uint32_t lane_film_thread(void *context, pid_t pid, pid_t tid);
void lane_film_write(void *context, const struct film_turn *turn);

#endif
