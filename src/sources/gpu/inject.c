// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/inject.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "process/procfs.h"
#include "process/remote.h"
#include "sources/gpu/driver_slots.h"
#include "sources/loss_counts.h"
#include "sources/memory/map.h"

/* How long a library goes on that does not hear of its recorder. */
#define LEASE_NS 10000000000u

/* How long the recorder waits in the end, and how often it looks. */
#define END_NS	10000000000u
#define LOOK_NS 5000000

/* The most processes, and how often one is tried that cannot be stopped where it is. */
#define PROCESSES_MAX 256
#define TRIES	      30

_Static_assert(sizeof(struct gpu_injection) >= sizeof(struct memory_state),
	       "as mem_map_library() begins it");

enum state {
	WAITING, /* for a driver library */
	DUE,
	IN,
	HAD, /* the driver has loaded the library as the process started, or a fork copied it */
	FAILED,
	ENDED,
};

struct process {
	pid_t pid;
	enum state state;
	unsigned int tries;
	uint64_t bias; /* of the library; 0: not mapped yet */
	char why[512]; /* FAILED, WAITING */
	bool is_ending;
};

struct gpu_inject {
	const struct mem_library *library;
	const struct selection *selection;
	struct gpu_inject_settings settings;
	uint64_t born;
	vec(struct process) processes;
	uint64_t refused, left, without_instructions;
	bool is_over; /* gpu_inject_retract() was called */
};

static struct process *find(const struct gpu_inject *inject, pid_t pid)
{
	vec_foreach (&inject->processes, process)
		if (process->pid == pid)
			return process;
	return NULL;
}

static void add(struct gpu_inject *inject, pid_t pid)
{
	struct process *process = find(inject, pid);

	if (process && process->state == WAITING)
		process->state = DUE;
	else if (!process &&
		 (inject->processes.count == PROCESSES_MAX ||
		  !vec_push(&inject->processes,
			    (struct process){.pid = pid, .state = DUE, .tries = TRIES})))
		inject->refused++;
}

int gpu_inject_new(const struct mem_library *library, const struct selection *selection,
		   const struct gpu_inject_settings *settings, struct gpu_inject **result)
{
	struct gpu_inject *inject = calloc(1, sizeof(*inject));
	struct procfs_stat stat = {0};

	if (!inject)
		return -ENOMEM;
	procfs_read_stat(getpid(), "stat", &stat);
	inject->library = library;
	inject->selection = selection;
	inject->settings = *settings;
	inject->born = stat.start_ticks;
	for (size_t i = 0; i < selection->pid_count; i++)
		add(inject, selection->pids[i]);
	*result = inject;
	return 0;
}

void gpu_inject_free(struct gpu_inject *inject)
{
	if (!inject)
		return;
	vec_free(&inject->processes);
	free(inject);
}

void gpu_inject_image(struct gpu_inject *inject, pid_t pid, const struct image *image)
{
	if (image->kind == IMAGE_FILE && gpu_is_driver(image->path) &&
	    selection_means(inject->selection, pid))
		add(inject, pid);
}

void gpu_inject_gone(struct gpu_inject *inject, pid_t pid)
{
	struct process *process = find(inject, pid);

	if (!process)
		return;
	*process = *vec_last(&inject->processes);
	inject->processes.count--;
}

/* -- the library's state ----------------------------------------------------------------------- */

static uint64_t state_at(const struct gpu_inject *inject, uint64_t bias)
{
	return bias + inject->library->entries[MEMORY_ENTRY_STATE];
}

static int read_state(const struct gpu_inject *inject, const struct process *process,
		      struct gpu_injection *state)
{
	return remote_read(process->pid, state, sizeof(*state), state_at(inject, process->bias));
}

/* member: of struct gpu_injection, as a distance. */
static int write_state(const struct gpu_inject *inject, const struct process *process,
		       size_t member, uint64_t value)
{
	return remote_write(process->pid, &value, sizeof(value),
			    state_at(inject, process->bias) + member);
}

static bool is_in_use(uint64_t phase)
{
	return phase == GPU_ARMED || phase == GPU_LOADING || phase == GPU_RUNNING;
}

static bool is_own(const struct gpu_inject *inject, const struct gpu_injection *state)
{
	return state->owner == (uint64_t)getpid() && state->owner_born == inject->born;
}

static bool owner_lives(const struct gpu_injection *state)
{
	struct procfs_stat stat;

	return procfs_read_stat((pid_t)state->owner, "stat", &stat) &&
	       stat.start_ticks == state->owner_born;
}

struct look {
	const struct gpu_inject *inject;
	struct process *process;
	struct fail *why;
	int err;
};

/* A library that is mapped there, by the driver or by a recorder. */
static bool look_at(void *context, uint64_t bias)
{
	struct look *look = context;
	struct process *process = look->process;
	struct gpu_injection state;

	if (remote_read(process->pid, &state, sizeof(state), state_at(look->inject, bias)))
		return true;
	/* in use by this recorder: it was forked from a process that has it, and has a copy */
	if (state.phase == GPU_STARTED || (is_in_use(state.phase) && is_own(look->inject, &state)))
		look->err = -EEXIST;
	else if (!state.is_whole)
		return true; /* its recorder was killed as it mapped it */
	else if (is_in_use(state.phase) && owner_lives(&state))
		look->err = fail(look->why, -EBUSY, NULL,
				 "process %d is recorded by another stackcam", (int)process->pid);
	process->bias = bias;
	/* what was a recorder's that is gone ends first */
	if (!look->err && (state.phase == GPU_LOADING || state.phase == GPU_RUNNING)) {
		write_state(look->inject, process, offsetof(struct gpu_injection, is_stopped), 1);
		look->err =
			fail(look->why, -EAGAIN, NULL,
			     "process %d has not ended the recording before", (int)process->pid);
	}
	return false;
}

/* -- in ---------------------------------------------------------------------------------------- */

struct operation {
	const struct gpu_inject *inject;
	struct process *process;
	struct gpu_driver_slots words;
	struct fail *why;
};

static int map_library(struct operation *operation, struct remote *remote)
{
	const struct gpu_inject *inject = operation->inject;
	struct process *process = operation->process;
	const struct mem_functions functions = {gpu_driver_slots_function, &operation->words};
	int err;

	if (process->bias)
		return 0;
	err = mem_map_library(remote, inject->library, &functions, &process->bias);
	return err ? err
		   : write_state(inject, process, offsetof(struct gpu_injection, is_whole), 1);
}

static int write_settings(const struct operation *operation)
{
	const struct gpu_inject *inject = operation->inject;
	const struct gpu_injection state = {
		.until = clock_ns() + LEASE_NS,
		.owner = (uint64_t)getpid(),
		.owner_born = inject->born,
		.is_whole = 1,
		.has_lanes = inject->settings.has_lanes,
		.budget = inject->settings.budget,
	};
	const size_t from = offsetof(struct gpu_injection, until);

	return remote_write(operation->process->pid, &state.until, sizeof(state) - from,
			    state_at(inject, operation->process->bias) + from);
}

/* Words that are to lead to stubs: all that do not now. */
static uint32_t choose_words(struct operation *operation, struct memory_slot *chosen)
{
	const uint64_t stubs =
		operation->process->bias + operation->inject->library->entries[GPU_ENTRY_STUBS];
	pid_t pid = operation->process->pid;
	uint32_t count = 0;

	for (uint32_t i = 0; i < operation->words.count; i++) {
		struct memory_slot *word = &chosen[count];

		*word = operation->words.words[i];
		if (remote_read(pid, &word->from, sizeof(word->from), word->address) ||
		    !word->from || word->from - stubs < GPU_STUBS * GPU_STUB_BYTES)
			continue;
		word->to = stubs + (uint64_t)GPU_STUB_BYTES * count++;
	}
	return count;
}

static int arm(struct operation *operation, struct remote *remote)
{
	const struct gpu_inject *inject = operation->inject;
	const struct process *process = operation->process;
	struct memory_slot chosen[GPU_STUBS];
	struct gpu_injection state;
	uint32_t count;
	int err = read_state(inject, process, &state);

	/* a recorder was killed, or this is a child of a process that it had prepared */
	if (!err && state.phase == GPU_ARMED)
		err = remote_function(
			remote, process->bias + inject->library->entries[GPU_ENTRY_DISARM], 0, 0);
	err = err ? err : write_settings(operation);
	if (err)
		return err;
	count = choose_words(operation, chosen);
	if (!count)
		return -ENOTSUP;
	err = remote_write(process->pid, chosen, count * sizeof(chosen[0]), remote->data_at);
	return err ? err
		   : remote_function(remote,
				     process->bias + inject->library->entries[GPU_ENTRY_ARM],
				     remote->data_at, count);
}

static int run_arm(void *context)
{
	struct operation *operation = context;
	pid_t pid = operation->process->pid;
	struct remote remote;
	int err = gpu_driver_slots_read(&operation->words, operation->inject->settings.far, pid,
					operation->why);

	err = err ? err : remote_begin(&remote, pid, operation->why);
	if (err)
		return err;
	err = map_library(operation, &remote);
	if (err)
		fail_errno(operation->why, err, NULL, "process %d cannot map the library",
			   (int)pid);
	else if ((err = arm(operation, &remote)))
		fail_errno(operation->why, err, NULL, "cannot change the calls of process %d",
			   (int)pid);
	remote_end(&remote);
	return err;
}

static int put(struct gpu_inject *inject, struct process *process, struct fail *why)
{
	struct operation operation = {.inject = inject, .process = process, .why = why};
	struct look look = {.inject = inject, .process = process, .why = why};
	int err;

	process->bias = 0;
	err = mem_map_each(process->pid, inject->library, look_at, &look, why);
	err = err ? err : look.err;
	return err ? err : remote_attempt(run_arm, &operation, why);
}

static void put_due(struct gpu_inject *inject, struct process *process)
{
	struct fail why = {0};
	int err = put(inject, process, &why);

	if (err == -EAGAIN && --process->tries)
		return;
	process->tries = TRIES;
	process->state = !err ? IN : err == -EEXIST ? HAD : err == -ENOENT ? WAITING : FAILED;
	inject->without_instructions += !err && inject->settings.has_instructions;
	snprintf(process->why, sizeof(process->why), "%s", why.what);
}

/* A process that has not heard of the recorder for a while has ended the recording by itself. */
static void renew(struct gpu_inject *inject, struct process *process)
{
	struct gpu_injection state;

	write_state(inject, process, offsetof(struct gpu_injection, until), clock_ns() + LEASE_NS);
	if (!read_state(inject, process, &state) && state.phase == GPU_IDLE)
		process->state = DUE;
}

void gpu_inject_tick(struct gpu_inject *inject)
{
	if (inject->is_over)
		return;
	vec_foreach (&inject->processes, process) {
		if (process->state == IN)
			renew(inject, process);
		if (process->state == DUE)
			put_due(inject, process);
	}
}

/* -- out --------------------------------------------------------------------------------------- */

static int run_disarm(void *context)
{
	const struct operation *operation = context;
	const struct process *process = operation->process;
	struct remote remote;
	int err = remote_begin(&remote, process->pid, NULL);

	if (err)
		return err;
	err = remote_function(&remote,
			      process->bias + operation->inject->library->entries[GPU_ENTRY_DISARM],
			      0, 0);
	remote_end(&remote);
	return err;
}

/* Returns whether it is still to end. */
static bool begin_end(struct gpu_inject *inject, struct process *process)
{
	struct operation operation = {.inject = inject, .process = process};
	struct gpu_injection state;

	if (read_state(inject, process, &state) || !is_own(inject, &state))
		return false;
	if (state.phase == GPU_ARMED) {
		remote_attempt(run_disarm, &operation, NULL);
		if (read_state(inject, process, &state))
			return false;
	}
	if (state.phase == GPU_REFUSED)
		write_state(inject, process, offsetof(struct gpu_injection, phase), GPU_IDLE);
	if (!is_in_use(state.phase))
		return false;
	write_state(inject, process, offsetof(struct gpu_injection, is_stopped), 1);
	return state.phase != GPU_ARMED;
}

static bool has_ended(const struct gpu_inject *inject, const struct process *process)
{
	struct gpu_injection state;

	return read_state(inject, process, &state) ||
	       (state.phase != GPU_LOADING && state.phase != GPU_RUNNING);
}

void gpu_inject_retract(struct gpu_inject *inject)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t until;

	inject->is_over = true;
	vec_foreach (&inject->processes, process) {
		process->is_ending = process->state == IN && begin_end(inject, process);
		process->state = process->state == IN ? ENDED : process->state;
	}
	until = clock_ns() + END_NS;
	vec_foreach (&inject->processes, process) {
		while (process->is_ending && !has_ended(inject, process) && clock_ns() < until)
			nanosleep(&pause, NULL);
		inject->left += process->is_ending && !has_ended(inject, process);
	}
}

void gpu_inject_emit_losses(const struct gpu_inject *inject, struct film_writer *film,
			    uint32_t event, bool is_last)
{
	const struct loss_count losses[] = {
		{"kernels of a process not seen: too many processes", inject->refused},
		{"last kernels of a process not seen: it has not ended the recording in time",
		 inject->left},
	};
	char words[640];

	loss_counts_emit_all(film, event, losses);
	vec_foreach (&inject->processes, process) {
		if (process->state != FAILED && (!is_last || process->state != WAITING))
			continue;
		snprintf(words, sizeof(words),
			 "kernels of a process not seen: the library was not put into it: %s",
			 process->why);
		film_loss(film, event, words, 1);
	}
}

uint64_t gpu_inject_without_instructions(const struct gpu_inject *inject)
{
	return inject->without_instructions;
}
