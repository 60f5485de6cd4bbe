// SPDX-License-Identifier: Apache-2.0
/*
 * task-lanes: what every task of asyncio did, every moment. bpf/tasks.bpf.c tells of each turn that
 * is over; its lives are made in go_lanes.c, as those of goroutines are. What goes on is looked up
 * in the kernel's side.
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
#include "camera/lanes/task_names.h"
#include "camera/lanes/tasks_before.h"
#include "camera/lanes/tasks_images.h"
#include "film/events.h"
#include "film/go_reasons.h"
#include "probes.skel.h"

/* So often it is made sure that those that were found wait still, ns. */
#define CHECK_PAUSE 10000000000ull

struct tasks {
	int states; /* the map of struct tasks_state */
	bool has_started;
	struct tasks_images *images;
	struct go_lanes *lanes;
	struct task_names names;
	struct lane_film film;
	struct tasks_before before;
	uint64_t given_to; /* all records up to that time are taken */
	uint64_t told_at, checked_at, damaged, late;
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_IMAGES;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	return rings_bytes_for_calls(cpus);
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	probed_files_prepare(probes->progs.tasks_site);
}

/* -- what lanes ask for ------------------------------------------------------------------------ */

static uint32_t task_row(void *context, pid_t pid, uint64_t number, uint64_t start)
{
	const struct lane_film *film = context;
	const struct source *source = film->source;
	const struct tasks *tasks = source->state;
	char name[TASK_NAME_MAX];

	task_names_get(&tasks->names, number, name);
	return samples_lane(source->host->samples, pid, number, start, name);
}

static int attach(struct source *source, struct fail *why)
{
	const struct source_host *host = source->host;
	struct tasks *tasks = source->state = calloc(1, sizeof(*tasks));
	int err = tasks ? 0 : -ENOMEM;

	if (!err) {
		tasks->states = bpf_map__fd(host->probes->maps.tasks_states);
		const struct go_lanes_to to = {task_row, lane_film_thread, lane_film_write,
					       &tasks->film, true};

		tasks->film.source = source;
		tasks->lanes = go_lanes_new(&to);
		err = tasks->lanes ? 0 : -ENOMEM;
	}
	if (!err)
		err = tasks_images_new(host->probes->progs.tasks_site,
				       bpf_map__fd(host->probes->maps.tasks_images),
				       !host->selection->whole_machine, &tasks->images);
	return err ? fail_errno(why, err, NULL, "cannot record what tasks of asyncio do") : 0;
}

static void add_events(struct source *source)
{
	struct film_event event = event_from(EVENT_TASK_LANES, "uprobes");
	struct tasks *tasks = source->state;

	source->event = film_add_event(source->host->film, &event);
	lane_film_turn(&tasks->film, source->event);
	if (!tasks->has_started)
		go_lanes_begin(tasks->lanes, clock_ns());
	go_lanes_turn(tasks->lanes);
}

static int start(struct source *source, struct fail *why)
{
	struct tasks *tasks = source->state;

	(void)why;
	add_events(source);
	tasks->has_started = true;
	return 0;
}

/* -- turns ------------------------------------------------------------------------------------- */

static enum film_go_reason reason_of(uint8_t reason)
{
	return reason == TASKS_FOR_TASK	    ? FILM_GO_TASK
	       : reason == TASKS_FOR_FUTURE ? FILM_GO_FUTURE
					    : FILM_GO_OTHER;
}

static void take_turn(struct source *source, const struct tasks_turn *turn)
{
	struct tasks *tasks = source->state;
	const struct goroutines_wait wait = {
		.goid = turn->number,
		.since = turn->since,
		.out = turn->out,
		.woken = turn->woken,
		.in = turn->in,
		.readier_goid = turn->readier,
		.readier = turn->readier_thread,
		.thread = turn->thread,
		.cpu = turn->cpu,
		.lane = turn->lane,
	};

	if (source_is_meant(source, &turn->identity))
		go_lanes_take(tasks->lanes, (pid_t)turn->identity.pid, &wait,
			      reason_of(turn->reason), 0);
	samples_count_row(source->host->samples);
	if (turn->lane & GOROUTINES_LANE_ENDS)
		task_names_remove(&tasks->names, turn->number);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	struct tasks *tasks = source->state;

	(void)handover;
	if (head->kind == TASKS_TURN && head->size == sizeof(struct tasks_turn))
		take_turn(source, (const struct tasks_turn *)head);
	else if (head->kind == TASKS_NAMED && head->size == sizeof(struct tasks_named))
		task_names_take(&tasks->names, (const struct tasks_named *)head);
	else
		tasks->damaged++;
}

/* -- what goes on ------------------------------------------------------------------------------ */

static struct tasks_before_of before_of(const struct source *source)
{
	struct tasks *tasks = source->state;

	return (struct tasks_before_of){source->host, tasks->images, tasks->states, &tasks->names};
}

static void cut(struct source *source, const struct tasks_key *key, const struct tasks_state *state,
		uint64_t time, bool has_ended, bool is_last)
{
	const struct tasks *tasks = source->state;
	struct capture_identity identity = {.pid = key->pid,
					    .tid = key->pid,
					    .exec_id = key->exec_id,
					    .undecided = state->undecided};
	const struct goroutines_state like = {
		.since = state->since,
		.out = state->out,
		.woken = state->woken,
		.readier_goid = state->readier,
		.readier = state->readier_thread,
		.thread = state->thread,
		.cpu = state->cpu,
		.lane = state->lane,
	};

	/*
	 * One that has not run has no name yet, and is reported as a whole once it has; and of one
	 * that ran just now, the name may be in a ring still.
	 */
	if (!is_last && (!state->name || state->since > tasks->given_to))
		return;
	if (source_is_meant(source, &identity))
		go_lanes_cut(tasks->lanes, (pid_t)key->pid, state->number, &like,
			     reason_of(state->reason), 0, time, false, has_ended);
}

/*
 * Reports what goes on up to a time. pid: of that process, which has ended; 0: of all. is_last:
 * nothing of the same will follow in this film.
 */
static void cut_all(struct source *source, uint64_t time, pid_t pid, bool is_last)
{
	struct tasks *tasks = source->state;
	const struct tasks_before_of of = before_of(source);
	struct tasks_key key, next;
	struct tasks_state state;
	bool check = !pid && (is_last || time >= tasks->checked_at + CHECK_PAUSE);
	bool more = !bpf_map_get_next_key(tasks->states, NULL, &next);

	for (uint32_t i = 0; more && i < 2 * TASKS_MAX; i++) {
		key = next;
		more = !bpf_map_get_next_key(tasks->states, &key, &next);
		if ((pid && key.pid != (uint32_t)pid) ||
		    bpf_map_lookup_elem(tasks->states, &key, &state))
			continue;
		if (check && tasks_before_is(&key) && !tasks_before_waits(&of, &key, &state))
			continue;
		cut(source, &key, &state, time, pid, is_last);
		if (pid)
			bpf_map_delete_elem(tasks->states, &key);
	}
	if (check)
		tasks->checked_at = time;
}

static void drained(struct source *source, uint64_t now)
{
	struct tasks *tasks = source->state;
	struct tasks_before_of of;
	uint64_t begin = clock_thread_ns();

	if (!tasks || !tasks->has_started)
		return;
	tasks->given_to = now;
	of = before_of(source);
	tasks_before_look(&tasks->before, &of, clock_ns());
	if (now < tasks->told_at)
		return;
	cut_all(source, clock_ns(), 0, false);
	tasks->told_at = now + go_lanes_pause(clock_thread_ns() - begin);
}

/* -- the lives of processes -------------------------------------------------------------------- */

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	const struct tasks *tasks = source->state;

	return tasks ? tasks_images_meet(tasks->images, pid, image) : 0;
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct tasks *tasks = source->state;

	(void)path;
	(void)ran_ns;
	/* of what ran before the recording, tasks are met as they go on */
	tasks->late += tasks->has_started;
}

static bool has_image(const struct source *source, dev_t device, ino_t inode)
{
	(void)source;
	(void)device;
	(void)inode;
	/* what has no tasks is not a loss, and what has some has been seen when it is mapped */
	return true;
}

static void process_ended(struct source *source, pid_t pid)
{
	struct tasks *tasks = source->state;
	uint64_t end;

	if (!tasks || !tasks_images_has(tasks->images, pid))
		return;
	tasks_images_ended(tasks->images, pid);
	tasks_before_ended(&tasks->before, pid);
	if (!tasks->has_started)
		return;
	end = samples_end_of(source->host->samples, pid);
	cut_all(source, end, pid, true);
	go_lanes_ended(tasks->lanes, pid, end);
	task_names_ended(&tasks->names, pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void tell_losses(struct source *source)
{
	const struct tasks *tasks = source->state;
	const struct go_lanes_counts lanes = go_lanes_counts(tasks->lanes);
	const struct loss_count losses[] = {
		{"wait lost: the record of a task is damaged", tasks->damaged},
		{"programs of Python that ran for a moment before their tasks were followed",
		 tasks->late},
		{"time of a task not known: its records were lost, or it ran as the recording "
		 "began",
		 lanes.holes},
		{"task not followed: too many of them, or no memory", lanes.refused},
		{"name of a task not known: too many of them, or no memory", tasks->names.refused},
		{"task that waits since before not followed: too many of them, or no memory",
		 tasks->before.refused},
		{"process not searched whole for tasks that wait since before: too much memory",
		 tasks->before.large},
		{"process not searched for tasks that wait since before: its memory cannot be read",
		 tasks->before.unread},
		{"process not searched for tasks that wait since before: its interpreter has "
		 "another allocator of small objects",
		 tasks->before.unpooled},
	};

	losses_tell(source->host->film, source->event, losses, sizeof(losses) / sizeof(losses[0]));
	probed_refused_tell(tasks_images_refused(tasks->images), source->host->film, source->event,
			    "tasks of a program not followed");
}

static void tick(struct source *source, uint64_t now)
{
	(void)now;
	tell_losses(source);
}

static void closing(struct source *source)
{
	cut_all(source, clock_ns(), 0, true);
	tell_losses(source);
}

static void detach(struct source *source)
{
	const struct tasks *tasks = source->state;

	if (tasks && tasks->images)
		tasks_images_detach(tasks->images);
}

static void finish(struct source *source, uint64_t now)
{
	cut_all(source, now, 0, true);
	tell_losses(source);
}

static void free_state(struct source *source)
{
	struct tasks *tasks = source->state;

	if (tasks) {
		tasks_images_free(tasks->images);
		go_lanes_free(tasks->lanes);
		task_names_free(&tasks->names);
		tasks_before_free(&tasks->before);
		lane_film_free(&tasks->film);
	}
	free(tasks);
}

static const char *const events[] = {"task-lanes", NULL};

const struct source_type source_tasks = {
	.events = events,
	.needs = needs,
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
	.process_ended = process_ended,
	.free = free_state,
};
