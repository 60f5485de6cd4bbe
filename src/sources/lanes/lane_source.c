// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/lane_source.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "sources/loss_counts.h"

/* The most bytes of a value in a map of what goes on. */
#define STATE_MAX 256

int lane_source_new(struct source *source, const struct lane_kind *kind, struct fail *why)
{
	struct lane_source *lanes = source->state = calloc(1, kind->size);

	if (!lanes)
		return fail_errno(why, -ENOMEM, NULL, "%s", kind->words.cannot);
	lanes->kind = kind;
	return 0;
}

int lane_source_open(struct source *source, struct bpf_program *site, int states, int images,
		     struct fail *why)
{
	struct lane_source *lanes = source->state;
	const struct lane_kind *kind = lanes->kind;
	int err = kind->state_size > STATE_MAX ? -E2BIG : 0;

	lanes->states = states;
	if (!err)
		err = lane_film_new(&lanes->film, source, kind->name, true);
	if (!err)
		err = probed_images_new(kind->files, site, images,
					!source->host->selection->whole_machine, &lanes->images);
	return err ? fail_errno(why, err, NULL, "%s", kind->words.cannot) : 0;
}

uint32_t lane_source_ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	return rings_bytes_for_calls(cpus);
}

void lane_source_turn(struct source *source)
{
	const struct lane_kind *kind = ((const struct lane_source *)source->state)->kind;
	struct lane_source *lanes = source->state;

	lane_film_turn(&lanes->film, source->event);
	if (kind->turned)
		kind->turned(source);
}

int lane_source_start(struct source *source, struct fail *why)
{
	struct lane_source *lanes = source->state;

	(void)why;
	lane_source_turn(source);
	lanes->has_started = true;
	return 0;
}

/* -- turns ------------------------------------------------------------------------------------- */

static struct lane_also also_of(struct source *source, uint32_t pid, const struct lane_turn *turn,
				bool goes_on)
{
	const struct lane_kind *kind = ((const struct lane_source *)source->state)->kind;

	return (struct lane_also){
		.reason = turn->reason < kind->reason_count ? kind->reasons[turn->reason]
							    : FILM_GO_OTHER,
		.stack = kind->stack ? kind->stack(source, pid, turn, goes_on) : 0,
		.name = kind->has_names ? (const char *)(turn + 1) : NULL,
	};
}

void lane_source_handle(struct source *source, const void *of)
{
	const struct lane_record *record = of;
	const struct lane_source *lanes = source->state;
	uint32_t pid = record->identity.pid;
	const struct lane_also also = also_of(source, pid, &record->turn, false);

	samples_count_row(source->host->samples);
	if (source_is_meant(source, &record->identity))
		lane_lives_add(lanes->film.lives, (pid_t)pid, &record->turn, record->in, &also);
	if (lanes->kind->over)
		lanes->kind->over(source, record);
}

/* -- what goes on ------------------------------------------------------------------------------ */

/* What is reported of what goes on: up to a time. */
struct cut {
	uint64_t time;
	pid_t pid;    /* of that process, which has ended; 0: of all */
	bool is_last; /* nothing of the same will follow in this film */
};

static void cut_one(struct source *source, const struct lane_key *key, const void *state,
		    const struct cut *cut)
{
	const struct lane_source *lanes = source->state;
	const struct lane_turn *turn = state;
	const struct capture_identity identity = {.pid = key->pid,
						  .tid = key->pid,
						  .exec_id = key->exec_id,
						  .undecided = turn->undecided};
	struct lane_also also;

	if (lanes->kind->is_due && !lanes->kind->is_due(source, key, state, cut->is_last))
		return;
	if (!source_is_meant(source, &identity))
		return;
	also = also_of(source, key->pid, turn, true);
	lane_lives_cut(lanes->film.lives, (pid_t)key->pid, turn, &also, cut->time, false, cut->pid);
}

static void cut_all(struct source *source, const struct cut *cut)
{
	const struct lane_source *lanes = source->state;
	struct lane_key key, next;
	uint64_t state[STATE_MAX / sizeof(uint64_t)];
	bool more = !bpf_map_get_next_key(lanes->states, NULL, &next);

	for (uint32_t i = 0; more && i < 2 * lanes->kind->most; i++) {
		key = next;
		more = !bpf_map_get_next_key(lanes->states, &key, &next);
		if ((cut->pid && key.pid != (uint32_t)cut->pid) ||
		    bpf_map_lookup_elem(lanes->states, &key, state))
			continue;
		cut_one(source, &key, state, cut);
		if (cut->pid)
			bpf_map_delete_elem(lanes->states, &key);
	}
}

void lane_source_drained(struct source *source, uint64_t now)
{
	struct lane_source *lanes = source->state;
	uint64_t begin = clock_thread_ns();

	if (!lanes || !lanes->has_started)
		return;
	if (lanes->kind->look)
		lanes->kind->look(source, now, false);
	if (now < lanes->told_at)
		return;
	cut_all(source, &(struct cut){.time = source_now(source)});
	lanes->told_at = now + lane_lives_pause(clock_thread_ns() - begin);
}

/* -- the lives of processes -------------------------------------------------------------------- */

unsigned int lane_source_image_new(struct source *source, pid_t pid, const struct image *image)
{
	const struct lane_source *lanes = source->state;
	unsigned int state;
	int number;

	if (!lanes || !lanes->images)
		return 0;
	number = probed_images_meet(lanes->images, pid, image, &state);
	if (number >= 0 && lanes->kind->runs)
		lanes->kind->runs(source, pid,
				  probed_images_facts(lanes->images, (uint32_t)number));
	return state;
}

void lane_source_process_ended(struct source *source, pid_t pid)
{
	const struct lane_source *lanes = source->state;
	struct cut cut = {.pid = pid};

	if (!lanes || !lanes->images || !probed_images_has(lanes->images, pid))
		return;
	probed_images_ended(lanes->images, pid);
	if (lanes->has_started) {
		cut.time = samples_end_of(source->host->samples, pid);
		cut_all(source, &cut);
		lane_lives_ended(lanes->film.lives, pid, cut.time);
	}
	if (lanes->kind->ended)
		lanes->kind->ended(source, pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void report_losses(struct source *source)
{
	const struct lane_source *lanes = source->state;
	const struct lane_kind *kind = lanes->kind;
	const struct lane_lives_counts counts = lane_lives_counts(lanes->film.lives);
	const struct loss_count losses[] = {
		{kind->words.holes, counts.holes},
		{kind->words.too_many, counts.refused},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	probed_refused_report(&lanes->images->refused, source->host->film, source->event,
			      kind->words.refused);
	if (kind->report_losses)
		kind->report_losses(source);
}

void lane_source_tick(struct source *source, uint64_t now)
{
	(void)now;
	report_losses(source);
}

void lane_source_finish(struct source *source, uint64_t now)
{
	const struct lane_source *lanes = source->state;

	if (lanes->kind->look)
		lanes->kind->look(source, now, true);
	cut_all(source, &(struct cut){.time = now, .is_last = true});
	report_losses(source);
}

void lane_source_closing(struct source *source)
{
	lane_source_finish(source, source_now(source));
}

void lane_source_detach(struct source *source)
{
	const struct lane_source *lanes = source->state;

	if (!lanes)
		return;
	if (lanes->kind->detach)
		lanes->kind->detach(source);
	probed_images_detach(lanes->images);
}

void lane_source_free(struct source *source)
{
	struct lane_source *lanes = source->state;

	if (!lanes)
		return;
	if (lanes->kind->free)
		lanes->kind->free(source);
	probed_images_free(lanes->images);
	lane_film_free(&lanes->film);
	free(lanes);
}
