/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_LANE_SOURCE_H
#define SOURCES_LANES_LANE_SOURCE_H

#include "bpf/lanes/lanes_abi.h"
#include "sources/probed_images.h"
#include "sources/lanes/lane_film.h"
#include "sources/source.h"
#include "film/events.h"
#include "film/go_reasons.h"

/*
 * What sources of lanes do alike: files are probed, the kernel's side tells of each turn that is
 * over by a struct lane_record, and what goes on is looked up in its map. A source is a struct
 * lane_kind, a struct source_type with LANE_SOURCE in it, and what it alone does.
 */
struct lane_kind {
	size_t size; /* of the source's state, which begins with a struct lane_source */
	const struct probed_kind *files;
	lane_name *name;

	/*
	 * of the map of what goes on, by struct lane_key: its values begin with a struct lane_turn
	 */
	size_t state_size;
	uint32_t most;
	bool has_names; /* in both, the name stands right behind the turn */

	const enum film_go_reason *reasons; /* by the reason of a turn */
	size_t reason_count;

	struct {
		const char *cannot;   /* "cannot record what tasks of asyncio do" */
		const char *holes;    /* time that is not known */
		const char *too_many; /* some are not followed */
		const char *refused;  /* a file, or a process, is not followed */
	} words;

	/* Any of these may be null. */

	/* A turn is over. Its stack was asked for before, if it is meant. */
	void (*over)(struct source *source, const struct lane_record *record);
	/* The stack of the wait in a turn, which goes on, or is over. 0: not known. */
	uint32_t (*stack)(struct source *source, uint32_t pid, const struct lane_turn *turn,
			  bool goes_on);
	/* All records up to now are taken; is_last: nothing more will be reported of this film. */
	void (*look)(struct source *source, uint64_t now, bool is_last);
	/* Whether what goes on is reported now. */
	bool (*is_due)(const struct source *source, const struct lane_key *key, const void *state,
		       bool is_last);
	/* Another film, or the first one. */
	void (*turned)(struct source *source);
	/* A process runs a file of which that is known. */
	void (*runs)(struct source *source, pid_t pid, const void *facts);
	/* A process that did has ended. */
	void (*ended)(struct source *source, pid_t pid);
	/* What else was lost, into the film. */
	void (*report_losses)(const struct source *source);
	void (*detach)(struct source *source);
	void (*free)(struct source *source);
};

struct lane_source {
	const struct lane_kind *kind;
	struct lane_film film;
	struct probed_images *images;
	int states; /* the map of what goes on */
	bool has_started;
	uint64_t told_at;
};

/* Makes the source's state. 0 or a negative errno with *why filled. */
int lane_source_new(struct source *source, const struct lane_kind *kind, struct fail *why);
/* The same, of what has lanes, once its programs are loaded. images: as of probed_images_new(). */
int lane_source_open(struct source *source, struct bpf_program *site, int states, int images,
		     struct fail *why);

uint32_t lane_source_ring_bytes(const struct source *source, unsigned int cpus);
int lane_source_start(struct source *source, struct fail *why);
void lane_source_turn(struct source *source);
/* Handles a record of a turn that is over: a struct lane_record, maybe with more behind it. */
void lane_source_handle(struct source *source, const void *of);
void lane_source_drained(struct source *source, uint64_t now);
void lane_source_tick(struct source *source, uint64_t now);
void lane_source_closing(struct source *source);
void lane_source_detach(struct source *source);
void lane_source_finish(struct source *source, uint64_t now);
void lane_source_free(struct source *source);
unsigned int lane_source_image_new(struct source *source, pid_t pid, const struct image *image);
void lane_source_process_ended(struct source *source, pid_t pid);

/* Verbs of a struct source_type. */
#define LANE_SOURCE                                                                               \
	.ring_bytes = lane_source_ring_bytes, .start = lane_source_start,                         \
	.drained = lane_source_drained, .tick = lane_source_tick, .closing = lane_source_closing, \
	.turn = lane_source_turn, .detach = lane_source_detach, .finish = lane_source_finish,     \
	.free = lane_source_free, .images.arrived = lane_source_image_new,                        \
	.processes.ended = lane_source_process_ended

#endif
