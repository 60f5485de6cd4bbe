// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"
#include "sources/memory/map.h"
#include "sources/memory/slots.h"
#include "process/procfs.h"
#include "process/remote.h"

/* Samples that a process may take until the next tick, or the end of the recorder. */
#define GRANT 1000000u

/* The most processes. */
#define PROCESSES_MAX 256

/* Words that are changed in one call of slots_change(). */
#define BATCH (REMOTE_DATA / sizeof(struct memory_slot))

struct injected {
	pid_t pid;
	uint64_t bias; /* of the library */
	uint64_t hooks[MEMORY_FUNCTIONS], next[MEMORY_FUNCTIONS];
	vec(struct memory_slot) done; /* words as they were, and as they are */
	bool is_due;		      /* it has another image */
	bool is_started;
};

struct mem_inject {
	const struct mem_library *library;
	struct far_files *far;
	uint64_t interval, born;
	vec(struct injected) processes;
	uint64_t own_new, left, other, refused, beyond, foreign;
	uint64_t stopped; /* ns that first threads have stood still, all together */
};

int mem_inject_new(const struct mem_library *library, struct far_files *far, uint64_t interval,
		   struct mem_inject **result)
{
	struct mem_inject *inject = calloc(1, sizeof(*inject));
	struct procfs_stat stat = {0};

	if (!inject)
		return -ENOMEM;
	procfs_read_stat(getpid(), "stat", &stat);
	inject->library = library;
	inject->far = far;
	inject->interval = interval;
	inject->born = stat.start_ticks;
	*result = inject;
	return 0;
}

void mem_inject_free(struct mem_inject *inject)
{
	if (!inject)
		return;
	vec_foreach (&inject->processes, process)
		vec_free(&process->done);
	vec_free(&inject->processes);
	free(inject);
}

static struct injected *find(const struct mem_inject *inject, pid_t pid)
{
	vec_foreach (&inject->processes, process)
		if (process->pid == pid)
			return process;
	return NULL;
}

/* -- the thread that does it ------------------------------------------------------------------- */

/* What is done in one stop of a process. */
struct operation {
	struct mem_inject *inject;
	struct injected *process;
	struct mem_slots slots;
	vec(struct memory_slot) wanted;
	struct fail *why;
	int (*run)(struct operation *operation);
};

static int carry_out_once(void *context)
{
	struct operation *operation = context;
	const struct mem_library *library = operation->inject->library;
	int err = mem_slots_read(&operation->slots, operation->inject->far, operation->process->pid,
				 library->device, library->inode);

	err = err ? fail_errno(operation->why, err, NULL, "cannot read process %d",
			       (int)operation->process->pid)
		  : operation->run(operation);
	mem_slots_free(&operation->slots);
	vec_free(&operation->wanted);
	return err;
}

static int carry_out(struct operation *operation)
{
	return remote_attempt(carry_out_once, operation, operation->why);
}

/* -- which words ------------------------------------------------------------------------------- */

/*
 * A free() must be seen before the first sample is taken, and after the last one. CPython gives
 * those of its own to free(), too.
 */
static bool releases_memory(uint32_t function)
{
	return function >= 7 && function < MEMORY_C_FUNCTIONS;
}

static uint64_t was_before(const struct injected *process, const struct mem_slot *slot)
{
	vec_foreach (&process->done, done)
		if (done->address == slot->address)
			return done->from;
	return process->next[slot->function];
}

/*
 * A word of CPython's has another function than the library calls behind its own. That one may have
 * kept the library's as what it calls itself, as tracemalloc does, and they would call each other
 * for ever.
 */
static bool is_foreign(const struct injected *process, const struct mem_slot *slot)
{
	uint64_t next = process->next[slot->function];

	return slot->function >= MEMORY_C_FUNCTIONS && next && next != slot->value;
}

/* What becomes of a word: in use, or as it was. False: it stays. */
static bool change_of(const struct operation *operation, const struct mem_slot_image *provider,
		      const struct mem_slot *slot, bool is_in, struct memory_slot *change)
{
	const struct injected *process = operation->process;
	enum mem_slot_state state =
		mem_slots_state(&operation->slots, slot, provider, process->hooks);

	*change = (struct memory_slot){
		.address = slot->address, .from = slot->value, .protection = slot->protection};
	if (is_in && (state == MEM_SLOT_BOUND || state == MEM_SLOT_UNBOUND) &&
	    !is_foreign(process, slot))
		change->to = process->hooks[slot->function];
	else if (!is_in && state == MEM_SLOT_HOOKED)
		change->to = was_before(process, slot);
	return change->to;
}

static int want(struct operation *operation, const struct mem_slot_image *provider, bool is_in)
{
	for (int second = 0; second < 2; second++)
		vec_foreach (&operation->slots.slots, slot) {
			struct memory_slot change;

			if (slot->function >= MEMORY_FUNCTIONS ||
			    releases_memory(slot->function) == (is_in ? second : !second) ||
			    !change_of(operation, provider, slot, is_in, &change))
				continue;
			if (!vec_push(&operation->wanted, change))
				return -ENOMEM;
		}
	return 0;
}

static int change_words(struct operation *operation, struct remote *remote)
{
	uint64_t function =
		operation->process->bias + operation->inject->library->entries[MEMORY_ENTRY_HOOK];

	for (size_t at = 0; at < operation->wanted.count;) {
		size_t left = operation->wanted.count - at, count = left < BATCH ? left : BATCH;
		struct memory_slot *words = operation->wanted.at + at;
		size_t bytes = count * sizeof(*words);
		int err = remote_write(remote->pid, words, bytes, remote->data_at);

		err = err ? err : remote_function(remote, function, remote->data_at, count);
		err = err ? err : remote_read(remote->pid, words, bytes, remote->data_at);
		if (err)
			return err;
		at += count;
	}
	return 0;
}

/* -- in ---------------------------------------------------------------------------------------- */

static void addresses_of(struct injected *process, const struct mem_library *library)
{
	for (int i = 0; i < MEMORY_FUNCTIONS; i++)
		process->hooks[i] =
			process->bias + library->entries[MEMORY_ENTRY_FUNCTIONS + 2 * i];
}

static uint64_t next_at(const struct operation *operation, int function)
{
	return operation->process->bias +
	       operation->inject->library->entries[MEMORY_ENTRY_FUNCTIONS + 2 * function + 1];
}

static uint64_t state_at(const struct mem_inject *inject, const struct injected *process)
{
	return process->bias + inject->library->entries[MEMORY_ENTRY_STATE];
}

static int read_next(struct operation *operation)
{
	int err = 0;

	for (int i = 0; i < MEMORY_FUNCTIONS && !err; i++)
		err = remote_read(operation->process->pid, &operation->process->next[i],
				  sizeof(uint64_t), next_at(operation, i));
	return err;
}

static int write_one(struct operation *operation, int function, uint64_t address)
{
	operation->process->next[function] = address;
	return remote_write(operation->process->pid, &address, sizeof(address),
			    next_at(operation, function));
}

/* The functions behind; what the allocator lacks is not called. */
static int write_next(struct operation *operation, const struct mem_slot_image *provider)
{
	int err = 0;

	for (int i = 0; i < MEMORY_C_FUNCTIONS && !err; i++)
		if (provider->functions[i])
			err = write_one(operation, i, provider->functions[i]);
	/* CPython's are those that its words have now */
	vec_foreach (&operation->slots.slots, slot) {
		if (err || slot->function < MEMORY_C_FUNCTIONS ||
		    slot->function >= MEMORY_FUNCTIONS ||
		    mem_slots_state(&operation->slots, slot, provider, operation->process->hooks) !=
			    MEM_SLOT_BOUND)
			continue;
		if (is_foreign(operation->process, slot))
			operation->inject->foreign++;
		else
			err = write_one(operation, (int)slot->function, slot->value);
	}
	return err;
}

/*
 * The library is this recorder's: one that is killed from here on leaves a library that the next
 * one does not take for one that the program was started with.
 */
static int claim(struct operation *operation)
{
	const struct mem_inject *inject = operation->inject;
	uint64_t at = state_at(inject, operation->process);
	struct memory_state state;
	int err = remote_read(operation->process->pid, &state, sizeof(state), at);

	state.granted = 0;
	state.owner = (uint64_t)getpid();
	state.owner_born = inject->born;
	return err ? err : remote_write(operation->process->pid, &state, sizeof(state), at);
}

static int start(struct operation *operation, struct remote *remote)
{
	const struct mem_inject *inject = operation->inject;
	struct injected *process = operation->process;
	const struct memory_state state = {.granted = GRANT,
					   .is_ready = 2,
					   .owner = (uint64_t)getpid(),
					   .owner_born = inject->born};
	int err = remote_function(remote, process->bias + inject->library->entries[0],
				  inject->interval, 0);

	err = err ? err
		  : remote_write(process->pid, &state, sizeof(state), state_at(inject, process));
	process->is_started |= !err;
	return err;
}

static int put_words(struct operation *operation, const struct mem_slot_image *provider,
		     struct remote *remote)
{
	struct injected *process = operation->process;
	int err = want(operation, provider, true);

	err = err || process->is_started ? err : claim(operation);
	err = err ? err : write_next(operation, provider);
	err = err || process->is_started ? err : start(operation, remote);
	err = err ? err : change_words(operation, remote);
	if (err)
		return err;
	vec_foreach (&operation->wanted, word)
		if (word->result || !vec_push(&process->done, *word))
			operation->inject->left++;
	return 0;
}

/* As this recorder, or one that was killed, has left them. */
static bool has_hooked(const struct operation *operation, const struct mem_slot_image *provider)
{
	vec_foreach (&operation->slots.slots, slot)
		if (mem_slots_state(&operation->slots, slot, provider, operation->process->hooks) ==
		    MEM_SLOT_HOOKED)
			return true;
	return false;
}

/* What is not seen though it is of the allocator. */
static void count_others(struct operation *operation, const struct mem_slot_image *provider)
{
	vec_foreach (&operation->slots.slots, slot) {
		if (slot->function == MEM_SLOT_NEW && slot->value &&
		    slot->value == provider->functions[MEM_SLOT_NEW]) {
			operation->inject->own_new++;
			return;
		}
	}
}

static int map_if_needed(struct operation *operation, struct remote *remote)
{
	const struct mem_library *library = operation->inject->library;
	struct injected *process = operation->process;
	int err = process->bias ? 0 : mem_map_library(remote, library, NULL, &process->bias);

	if (!err)
		addresses_of(process, library);
	return err;
}

static int run_put(struct operation *operation)
{
	const uint64_t none[MEMORY_FUNCTIONS] = {0};
	struct injected *process = operation->process;
	const struct mem_slot_image *provider;
	struct remote remote;
	int err = 0;

	if (process->bias) {
		addresses_of(process, operation->inject->library);
		err = read_next(operation);
	}
	provider =
		err ? NULL
		    : mem_slots_provider(&operation->slots, process->bias ? process->hooks : none,
					 process->bias ? process->next : none);
	if (!provider)
		return fail(operation->why, -ENOTSUP, NULL,
			    "process %d is linked statically, or calls no malloc() of a library",
			    (int)process->pid);
	err = remote_begin(&remote, process->pid, operation->why);
	if (err)
		return err;
	err = map_if_needed(operation, &remote);
	if (err)
		fail_errno(operation->why, err, NULL, "process %d cannot map the library",
			   (int)process->pid);
	else if ((err = put_words(operation, provider, &remote)))
		fail_errno(operation->why, err, NULL, "cannot change the calls of process %d",
			   (int)process->pid);
	operation->inject->stopped += remote_end(&remote);
	if (!err && !operation->wanted.count && !has_hooked(operation, provider))
		err = fail(operation->why, -ENOTSUP, NULL,
			   "process %d calls its allocator in no way that could be changed",
			   (int)process->pid);
	if (!err)
		count_others(operation, provider);
	return err;
}

/* -- out --------------------------------------------------------------------------------------- */

static int run_retract(struct operation *operation)
{
	struct injected *process = operation->process;
	const struct mem_slot_image *provider =
		mem_slots_provider(&operation->slots, process->hooks, process->next);
	const uint64_t nothing = 0;
	struct remote remote;
	int err = provider ? want(operation, provider, false) : -ENOENT;

	if (err)
		return err;
	if (operation->wanted.count) {
		err = remote_begin(&remote, process->pid, operation->why);
		if (err)
			return err;
		err = change_words(operation, &remote);
		operation->inject->stopped += remote_end(&remote);
	}
	vec_foreach (&operation->wanted, word)
		operation->inject->left += !err && word->result;
	remote_write(process->pid, &nothing, sizeof(nothing), state_at(operation->inject, process));
	return err;
}

static int operate(struct mem_inject *inject, struct injected *process,
		   int (*run)(struct operation *operation), struct fail *why)
{
	struct operation operation = {.inject = inject, .process = process, .why = why, .run = run};

	return carry_out(&operation);
}

static void forget(struct mem_inject *inject, struct injected *process)
{
	vec_free(&process->done);
	*process = *vec_last(&inject->processes);
	inject->processes.count--;
}

/* -- the verbs --------------------------------------------------------------------------------- */

int mem_inject_put(struct mem_inject *inject, pid_t pid, struct fail *why)
{
	struct injected new = {.pid = pid};
	int err;

	if (inject->processes.count == PROCESSES_MAX ||
	    !vec_reserve(&inject->processes, inject->processes.count + 1))
		return fail(why, -ENOSPC, NULL, "too many processes");
	err = mem_map_find(pid, inject->library, inject->born, &new.bias, why);
	if (err)
		return err;
	err = operate(inject, &new, run_put, why);
	if (err)
		vec_free(&new.done);
	else
		(void)vec_push(&inject->processes, new);
	return err;
}

bool mem_inject_is_there(const struct mem_inject *inject, pid_t pid)
{
	uint64_t bias;

	return mem_map_find(pid, inject->library, inject->born, &bias, NULL) || bias;
}

bool mem_inject_has(const struct mem_inject *inject, pid_t pid)
{
	return find(inject, pid);
}

void mem_inject_child(struct mem_inject *inject, pid_t pid)
{
	struct injected new = {.pid = pid, .is_started = true};

	if (find(inject, pid) || !inject->processes.count)
		return;
	if (mem_map_find(pid, inject->library, inject->born, &new.bias, NULL) || !new.bias)
		return;
	addresses_of(&new, inject->library);
	/* its words are as those of its parent, whose addresses are the same */
	memcpy(new.next, inject->processes.at[0].next, sizeof(new.next));
	vec_foreach (&inject->processes, process)
		if (process->bias == new.bias)
			memcpy(new.next, process->next, sizeof(new.next));
	if (inject->processes.count == PROCESSES_MAX || !vec_push(&inject->processes, new))
		inject->refused++;
}

void mem_inject_image(struct mem_inject *inject, pid_t pid)
{
	struct injected *process = find(inject, pid);

	if (process)
		process->is_due = true;
}

void mem_inject_gone(struct mem_inject *inject, pid_t pid)
{
	struct injected *process = find(inject, pid);

	if (process)
		forget(inject, process);
}

static void grant(struct mem_inject *inject, struct injected *process)
{
	uint64_t at = state_at(inject, process);
	struct memory_state state;

	if (remote_read(process->pid, &state, sizeof(state), at))
		return;
	if (state.owner != (uint64_t)getpid())
		return;
	if (state.taken > state.granted)
		inject->beyond += state.taken - state.granted;
	state.granted = state.taken + GRANT;
	remote_write(process->pid, &state.granted, sizeof(state.granted), at);
}

void mem_inject_tick(struct mem_inject *inject)
{
	vec_foreach (&inject->processes, process) {
		grant(inject, process);
		if (!process->is_due)
			continue;
		process->is_due = false;
		if (operate(inject, process, run_put, NULL))
			inject->other++;
	}
}

uint64_t mem_inject_beyond(const struct mem_inject *inject)
{
	return inject->beyond;
}

uint64_t mem_inject_stopped(const struct mem_inject *inject)
{
	return inject->stopped;
}

void mem_inject_retract(struct mem_inject *inject)
{
	while (inject->processes.count) {
		struct injected *process = vec_last(&inject->processes);
		int err = operate(inject, process, run_retract, NULL);

		inject->left += err && err != -ESRCH && !kill(process->pid, 0);
		forget(inject, process);
	}
}

void mem_inject_report(const struct mem_inject *inject, struct film_writer *film, uint32_t event)
{
	const struct {
		const char *words;
		uint64_t count;
	} losses[] = {
		{"allocations by operator new of a process not seen: its allocator has its own",
		 inject->own_new},
		{"allocations of a library not seen: it was loaded meanwhile, and its process "
		 "could not be stopped",
		 inject->other},
		{"allocations of a process not seen: too many of them", inject->refused},
		{"calls of an allocator that could not be changed", inject->left},
		{"small objects of Python not seen: another tool has its functions there",
		 inject->foreign},
		{"allocations not sampled: more samples than the recorder grants in a second",
		 inject->beyond},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			film_loss(film, event, losses[i].words, losses[i].count);
}
