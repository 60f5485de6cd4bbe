/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_GOROUTINES_H
#define SOURCES_LANES_GOROUTINES_H

#include "base/map.h"
#include "base/vec.h"
#include "bpf/lanes/goroutines_abi.h"
#include "runtime/go/waits.h"
#include "sources/lanes/lane_film.h"
#include "sources/probed_images.h"
#include "sources/source.h"
#include "sources/waiting.h"

/* Programs of Go, with the probes of waits, or of lanes, too; their facts are a struct go_waits. */
extern const struct probed_kind goroutines_waits_kind, goroutines_lanes_kind;

/* What the files of the source goroutines share. */

enum goroutines_event {
	GOROUTINES_WAITS,
	GOROUTINES_QUEUE,
	GOROUTINES_IDLE,
	GOROUTINES_LANES,
	GOROUTINES_EVENTS
};

/* The film's rows for a wait, but for their times. */
struct goroutines_rows {
	struct film_wait wait, ready;
	enum goroutines_event event; /* of wait */
};

/* A wait that goes on, as far as it stands in the film. */
struct goroutines_open {
	struct lane_key key;
	uint64_t out, told; /* since when it waits, and up to when that stands in the film */
	struct goroutines_rows rows;
};

struct goroutines {
	int states; /* the map of struct goroutines_state */
	uint64_t min_wait;
	bool has_started;
	struct probed_images *images;
	struct waiting *readiers; /* stacks, by process and goroutines_readier_key() */
	struct lane_film film;	  /* of lanes, if they were asked for */
	struct map places;	  /* a hash of pid and g: the place in open */
	struct map found; /* a hash of pid and g: the number of one that seemed from before */
	vec(struct goroutines_open) open;
	unsigned int looks; /* that are due, for what waited before in processes that are new */
	uint64_t list_at;   /* when they are reported the next time, of a live film */
	uint64_t readiers_missed, unnamed, late, open_lost;
};

/* Puts a wait of that time, ns, into the film; in parts, if it is long. */
void goroutines_add(struct source *source, enum goroutines_event event,
		    const struct film_wait *like, uint64_t end, uint64_t time);
/* A stack that stands for count waits that are not told of one by one. */
void goroutines_add_short(struct source *source, enum goroutines_event event,
			  const struct film_wait *like, uint64_t end, uint64_t time,
			  uint32_t count);

/* place: of the stack that was resolved just before. */
struct goroutines_rows goroutines_rows(struct source *source, pid_t pid,
				       const struct goroutines_wait *wait,
				       const struct samples_place *place);

/* -- lanes ------------------------------------------------------------------------------------- */

/* Whether they are asked for: they have probes of their own. */
bool goroutines_lanes_wanted(const struct source *source);
/* Makes them. 0 or a negative errno. */
int goroutines_lanes_new(struct source *source);
/* Another film, or the first one. */
void goroutines_lanes_turn(struct source *source);
/* A record, whose stack is that one. */
void goroutines_lanes_add(struct source *source, pid_t pid, const struct goroutines_wait *wait,
			  uint32_t stack);
/* What goes on, up to a time. stack: of its wait, 0: not known. */
void goroutines_lanes_cut(struct source *source, const struct lane_key *key,
			  const struct goroutines_state *state, uint32_t stack, uint64_t time,
			  bool has_ended);

/* -- waits from before ------------------------------------------------------------------------- */

/*
 * Goroutines that wait since before there were probes: the kernel's side does not know them. Calls
 * emit() with each one that is not in known, a set of goroutines_place_key(), and that an earlier
 * call has found, too; its exec_id is UNWIND_ANY_EXEC. Returns whether others were found for the
 * first time: known may be older than they are, so it takes another call, with a newer one, to
 * tell.
 */
typedef void goroutines_emit(struct source *source, const struct lane_key *key,
			     const struct goroutines_state *state, void *context);
bool goroutines_before_each(struct source *source, const struct map *known, goroutines_emit *emit,
			    void *context);
/* Whether such a one still waits. */
bool goroutines_before_waits(struct source *source, const struct lane_key *key,
			     const struct goroutines_state *state);

static inline uint64_t goroutines_place_key(uint32_t pid, uint64_t g)
{
	const uint64_t what[] = {pid, g};

	return hash_bytes(what, sizeof(what));
}

/* -- waits that go on -------------------------------------------------------------------------- */

/* Puts the part that is over of waits that go on into the film. */
void goroutines_open_report(struct source *source);
/* The same of those alone that have waited since before the probes. */
void goroutines_open_report_before(struct source *source);
/* goroutines_open_report(), and no later call will tell of what is found only now. */
void goroutines_open_report_last(struct source *source);
/* goroutines_open_report(), as often as that takes little of a CPU. */
void goroutines_open_tick(struct source *source, uint64_t now);
/* The same for lanes: soon enough for each row to end about when it is written. */
void goroutines_open_lanes(struct source *source, uint64_t now);
/* Nothing fires any more: also what is left of short ones. */
void goroutines_open_finish(struct source *source, uint64_t now);
/* The process has ended, and its waits with it. */
void goroutines_open_ended(struct source *source, pid_t pid);
/* A wait has ended. Returns up to when it stands in the film; 0: not at all. */
uint64_t goroutines_open_close(struct goroutines *goroutines, pid_t pid, uint64_t g, uint64_t out);
/* Another film: nothing of them stands in it. */
void goroutines_open_forget(struct goroutines *goroutines);

#endif
