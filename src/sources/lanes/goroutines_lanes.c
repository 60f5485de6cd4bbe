// SPDX-License-Identifier: Apache-2.0
/* go-lanes: what every goroutine did, every moment. Its lives are made in lane_lives.c. */
#include "sources/lanes/goroutines.h"

#include <inttypes.h>
#include <stdio.h>

#include "film/go_reasons.h"
#include "process/remote.h"

bool goroutines_lanes_wanted(const struct source *source)
{
	return source->settings->events & 1u << GOROUTINES_LANES;
}

static void name_of(const struct source *source, uint64_t goid, const char *told,
		    char to[LANE_NAME_MAX])
{
	(void)source;
	(void)told;
	snprintf(to, LANE_NAME_MAX, "goroutine %" PRIu64, goid);
}

int goroutines_lanes_new(struct source *source)
{
	struct goroutines *goroutines = source->state;

	return lane_film_new(&goroutines->film, source, name_of, false);
}

void goroutines_lanes_turn(struct source *source)
{
	struct goroutines *goroutines = source->state;

	if (goroutines->film.lives)
		lane_film_turn(&goroutines->film, source->events[GOROUTINES_LANES]);
}

/* -- turns ------------------------------------------------------------------------------------- */

static enum film_go_reason reason_of(const struct goroutines *goroutines, uint32_t image,
				     uint8_t number)
{
	const struct go_waits *waits = probed_images_facts(goroutines->images, image);

	return go_reason_of(waits ? go_waits_reason(waits, number) : "");
}

void goroutines_lanes_add(struct source *source, pid_t pid, const struct goroutines_wait *wait,
			  uint32_t stack)
{
	const struct goroutines *goroutines = source->state;
	const struct lane_also also = {reason_of(goroutines, wait->image, wait->turn.reason), stack,
				       NULL};

	lane_lives_add(goroutines->film.lives, pid, &wait->turn, wait->in, &also);
}

/* Its number; 0: it cannot be read. */
static uint64_t goid_of(const struct goroutines *goroutines, const struct lane_key *key,
			const struct goroutines_state *state)
{
	const struct go_waits *waits = probed_images_facts(goroutines->images, state->image);
	uint64_t goid = 0;

	if (state->turn.number || !waits)
		return state->turn.number;
	if (remote_read((pid_t)key->pid, &goid, sizeof(goid), key->at + waits->image.goid))
		return 0;
	return goid;
}

void goroutines_lanes_cut(struct source *source, const struct lane_key *key,
			  const struct goroutines_state *state, uint32_t stack, uint64_t time,
			  bool has_ended)
{
	const struct goroutines *goroutines = source->state;
	struct capture_identity identity = {.pid = key->pid,
					    .tid = key->pid,
					    .exec_id = key->exec_id,
					    .undecided = state->turn.undecided};

	const struct lane_also also = {reason_of(goroutines, state->image, state->turn.reason),
				       stack, NULL};
	struct lane_turn turn = state->turn;

	if (!source_is_meant(source, &identity))
		return;
	turn.number = goid_of(goroutines, key, state);
	turn.flags |= state->is_before ? LANE_BEFORE : 0;
	lane_lives_cut(goroutines->film.lives, (pid_t)key->pid, &turn, &also, time,
		       key->exec_id == UNWIND_ANY_EXEC, has_ended);
}
