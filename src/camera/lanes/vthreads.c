// SPDX-License-Identifier: Apache-2.0
/*
 * vthread-lanes: what every virtual thread of Java did, every moment. bpf/vthreads.bpf.c tells of
 * each turn that is over; its lives are made in go_lanes.c, as those of goroutines are. What goes
 * on is looked up in the kernel's side. Only of monitors it is seen when one could run again: any
 * other wait lasts until it runs, and is marked as such.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "camera/lanes/go_lanes.h"
#include "camera/lanes/lane_film.h"
#include "camera/losses.h"
#include "camera/source.h"
#include "camera/lanes/vthreads_images.h"
#include "camera/lanes/vthreads_name.h"
#include "camera/waiting.h"
#include "film/events.h"
#include "film/go_reasons.h"
#include "probes.skel.h"

#define SECOND_NS 1000000000ull

/* Stacks of waits a second, on each CPU. */
#define RATE 1000

/* The most stacks that are kept until what waits with them runs. */
#define STACKS_MAX 65536

struct vthreads {
	int states; /* the map of struct vthreads_state */
	bool has_started;
	struct vthreads_images *images;
	struct go_lanes *lanes;
	struct waiting *stacks; /* by process and vthreads_stack_key() */
	const char *name;	/* of the one that is reported now; null: not known */
	struct lane_film film;
	uint64_t told_at, damaged;
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_IMAGES;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	return rings_bytes_for_calls(cpus);
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	probes->rodata->vthreads_stack_interval = SECOND_NS / RATE;
	probed_files_prepare(probes->progs.vthreads_site);
}

/* -- what lanes ask for ------------------------------------------------------------------------ */

static uint32_t vthread_row(void *context, pid_t pid, uint64_t number, uint64_t start)
{
	const struct lane_film *film = context;
	const struct source *source = film->source;
	const struct vthreads *vthreads = source->state;
	char name[VTHREADS_NAME_TEXT_MAX];

	vthreads_name(vthreads->name, number, name);
	return samples_lane(source->host->samples, pid, number, start, name);
}

static int attach(struct source *source, struct fail *why)
{
	const struct source_host *host = source->host;
	const struct vthreads_programs programs = {
		.site = host->probes->progs.vthreads_site,
		.code = host->probes->progs.vthreads_code,
		.processes = bpf_map__fd(host->probes->maps.vthreads_processes),
		.bind = !host->selection->whole_machine,
	};
	struct vthreads *vthreads = source->state = calloc(1, sizeof(*vthreads));
	int err = vthreads ? waiting_new(STACKS_MAX, &vthreads->stacks) : -ENOMEM;

	if (!err) {
		vthreads->states = bpf_map__fd(host->probes->maps.vthreads_states);
		const struct go_lanes_to to = {vthread_row, lane_film_thread, lane_film_write,
					       &vthreads->film, true};

		vthreads->film.source = source;
		vthreads->lanes = go_lanes_new(&to);
		err = vthreads->lanes ? vthreads_images_new(&programs, &vthreads->images) : -ENOMEM;
	}
	return err ? fail_errno(why, err, NULL, "cannot record what virtual threads do") : 0;
}

static void add_events(struct source *source)
{
	struct film_event event = event_from(EVENT_VTHREAD_LANES, "uprobes");
	struct vthreads *vthreads = source->state;

	source->event = film_add_event(source->host->film, &event);
	lane_film_turn(&vthreads->film, source->event);
	if (!vthreads->has_started)
		go_lanes_begin(vthreads->lanes, clock_ns());
	go_lanes_turn(vthreads->lanes);
	/* their places are the film's */
	waiting_empty(vthreads->stacks, NULL, NULL);
}

static int start(struct source *source, struct fail *why)
{
	struct vthreads *vthreads = source->state;

	(void)why;
	add_events(source);
	vthreads->has_started = true;
	return 0;
}

/* -- turns ------------------------------------------------------------------------------------- */

static enum film_go_reason reason_of(uint8_t reason)
{
	static const enum film_go_reason reasons[] = {
		[VTHREADS_FOR_OTHER] = FILM_GO_OTHER,
		[VTHREADS_FOR_PARK] = FILM_GO_PARK,
		[VTHREADS_FOR_TIMED_PARK] = FILM_GO_TIMED_PARK,
		[VTHREADS_FOR_MONITOR] = FILM_GO_MUTEX,
		[VTHREADS_FOR_NOTIFY] = FILM_GO_COND,
	};

	return reason < sizeof(reasons) / sizeof(reasons[0]) ? reasons[reason] : FILM_GO_OTHER;
}

/*
 * What a lane is to know of a turn. One that was there before begins with the probes of its
 * process, which may be later than the film does.
 */
static uint8_t lane_of(uint32_t lane)
{
	return (uint8_t)(lane & ~(uint32_t)GOROUTINES_LANE_BEFORE);
}

/* When it could run again; 0: that was not seen. */
static uint64_t woken_of(const struct vthreads_state *state)
{
	return state->lane & GOROUTINES_LANE_GAVE_WAY ? state->out : state->woken;
}

/* The stack with which one waits. keep: it waits on. 0: not known. */
static uint32_t stack_of(struct vthreads *vthreads, uint32_t pid, uint64_t number, uint64_t out,
			 bool keep)
{
	struct waiting_half half;

	if (!out || !waiting_take(vthreads->stacks, pid, vthreads_stack_key(number, out), &half))
		return 0;
	if (keep)
		waiting_put(vthreads->stacks, &half);
	return half.place.stack;
}

static void take_turn(struct source *source, const struct vthreads_turn *turn)
{
	struct vthreads *vthreads = source->state;
	const struct vthreads_state *state = &turn->state;
	const struct goroutines_wait wait = {
		.goid = turn->number,
		.since = state->since,
		.out = state->out,
		.woken = woken_of(state) ? woken_of(state) : turn->in,
		.readier_goid = state->readier,
		.readier = state->readier_thread,
		.in = turn->in,
		.thread = state->thread,
		.cpu = state->cpu,
		.lane = lane_of(turn->lane),
	};
	uint32_t stack = stack_of(vthreads, turn->identity.pid, turn->number, state->out, false);

	samples_count_row(source->host->samples);
	if (!source_is_meant(source, &turn->identity))
		return;
	vthreads->name = state->name;
	go_lanes_take(vthreads->lanes, (pid_t)turn->identity.pid, &wait, reason_of(state->reason),
		      stack);
	vthreads->name = NULL;
}

static void take_stack(struct source *source, const struct capture_record *record,
		       const struct capture_handover *handover)
{
	struct vthreads *vthreads = source->state;
	struct waiting_half half = {
		.pid = record->identity.pid,
		.key = record->identity.key,
		.time = record->head.time,
	};

	if (!source_is_meant(source, &record->identity))
		return;
	half.place = samples_resolve(source->host->samples, record, handover);
	waiting_put(vthreads->stacks, &half);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	struct vthreads *vthreads = source->state;

	if (head->kind == VTHREADS_TURN && head->size == sizeof(struct vthreads_turn))
		take_turn(source, (const struct vthreads_turn *)head);
	else if (head->kind == VTHREADS_STACK)
		take_stack(source, (const struct capture_record *)head, handover);
	else if (head->kind == VTHREADS_READY)
		vthreads_images_look(vthreads->images, source->host->samples);
	else
		vthreads->damaged++;
}

/* -- what goes on ------------------------------------------------------------------------------ */

static void cut(struct source *source, const struct vthreads_key *key,
		const struct vthreads_state *state, uint64_t time, bool has_ended)
{
	struct vthreads *vthreads = source->state;
	struct capture_identity identity = {.pid = key->pid,
					    .tid = key->pid,
					    .exec_id = key->exec_id,
					    .undecided = state->undecided};
	const struct goroutines_state like = {
		.since = state->since,
		.out = state->out,
		.woken = woken_of(state),
		.readier_goid = state->readier,
		.readier = state->readier_thread,
		.thread = state->thread,
		.cpu = state->cpu,
		.lane = lane_of(state->lane),
	};

	if (!source_is_meant(source, &identity))
		return;
	vthreads->name = state->name;
	go_lanes_cut(vthreads->lanes, (pid_t)key->pid, key->number, &like, reason_of(state->reason),
		     stack_of(vthreads, key->pid, key->number, state->out, true), time, false,
		     has_ended);
	vthreads->name = NULL;
}

/* Reports what goes on up to a time. pid: of that process, which has ended; 0: of all. */
static void cut_all(struct source *source, uint64_t time, pid_t pid)
{
	const struct vthreads *vthreads = source->state;
	struct vthreads_key key, next;
	struct vthreads_state state;
	bool more = !bpf_map_get_next_key(vthreads->states, NULL, &next);

	for (uint32_t i = 0; more && i < 2 * VTHREADS_MAX; i++) {
		key = next;
		more = !bpf_map_get_next_key(vthreads->states, &key, &next);
		if ((pid && key.pid != (uint32_t)pid) ||
		    bpf_map_lookup_elem(vthreads->states, &key, &state))
			continue;
		cut(source, &key, &state, time, pid);
		if (pid)
			bpf_map_delete_elem(vthreads->states, &key);
	}
}

static void drained(struct source *source, uint64_t now)
{
	struct vthreads *vthreads = source->state;
	uint64_t begin = clock_thread_ns();

	if (!vthreads || !vthreads->has_started)
		return;
	vthreads_images_look(vthreads->images, source->host->samples);
	if (now < vthreads->told_at)
		return;
	cut_all(source, clock_ns(), 0);
	vthreads->told_at = now + go_lanes_pause(clock_thread_ns() - begin);
}

/* -- the lives of processes -------------------------------------------------------------------- */

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	const struct vthreads *vthreads = source->state;

	return vthreads ? vthreads_images_meet(vthreads->images, pid, image) : 0;
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	(void)source;
	(void)path;
	(void)ran_ns;
	/* virtual threads that ran before are met as they go on, and are marked as such */
}

static bool has_image(const struct source *source, dev_t device, ino_t inode)
{
	(void)source;
	(void)device;
	(void)inode;
	/* other files than a JVM's are not losses, and that has been seen when it is mapped */
	return true;
}

static void process_gone(struct source *source, pid_t pid)
{
	const struct vthreads *vthreads = source->state;

	if (vthreads && vthreads->images)
		vthreads_images_gone(vthreads->images, pid);
}

static void process_ended(struct source *source, pid_t pid)
{
	struct vthreads *vthreads = source->state;
	uint64_t end;

	if (!vthreads || !vthreads_images_has(vthreads->images, pid))
		return;
	vthreads_images_ended(vthreads->images, pid);
	if (!vthreads->has_started)
		return;
	end = samples_end_of(source->host->samples, pid);
	cut_all(source, end, pid);
	go_lanes_ended(vthreads->lanes, pid, end);
	waiting_forget(vthreads->stacks, (uint32_t)pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void tell_losses(struct source *source)
{
	const struct vthreads *vthreads = source->state;
	const struct go_lanes_counts lanes = go_lanes_counts(vthreads->lanes);
	const struct waiting_counts stacks = waiting_counts(vthreads->stacks);
	const struct loss_count losses[] = {
		{"turn lost: the record of a virtual thread is damaged", vthreads->damaged},
		{"time of a virtual thread not known: its records were lost", lanes.holes},
		{"virtual thread not followed: too many of them, or no memory", lanes.refused},
		{"stack of a virtual thread's wait lost: too many wait", stacks.evicted},
		{"stack of a virtual thread's wait lost: no memory", stacks.refused},
	};

	losses_tell(source->host->film, source->event, losses, sizeof(losses) / sizeof(losses[0]));
	probed_refused_tell(vthreads_images_refused(vthreads->images), source->host->film,
			    source->event, "virtual threads of a JVM not followed");
}

static void tick(struct source *source, uint64_t now)
{
	(void)now;
	tell_losses(source);
}

static void closing(struct source *source)
{
	cut_all(source, clock_ns(), 0);
	tell_losses(source);
}

static void detach(struct source *source)
{
	const struct vthreads *vthreads = source->state;

	if (vthreads && vthreads->images)
		vthreads_images_detach(vthreads->images);
}

static void finish(struct source *source, uint64_t now)
{
	cut_all(source, now, 0);
	tell_losses(source);
}

static void free_state(struct source *source)
{
	struct vthreads *vthreads = source->state;

	if (vthreads) {
		vthreads_images_free(vthreads->images);
		go_lanes_free(vthreads->lanes);
		waiting_free(vthreads->stacks);
		lane_film_free(&vthreads->film);
	}
	free(vthreads);
}

static const char *const events[] = {"vthread-lanes", NULL};

const struct source_type source_vthreads = {
	.events = events,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.take = take,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = add_events,
	.detach = detach,
	.finish = finish,
	.image_new = image_new,
	.image_missed = image_missed,
	.has_image = has_image,
	.process_gone = process_gone,
	.process_ended = process_ended,
	.free = free_state,
};
