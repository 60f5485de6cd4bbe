// SPDX-License-Identifier: Apache-2.0
/*
 * task-lanes: what every task of asyncio did, every moment (bpf/lanes/tasks.bpf.c). Names come in
 * records of their own, and those that wait since before the probes are looked for in memory.
 */
#include <errno.h>
#include <signal.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/filter.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/lanes/tasks_abi.h"
#include "runtime/python/waiting.h"
#include "sources/lanes/lane_source.h"
#include "sources/lanes/task_names.h"
#include "bpf/probes.skel.h"
#include "runtime/python/tasks.h"
#include "sources/probed_images.h"
#include "sources/loss_counts.h"
#include "sources/source.h"

/*
 * Tasks of asyncio that wait since before there were probes. No probe meets them until they go on,
 * so they are looked for in the memory of their process, and put into the kernel side's map, with
 * UNWIND_ANY_EXEC, from where a step takes one over.
 */
struct tasks_before {
	struct map looked; /* processes that were looked at, and when */
	uint64_t large;	   /* processes with more memory than is searched */
	uint64_t unread;   /* those whose memory could not be read */
	uint64_t unpooled; /* those whose small objects lie in no pools */
	uint64_t refused;  /* tasks for which there was no room */
};

/* What it works with. */
struct tasks_before_of {
	const struct source_host *host;
	const struct probed_images *images;
	int states; /* the map of struct tasks_state */
	int ran;    /* the one that says until when tasks ran as the probes came */
	struct task_names *names;
};

static inline bool tasks_before_is(const struct lane_key *key)
{
	return key->exec_id == UNWIND_ANY_EXEC;
}

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

static void handle_named(struct source *source, const void *of)
{
	struct tasks *tasks = source->state;

	task_names_add(&tasks->names, of);
}

static void over(struct source *source, const struct lane_record *record)
{
	struct tasks *tasks = source->state;

	if (record->turn.flags & LANE_ENDS)
		task_names_remove(&tasks->names, record->turn.number);
}

/*
 * A task that is found waiting may have been made, or have run, since the probes were set; then the
 * kernel's side knows it by its process's own exec_id. So what was found is compared with that map
 * afterwards, and once more when it is in there.
 */

/*
 * A process is looked at again after this time, ns: a task that the collector looked at meanwhile
 * was not found.
 */
#define AGAIN 500000000ull

/* An interpreter that began less before the probes were set may have had no pools yet; ns. */
#define BEGINNING_NS 1000000000ull

/* In the table of processes, where others have the time of their first look. */
#define DONE UINT64_MAX

/* The most tasks of a process that are taken at one look. */
#define FOUND_MAX 65536

struct found {
	struct python_waiting waiting;
	uint64_t number; /* it is in the map with that; 0: it is not */
};

struct look {
	const struct tasks_before_of *of;
	const struct python_tasks *facts;
	struct tasks_before *before;
	uint64_t time;
	pid_t pid; /* 0: none was due so far */
	uint32_t file;
	vec(struct found) found;
};

static void tasks_before_ended(struct tasks_before *before, pid_t pid)
{
	map_remove(&before->looked, (uint64_t)pid);
}

static void tasks_before_free(struct tasks_before *before)
{
	map_free(&before->looked);
}

static void add_waiting(void *context, const struct python_waiting *waiting)
{
	struct look *look = context;
	const struct found found = {*waiting, 0};

	if (look->found.count >= FOUND_MAX || !vec_push(&look->found, found))
		look->before->refused++;
}

/* Tasks of the process that the map has: their addresses. False: no memory. */
static bool list_known(const struct look *look, struct map *known)
{
	struct lane_key key, next;
	bool more = !bpf_map_get_next_key(look->of->states, NULL, &next);

	for (uint32_t i = 0; more && i < 2 * TASKS_MAX; i++) {
		key = next;
		more = !bpf_map_get_next_key(look->of->states, &key, &next);
		if (key.pid == (uint32_t)look->pid && !tasks_before_is(&key) &&
		    !map_put(known, key.at, 1))
			return false;
	}
	return true;
}

/* Since when it may have waited, ns: it may have run as the probes were set. */
static uint64_t waits_since(const struct look *look, const struct lane_key *key)
{
	uint64_t since = look->facts->image.since, ran;

	return !bpf_map_lookup_elem(look->of->ran, key, &ran) && ran > since ? ran : since;
}

static void put(struct look *look, struct resident *memory, struct found *found)
{
	const struct lane_key key = {found->waiting.at, (uint32_t)look->pid, UNWIND_ANY_EXEC};
	struct tasks_named named = {.pid = (uint32_t)look->pid};
	/* as at_step() of tasks.bpf.c has it, of a process older than that */
	const struct lane_turn turn = {
		.number = __atomic_add_fetch(&look->of->host->probes->bss->tasks_last, 1,
					     __ATOMIC_RELAXED),
		.out = waits_since(look, &key),
		.flags = LANE_BEFORE,
		.reason = found->waiting.for_task ? TASKS_FOR_TASK : TASKS_FOR_FUTURE,
	};
	const struct tasks_state state = {
		.turn = turn,
		.waits_for = found->waiting.waits_for,
		.name = found->waiting.name,
		.image = look->file,
	};
	int err = bpf_map_update_elem(look->of->states, &key, &state, BPF_NOEXIST);

	look->before->refused += err && err != -EEXIST;
	if (err)
		return;
	found->number = named.number = turn.number;
	python_waiting_name(memory, look->facts, &found->waiting, &named);
	task_names_add(look->of->names, &named);
}

/* One that the kernel's side knows, or that is not as it was any more. */
static void drop(const struct look *look, const struct found *found)
{
	const struct lane_key key = {found->waiting.at, (uint32_t)look->pid, UNWIND_ANY_EXEC};

	/* else it has gone on since, and was taken over */
	if (!bpf_map_delete_elem(look->of->states, &key))
		task_names_remove(look->of->names, found->number);
}

static void compare(struct look *look)
{
	struct map known = {0}, then = {0};
	struct python_waiting now;
	struct resident memory;
	bool is_listed;

	if (!look->found.count)
		return;
	/* of a process that has ended there is nothing to be told */
	if (resident_open(&memory, look->pid)) {
		look->before->unread += !kill(look->pid, 0);
		return;
	}
	is_listed = list_known(look, &known);
	vec_foreach (&look->found, found)
		if (!is_listed)
			look->before->refused++;
		else if (!map_get(&known, found->waiting.at))
			put(look, &memory, found);
	is_listed = list_known(look, &then);
	vec_foreach (&look->found, found)
		if (found->number &&
		    (!is_listed || map_get(&then, found->waiting.at) ||
		     !python_waiting_read(&memory, look->facts, found->waiting.at, &now) ||
		     now.waits_for != found->waiting.waits_for))
			drop(look, found);
	map_free(&known);
	map_free(&then);
	resident_close(&memory);
}

/* Whether a process may have tasks that no probe has met. */
static bool is_older(const struct look *look)
{
	const struct source_host *host = look->of->host;
	const struct process *process = samples_process(host->samples, look->pid);
	uint64_t since = look->facts->image.since;

	return process && !process->end && process->start < since && process->executed < since &&
	       filter_is_target(host->probes, host->selection, look->pid);
}

/* Whether it may have just begun when the probes were set, and have had no pools yet. */
static bool is_young(const struct look *look)
{
	const struct process *process = samples_process(look->of->host->samples, look->pid);
	uint64_t began = process->executed > process->start ? process->executed : process->start;

	return look->facts->image.since < began + BEGINNING_NS;
}

static void look_at_file(void *context, pid_t pid, uint32_t file)
{
	struct look *look = context;
	struct tasks_before *before = look->before;
	const uint64_t *known = map_get(&before->looked, (uint64_t)pid);
	uint64_t first = known ? *known : 0;
	int err;

	if (look->pid || (first && (first == DONE || look->time < first + AGAIN)))
		return;
	look->pid = pid;
	look->file = file;
	look->facts = probed_images_facts(look->of->images, file);
	if (!look->facts || !is_older(look)) {
		/* without memory for it, it is asked again */
		(void)!map_put(&before->looked, (uint64_t)pid, DONE);
		return;
	}
	if (!map_put(&before->looked, (uint64_t)pid, first ? DONE : look->time))
		return;
	err = python_waiting_find(pid, look->facts, add_waiting, look);
	before->unpooled += err == -ENODATA && is_young(look) == (first != 0);
	if (!first) {
		before->large += err == -EFBIG;
		before->unread += err && err != -EFBIG && err != -ENODATA && err != -ESRCH;
	}
	compare(look);
}

/* Looks at one process, if one is due; time: ns. */
static void tasks_before_look(struct tasks_before *before, const struct tasks_before_of *of,
			      uint64_t time)
{
	struct look look = {.of = of, .before = before, .time = time};

	probed_images_each(of->images, look_at_file, &look);
	vec_free(&look.found);
}

static bool waits_still(const struct tasks_before_of *of, const struct lane_key *key,
			const struct tasks_state *state)
{
	const struct python_tasks *facts = probed_images_facts(of->images, state->image);
	struct python_waiting now;
	struct resident memory;
	bool waits;

	if (!facts || resident_open(&memory, (pid_t)key->pid))
		return false;
	waits = python_waiting_read(&memory, facts, key->at, &now) &&
		now.waits_for == state->waits_for;
	resident_close(&memory);
	return waits;
}

/*
 * Makes sure that all that were found wait as they did. One that does not is marked as missed; if
 * it was the last time, too, it is removed.
 */
static void tasks_before_check(const struct tasks_before_of *of)
{
	struct lane_key key, next;
	struct tasks_state state;
	bool more = !bpf_map_get_next_key(of->states, NULL, &next), waits;

	for (uint32_t i = 0; more && i < 2 * TASKS_MAX; i++) {
		key = next;
		more = !bpf_map_get_next_key(of->states, &key, &next);
		if (!tasks_before_is(&key) || bpf_map_lookup_elem(of->states, &key, &state))
			continue;
		waits = waits_still(of, &key, &state);
		/* the collector may have looked at it just now */
		if (!waits && state.missed) {
			if (!bpf_map_delete_elem(of->states, &key))
				task_names_remove(of->names, state.turn.number);
		} else if (waits == state.missed) {
			state.missed = !waits;
			bpf_map_update_elem(of->states, &key, &state, BPF_EXIST);
		}
	}
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

static void report_losses(const struct source *source)
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

	loss_counts_emit_all(source->host->film, source->event, losses);
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
	.size = sizeof(struct tasks),
	.files = &files,
	.name = name_of,
	.state_size = sizeof(struct tasks_state),
	.most = TASKS_MAX,
	.reasons = reasons,
	.reason_count = TASKS_REASONS,
	.words =
		{
			.cannot = "cannot record what tasks of asyncio do",
			.holes =
				"time of a task not known: its records were lost, or it ran as the "
				"recording began",
			.too_many = "task not followed: too many of them, or no memory",
			.refused = "tasks of a program not followed",
		},
	.over = over,
	.look = look,
	.is_due = is_due,
	.ended = ended,
	.report_losses = report_losses,
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

static const struct source_record records[] = {
	SOURCE_RECORD(TASKS_TURN, lane_record, lane_source_handle),
	SOURCE_RECORD(TASKS_NAMED, tasks_named, handle_named),
	{0},
};

static const struct source_event events[] = {{EVENT_TASK_LANES, "uprobes"}, {0}};

static const char *const libraries[] = {"_asyncio.", "libpython", NULL};

const struct source_type source_tasks = {
	.events = events,
	.records = records,
	.images.libraries = libraries,
	.needs = needs,
	.prepare = prepare,
	.attach = attach,
	.images.missed = image_missed,
	LANE_SOURCE,
};
