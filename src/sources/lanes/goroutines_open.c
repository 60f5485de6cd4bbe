// SPDX-License-Identifier: Apache-2.0
/*
 * Goroutines that wait while a film ends, or is looked at. They are in the kernel side's map; where
 * each goes on is in its record, and its stack is still, so it is read from here. If the kernel's
 * side says afterwards that it waits as before, what was read was its stack.
 */
#include "sources/lanes/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "resolve/task_list.h"
#include "process/remote.h"

/*
 * As of sources/sched/off_cpu.c: this part of one CPU, or more where it would come more rarely
 * than that, ns.
 */
#define LIST_PART      400
#define LIST_PART_MAX  10
#define LIST_PAUSE_MAX 10000000000ull

/* The most waits that are kept with what the film has of them. */
#define OPEN_MAX 262144

static const char words_ended[] = "[no stack: its process has ended]";
static const char words_rest[] = "[no stack: shorter waits that came to no period]";

void goroutines_open_forget(struct goroutines *goroutines)
{
	map_free(&goroutines->places);
	vec_free(&goroutines->open);
}

static struct goroutines_open *find(struct goroutines *goroutines, uint32_t pid, uint64_t g)
{
	const uint64_t *place = map_get(&goroutines->places, goroutines_place_key(pid, g));
	struct goroutines_open *open = place ? &goroutines->open.at[*place] : NULL;

	return open && open->key.pid == pid && open->key.at == g ? open : NULL;
}

uint64_t goroutines_open_close(struct goroutines *goroutines, pid_t pid, uint64_t g, uint64_t out)
{
	const struct goroutines_open *open = find(goroutines, (uint32_t)pid, g);

	return open && open->out == out ? open->told : 0;
}

/* The entry for a wait, which replaces that of an earlier one; null: there is no room. */
static struct goroutines_open *keep(struct goroutines *goroutines,
				    const struct goroutines_open *one)
{
	struct goroutines_open *open = find(goroutines, one->key.pid, one->key.at);
	uint64_t key = goroutines_place_key(one->key.pid, one->key.at);

	if (open) {
		*open = *one;
		return open;
	}
	if (goroutines->open.count == OPEN_MAX || !vec_push(&goroutines->open, *one))
		return NULL;
	if (!map_put(&goroutines->places, key, goroutines->open.count - 1)) {
		goroutines->open.count--;
		return NULL;
	}
	return vec_last(&goroutines->open);
}

/* -- the stack of one that waits --------------------------------------------------------------- */

static bool read_word(const struct lane_key *key, uint32_t at, __u64 *to)
{
	return !remote_read((pid_t)key->pid, to, sizeof(*to), key->at + at);
}

/* Whether what its record says is where a goroutine waits: in gopark() of its program. */
static bool is_parked(struct source *source, const struct lane_key *key, uint32_t image,
		      uint64_t pc)
{
	const struct goroutines *goroutines = source->state;
	const struct process *process = samples_process(source->host->samples, (pid_t)key->pid);
	const struct mapping *mapping = process ? process_mapping(process, pc) : NULL;

	return mapping && probed_files_is(&goroutines->images->files, image, mapping->image);
}

/* Reads where it goes on, and its stack. */
static bool read_stack(struct source *source, const struct lane_key *key,
		       const struct goroutines_state *state, struct goroutines_wait *wait,
		       struct still_stack *stack)
{
	const struct goroutines *goroutines = source->state;
	const struct go_waits *waits = probed_images_facts(goroutines->images, state->image);
	struct capture_handover *from = &stack->from;

	*wait = (struct goroutines_wait){
		.turn = {.out = state->turn.out, .reason = state->turn.reason},
		.g = key->at,
		.image = state->image,
		.is_before = state->is_before,
		.reports = GOROUTINES_REPORTS_WAIT,
	};
	*from = (struct capture_handover){
		.head = {.kind = CAPTURE_HANDOVER, .time = from->head.time},
		.tid = key->pid,
		.fp_known = 1,
		.pc_exact = 1,
	};
	if (!waits || !read_word(key, waits->image.goid, &wait->turn.number) ||
	    !read_word(key, waits->image.pc, &from->pc) ||
	    !read_word(key, waits->image.sp, &from->sp) ||
	    !read_word(key, waits->image.fp, &from->fp) ||
	    !is_parked(source, key, state->image, from->pc))
		return false;
	still_stack_copy(stack, (pid_t)key->pid);
	from->head.size = (uint32_t)(sizeof(*from) + from->copied);
	return true;
}

static bool waits_still(struct source *source, const struct lane_key *key,
			const struct goroutines_state *state)
{
	const struct goroutines *goroutines = source->state;
	struct goroutines_state now;

	if (state->is_before)
		return goroutines_before_waits(source, key, state);
	return !bpf_map_lookup_elem(goroutines->states, key, &now) &&
	       now.turn.out == state->turn.out;
}

static struct capture_record record_of(const struct lane_key *key, uint64_t time)
{
	struct capture_record record = {
		.head = {.kind = GOROUTINES_WAIT, .size = sizeof(record), .time = time},
		.identity = {.pid = key->pid, .tid = key->pid, .exec_id = key->exec_id},
		.end = UNWIND_END_LATER,
		.has_user = 1,
		.handed_over = 1,
	};

	return record;
}

/*
 * What the film is to say of a wait. False: it does not wait any more, or its stack cannot be read.
 */
static bool look(struct source *source, const struct lane_key *key,
		 const struct goroutines_state *state, struct still_stack *stack,
		 struct goroutines_open *open)
{
	struct goroutines *goroutines = source->state;
	struct capture_record record = record_of(key, source_now(source));
	struct goroutines_wait wait;
	struct samples_place place;

	/* by that they belong together */
	stack->from.head.time = record.head.time;
	if (!read_stack(source, key, state, &wait, stack)) {
		goroutines->open_lost += waits_still(source, key, state);
		return false;
	}
	if (!waits_still(source, key, state))
		return false;
	record.identity.undecided = state->turn.undecided;
	if (!source_is_meant(source, &record.identity))
		return false;
	place = samples_resolve(source->host->samples, &record, &stack->from);
	*open = (struct goroutines_open){
		.key = *key, .out = state->turn.out, .told = state->turn.out};
	open->rows = goroutines_rows(source, (pid_t)key->pid, &wait, &place);
	open->rows.wait.flags |= FILM_WAIT_OPEN;
	open->rows.ready.flags |= FILM_WAIT_OPEN;
	return true;
}

/* -- what goes on ------------------------------------------------------------------------------ */

/* Adds the time from what stands in the film up to now. */
static void add_up_to(struct source *source, struct goroutines_open *open, uint64_t woken,
		      uint64_t now)
{
	uint64_t wait_end = woken > open->told && woken < now ? woken : now;

	if (woken && woken <= open->told)
		wait_end = open->told;
	goroutines_add(source, open->rows.event, &open->rows.wait, wait_end, wait_end - open->told);
	goroutines_add(source, GOROUTINES_QUEUE, &open->rows.ready, now, now - wait_end);
	open->told = now;
}

/* The entry of one that waits at a time; null: it does not, or not for long. */
static struct goroutines_open *entry_of(struct source *source, const struct lane_key *key,
					const struct goroutines_state *state,
					struct still_stack *stack, uint64_t now)
{
	struct goroutines *goroutines = source->state;
	struct goroutines_open *open = find(goroutines, key->pid, key->at), one;

	if (!state->turn.out || now < state->turn.out)
		return NULL;
	if (open && open->out == state->turn.out)
		return open;
	/* what is short would be lost as a part of its own */
	if (now - state->turn.out < goroutines->min_wait || state->turn.flags & LANE_GAVE_WAY ||
	    !look(source, key, state, stack, &one))
		return NULL;
	open = keep(goroutines, &one);
	goroutines->open_lost += !open;
	return open;
}

static void report_one(struct source *source, const struct lane_key *key,
		       const struct goroutines_state *state, struct still_stack *stack,
		       uint64_t now)
{
	const struct goroutines *goroutines = source->state;
	struct goroutines_open *open = entry_of(source, key, state, stack, now);

	if (open && open->told < now)
		add_up_to(source, open, state->turn.woken, now);
	if (goroutines->film.lives)
		goroutines_lanes_cut(source, key, state, open ? open->rows.wait.stack : 0, now,
				     false);
}

/* Calls each() for all that the kernel's side knows; it may take the one that it is called for. */
static void each_state(struct source *source,
		       void (*each)(struct source *source, const struct lane_key *key,
				    const struct goroutines_state *state, void *context),
		       void *context)
{
	struct goroutines *goroutines = source->state;
	struct lane_key key, next;
	struct goroutines_state state;
	bool more = !bpf_map_get_next_key(goroutines->states, NULL, &next);

	for (uint32_t i = 0; more && i < 2 * GOROUTINES_MAX; i++) {
		key = next;
		more = !bpf_map_get_next_key(goroutines->states, &key, &next);
		if (!bpf_map_lookup_elem(goroutines->states, &key, &state))
			each(source, &key, &state, context);
	}
}

struct reporting {
	struct still_stack *stack;
	struct map known; /* goroutines that the kernel's side knows */
	bool only_before;
	bool has_failed; /* to add to known */
	uint64_t now;	 /* all of them are reported up to there */
};

static void report_known(struct source *source, const struct lane_key *key,
			 const struct goroutines_state *state, void *context)
{
	struct reporting *reporting = context;

	reporting->has_failed |=
		!map_put(&reporting->known, goroutines_place_key(key->pid, key->at), 1);
	if (!reporting->only_before)
		report_one(source, key, state, reporting->stack, reporting->now);
}

static void report_before(struct source *source, const struct lane_key *key,
			  const struct goroutines_state *state, void *context)
{
	struct reporting *reporting = context;

	report_one(source, key, state, reporting->stack, reporting->now);
}

/* Of what seems to have waited since before the probes. Returns whether it takes another look. */
static bool report_each_before(struct source *source, struct reporting *reporting)
{
	struct goroutines *goroutines = source->state;

	if (!reporting->has_failed)
		return goroutines_before_each(source, &reporting->known, report_before, reporting);
	goroutines->open_lost++;
	return false;
}

/* There may be no later look at what has been found now. */
#define LOOKS_LAST 2

static void report_all(struct source *source, bool only_before, unsigned int looks)
{
	struct goroutines *goroutines = source->state;
	struct reporting reporting = {
		.stack = malloc(sizeof(*reporting.stack)),
		.only_before = only_before,
		.now = source_now(source),
	};

	if (!reporting.stack) {
		goroutines->open_lost++;
		return;
	}
	do {
		each_state(source, report_known, &reporting);
		reporting.only_before = true;
	} while (report_each_before(source, &reporting) && --looks);
	map_free(&reporting.known);
	free(reporting.stack);
}

void goroutines_open_report(struct source *source)
{
	report_all(source, false, 1);
}

void goroutines_open_report_before(struct source *source)
{
	report_all(source, true, 1);
}

void goroutines_open_report_last(struct source *source)
{
	report_all(source, false, LOOKS_LAST);
}

void goroutines_open_tick(struct source *source, uint64_t now)
{
	struct goroutines *goroutines = source->state;
	uint64_t begin = clock_thread_ns();

	if (now < goroutines->list_at)
		return;
	goroutines_open_report(source);
	goroutines->list_at = now + clock_pause(clock_thread_ns() - begin, LIST_PART,
						LIST_PAUSE_MAX, LIST_PART_MAX);
}

void goroutines_open_lanes(struct source *source, uint64_t now)
{
	struct goroutines *goroutines = source->state;
	uint64_t begin = clock_thread_ns();

	if (now < goroutines->list_at)
		return;
	goroutines_open_report(source);
	goroutines->list_at = now + lane_lives_pause(clock_thread_ns() - begin);
}

/* -- ends -------------------------------------------------------------------------------------- */

/* A row of a goroutine whose stack is not known. */
static struct goroutines_rows rows_without(struct source *source, const struct lane_key *key,
					   const struct goroutines_state *state, const char *words)
{
	struct capture_identity identity = {
		.pid = key->pid, .tid = key->pid, .exec_id = key->exec_id};
	const struct goroutines_wait wait = {
		.turn = {.reason = state->turn.reason}, .g = key->at, .image = state->image};
	const struct samples_place place = {
		.thread = samples_thread(source->host->samples, &identity),
		.stack = samples_words(source->host->samples, 0, words),
	};

	return goroutines_rows(source, 0, &wait, &place);
}

/* Shorter waits that have not come to a period. */
static void report_rest(struct source *source, const struct lane_key *key,
			const struct goroutines_state *state, uint64_t now)
{
	struct goroutines_rows rows;

	if (!state->short_waited && !state->short_ready)
		return;
	rows = rows_without(source, key, state, words_rest);
	goroutines_add_short(source, rows.event, &rows.wait, now, state->short_waited,
			     state->short_waits);
	goroutines_add_short(source, GOROUTINES_QUEUE, &rows.ready, now, state->short_ready,
			     state->short_readies);
}

static void finish_each(struct source *source, const struct lane_key *key,
			const struct goroutines_state *state, void *context)
{
	const struct goroutines *goroutines = source->state;
	uint64_t now = *(const uint64_t *)context;

	report_rest(source, key, state, now);
	if (goroutines->film.lives)
		goroutines_lanes_cut(source, key, state, 0, now, false);
}

void goroutines_open_finish(struct source *source, uint64_t now)
{
	const struct goroutines *goroutines = source->state;

	each_state(source, finish_each, &now);
	if (goroutines->film.lives)
		lane_lives_finish(goroutines->film.lives, now);
}

struct ended {
	uint32_t pid;
	uint64_t time;
	struct map known; /* its goroutines that the kernel's side knew */
	bool has_failed;  /* to add to known */
};

static void end_each(struct source *source, const struct lane_key *key,
		     const struct goroutines_state *state, void *context)
{
	struct goroutines *goroutines = source->state;
	struct ended *ended = context;
	struct goroutines_open *open, one;

	if (key->pid != ended->pid)
		return;
	ended->has_failed |= !map_put(&ended->known, goroutines_place_key(key->pid, key->at), 1);
	report_rest(source, key, state, ended->time);
	if (goroutines->film.lives)
		goroutines_lanes_cut(source, key, state, 0, ended->time, true);
	open = find(goroutines, key->pid, key->at);
	if (state->turn.out && (!open || open->out != state->turn.out)) {
		one = (struct goroutines_open){
			.key = *key,
			.out = state->turn.out,
			.told = state->turn.out,
			.rows = rows_without(source, key, state, words_ended),
		};
		open = &one;
	}
	if (state->turn.out && open->told < ended->time)
		add_up_to(source, open, state->turn.woken, ended->time);
	bpf_map_delete_elem(goroutines->states, key);
}

/* Those that no probe has seen waited until the end. */
static void end_before(struct source *source, const struct ended *ended)
{
	struct goroutines *goroutines = source->state;

	/* what is known of both sides would stand there twice */
	if (ended->has_failed)
		return;
	vec_foreach (&goroutines->open, open)
		if (open->key.pid == ended->pid && open->key.exec_id == UNWIND_ANY_EXEC &&
		    open->told < ended->time &&
		    !map_get(&ended->known, goroutines_place_key(open->key.pid, open->key.at)))
			add_up_to(source, open, 0, ended->time);
}

void goroutines_open_ended(struct source *source, pid_t pid)
{
	const struct goroutines *goroutines = source->state;
	struct ended ended = {
		.pid = (uint32_t)pid,
		.time = samples_end_of(source->host->samples, pid),
	};

	each_state(source, end_each, &ended);
	end_before(source, &ended);
	if (goroutines->film.lives)
		lane_lives_ended(goroutines->film.lives, pid, ended.time);
	map_free(&ended.known);
}
