// SPDX-License-Identifier: Apache-2.0
/*
 * A task that is found waiting may have been made, or have run, since the probes were set; then the
 * kernel's side knows it by its process's own exec_id. So what was found is compared with that map
 * afterwards, and once more when it is in there.
 */
#include "sources/lanes/tasks_before.h"

#include <errno.h>
#include <signal.h>

#include <bpf/bpf.h>

#include "base/map.h"
#include "base/vec.h"
#include "attach/filter.h"
#include "bpf/probes.skel.h"
#include "runtime/python/waiting.h"

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

void tasks_before_ended(struct tasks_before *before, pid_t pid)
{
	map_remove(&before->looked, (uint64_t)pid);
}

void tasks_before_free(struct tasks_before *before)
{
	map_free(&before->looked);
}

static void take(void *context, const struct python_waiting *waiting)
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
	task_names_take(look->of->names, &named);
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

static void look_at(void *context, pid_t pid, uint32_t file)
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
	err = python_waiting_find(pid, look->facts, take, look);
	before->unpooled += err == -ENODATA && is_young(look) == (first != 0);
	if (!first) {
		before->large += err == -EFBIG;
		before->unread += err && err != -EFBIG && err != -ENODATA && err != -ESRCH;
	}
	compare(look);
}

void tasks_before_look(struct tasks_before *before, const struct tasks_before_of *of, uint64_t time)
{
	struct look look = {.of = of, .before = before, .time = time};

	probed_images_each(of->images, look_at, &look);
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

void tasks_before_check(const struct tasks_before_of *of)
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
