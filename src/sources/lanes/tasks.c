// SPDX-License-Identifier: Apache-2.0
/*
 * task-lanes: what every task of asyncio did, every moment (bpf/lanes/tasks.bpf.c). Names come in
 * records of their own, and those that wait since before the probes are looked for in memory.
 */
#include <errno.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "sources/lanes/lane_source.h"
#include "sources/lanes/task_names.h"
#include "sources/lanes/tasks_before.h"
#include "sources/loss_counts.h"
#include "bpf/probes.skel.h"
#include "runtime/python/tasks.h"

/* So often it is made sure that those that were found wait still, ns. */
#define CHECK_PAUSE 10000000000ull

struct tasks {
	struct lane_source lanes;
	struct task_names names;
	struct tasks_before before;
	uint64_t given_to; /* all records up to that time are taken */
	uint64_t checked_at, late;
};

/* -- files ------------------------------------------------------------------------------------- */

static int look_at(struct probed_look *look, struct fail *why)
{
	struct python_tasks *facts = look->facts;
	int err = python_tasks_of(facts, look->image, why);

	for (size_t i = 0; !err && i < facts->site_count; i++) {
		enum tasks_place place = facts->sites[i].place;
		bool is_end = place == TASKS_STEPPED || place == TASKS_RAN || place == TASKS_BEGUN;

		if (!probed_look_add(look, facts->sites[i].offset, look->number,
				     TASKS_COOKIE(look->number, place), is_end))
			err = fail(why, -ENOMEM, NULL, "out of memory");
	}
	facts->image.since = clock_ns();
	return err;
}

/* A task may have gone on as they were set: nothing has told. */
static void probed(void *facts)
{
	((struct python_tasks *)facts)->image.since = clock_ns();
}

static const struct probed_kind files = {
	.size = sizeof(struct python_tasks),
	.most = TASKS_IMAGES_MAX,
	.too_many = "too many interpreters",
	.keep = true,
	.look = look_at,
	.probed = probed,
	.shared = offsetof(struct python_tasks, image),
};

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct tasks *tasks = source->state;

	(void)path;
	(void)ran_ns;
	/* of what ran before the recording, tasks are met as they go on */
	tasks->late += tasks->lanes.has_started;
}

/* -- tasks ------------------------------------------------------------------------------------- */

static void name_of(const struct source *source, uint64_t number, const char *told,
		    char to[LANE_NAME_MAX])
{
	const struct tasks *tasks = source->state;

	(void)told;
	task_names_get(&tasks->names, number, to);
}

static bool take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	struct tasks *tasks = source->state;

	(void)handover;
	if (head->kind != TASKS_NAMED || head->size != sizeof(struct tasks_named))
		return false;
	task_names_take(&tasks->names, (const struct tasks_named *)head);
	return true;
}

static void over(struct source *source, const struct lane_record *record)
{
	struct tasks *tasks = source->state;

	if (record->turn.flags & LANE_ENDS)
		task_names_remove(&tasks->names, record->turn.number);
}

static void look(struct source *source, uint64_t now, bool is_last)
{
	struct tasks *tasks = source->state;
	const struct tasks_before_of of = {
		.host = source->host,
		.images = tasks->lanes.images,
		.states = tasks->lanes.states,
		.ran = bpf_map__fd(source->host->probes->maps.tasks_ran),
		.names = &tasks->names,
	};

	if (!is_last) {
		tasks->given_to = now;
		tasks_before_look(&tasks->before, &of, clock_ns());
	}
	if (is_last || now >= tasks->checked_at + CHECK_PAUSE) {
		tasks_before_check(&of);
		tasks->checked_at = now;
	}
}

/*
 * One that has not run has no name yet, and is reported as a whole once it has; and of one that ran
 * just now, the name may be in a ring still.
 */
static bool is_due(const struct source *source, const struct lane_key *key, const void *goes_on,
		   bool is_last)
{
	const struct tasks *tasks = source->state;
	const struct tasks_state *state = goes_on;

	if (tasks_before_is(key) && state->missed)
		return false;
	return is_last || (state->name && state->turn.since <= tasks->given_to);
}

static void ended(struct source *source, pid_t pid)
{
	struct tasks *tasks = source->state;

	tasks_before_ended(&tasks->before, pid);
	task_names_ended(&tasks->names, pid);
}

/* -- the source -------------------------------------------------------------------------------- */

static void tell_losses(const struct source *source)
{
	const struct tasks *tasks = source->state;
	const struct loss_count losses[] = {
		{"programs of Python that ran for a moment before their tasks were followed",
		 tasks->late},
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

	loss_counts_emit(source->host->film, source->event, losses,
			 sizeof(losses) / sizeof(losses[0]));
}

static void free_rest(struct source *source)
{
	struct tasks *tasks = source->state;

	task_names_free(&tasks->names);
	tasks_before_free(&tasks->before);
}

static const enum film_go_reason reasons[TASKS_REASONS] = {
	[TASKS_FOR_NOTHING] = FILM_GO_OTHER,
	[TASKS_FOR_FUTURE] = FILM_GO_FUTURE,
	[TASKS_FOR_TASK] = FILM_GO_TASK,
};

static const struct lane_kind kind = {
	.event = EVENT_TASK_LANES,
	.size = sizeof(struct tasks),
	.files = &files,
	.name = name_of,
	.turn = TASKS_TURN,
	.record_size = sizeof(struct lane_record),
	.state_size = sizeof(struct tasks_state),
	.most = TASKS_MAX,
	.reasons = reasons,
	.reason_count = TASKS_REASONS,
	.words =
		{
			.cannot = "cannot record what tasks of asyncio do",
			.damaged = "wait lost: the record of a task is damaged",
			.holes =
				"time of a task not known: its records were lost, or it ran as the "
				"recording began",
			.too_many = "task not followed: too many of them, or no memory",
			.refused = "tasks of a program not followed",
		},
	.take = take,
	.over = over,
	.look = look,
	.is_due = is_due,
	.ended = ended,
	.tell_losses = tell_losses,
	.free = free_rest,
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_IMAGES;
}

static void prepare(struct source *source)
{
	probed_files_prepare(source->host->probes->progs.tasks_site);
	source->host->probes->rodata->tasks_have_lanes = true;
}

static int attach(struct source *source, struct fail *why)
{
	const struct probes *probes = source->host->probes;
	int err = lane_source_new(source, &kind, why);

	return err ? err
		   : lane_source_open(source, probes->progs.tasks_site,
				      bpf_map__fd(probes->maps.tasks_states),
				      bpf_map__fd(probes->maps.tasks_images), why);
}

static const char *const events[] = {"task-lanes", NULL};

static const char *const libraries[] = {"_asyncio.", "libpython", NULL};

const struct source_type source_tasks = {
	.events = events,
	.libraries = libraries,
	.needs = needs,
	.prepare = prepare,
	.attach = attach,
	.image_missed = image_missed,
	LANE_SOURCE,
};
