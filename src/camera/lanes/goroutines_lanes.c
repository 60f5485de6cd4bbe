// SPDX-License-Identifier: Apache-2.0
/* go-lanes: what every goroutine did, every moment. Its lives are made in go_lanes.c. */
#include "camera/lanes/goroutines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "film/go_reasons.h"

bool goroutines_lanes_wanted(const struct source *source)
{
	return source->settings->events & 1u << GOROUTINES_LANES;
}

/* -- what lanes ask for ------------------------------------------------------------------------ */

static uint32_t goroutine_row(void *context, pid_t pid, uint64_t goid, uint64_t start)
{
	const struct lane_film *film = context;
	char name[40];

	snprintf(name, sizeof(name), "goroutine %" PRIu64, goid);
	return samples_lane(film->source->host->samples, pid, goid, start, name);
}

int goroutines_lanes_new(struct source *source)
{
	struct goroutines *goroutines = source->state;
	const struct go_lanes_to to = {goroutine_row, lane_film_thread, lane_film_write,
				       &goroutines->film, false};

	goroutines->film.source = source;
	goroutines->lanes = go_lanes_new(&to);
	return goroutines->lanes ? 0 : -ENOMEM;
}

void goroutines_lanes_turn(struct source *source)
{
	struct goroutines *goroutines = source->state;

	if (!goroutines->lanes)
		return;
	if (!goroutines->has_started)
		go_lanes_begin(goroutines->lanes, clock_ns());
	go_lanes_turn(goroutines->lanes);
	lane_film_turn(&goroutines->film, goroutines->events[GOROUTINES_LANES]);
}

/* -- turns ------------------------------------------------------------------------------------- */

static enum film_go_reason reason_of(const struct goroutines *goroutines, uint32_t image,
				     uint8_t number)
{
	const struct go_waits *waits = goroutines_images_waits(goroutines->images, image);

	return go_reason_of(waits ? go_waits_reason(waits, number) : "");
}

void goroutines_lanes_take(struct source *source, pid_t pid, const struct goroutines_wait *wait,
			   uint32_t stack)
{
	const struct goroutines *goroutines = source->state;

	go_lanes_take(goroutines->lanes, pid, wait,
		      reason_of(goroutines, wait->image, wait->reason), stack);
}

/* Its number; 0: it cannot be read. */
static uint64_t goid_of(const struct goroutines *goroutines, const struct goroutines_key *key,
			const struct goroutines_state *state)
{
	const struct go_waits *waits = goroutines_images_waits(goroutines->images, state->image);
	uint64_t goid = 0;
	struct iovec here = {&goid, sizeof(goid)}, there = {.iov_len = sizeof(goid)};

	if (state->goid || !waits)
		return state->goid;
	there.iov_base = (void *)(key->g + waits->image.goid);
	return process_vm_readv((pid_t)key->pid, &here, 1, &there, 1, 0) == sizeof(goid) ? goid : 0;
}

void goroutines_lanes_cut(struct source *source, const struct goroutines_key *key,
			  const struct goroutines_state *state, uint32_t stack, uint64_t time,
			  bool has_ended)
{
	const struct goroutines *goroutines = source->state;
	struct capture_identity identity = {.pid = key->pid,
					    .tid = key->pid,
					    .exec_id = key->exec_id,
					    .undecided = state->undecided};

	if (!source_is_meant(source, &identity))
		return;
	go_lanes_cut(goroutines->lanes, (pid_t)key->pid, goid_of(goroutines, key, state), state,
		     reason_of(goroutines, state->image, state->reason), stack, time,
		     key->exec_id == UNWIND_ANY_EXEC, has_ended);
}
