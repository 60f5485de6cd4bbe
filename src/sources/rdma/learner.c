// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/learner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "arch/names.h"
#include "base/file.h"

#define MILLISECOND_NS 1000000ull

/*
 * How many polls are watched that find nothing, which is about half a second of them, and how long
 * it may last in all.
 */
#define EMPTY_MAX 50000
#define LENGTH_NS (30000 * MILLISECOND_NS)

/* The pause after the first try, and the longest. */
#define PAUSE_NS     (1000 * MILLISECOND_NS)
#define PAUSE_MAX_NS (60000 * MILLISECOND_NS)

/* How long a process may make no call while another one waits to be watched. */
#define IDLE_NS (5000 * MILLISECOND_NS)

/* How long calls may last that are watched: they are waited for before their probes go. */
#define CALLS_NS (5000 * MILLISECOND_NS)

/*
 * At least that many calls that found nothing must have been seen; a program that waits for events
 * first may never make one: rounds of RDMA_KEPT calls that found something are enough then.
 */
#define EMPTY_LEAST 2
#define ROUNDS_MAX  8
#define KEPT_LEAST  2

int rdma_learner_begin(struct rdma_learner *learner, struct bpf_program *program,
		       const struct rdma_learner_maps *maps)
{
	const struct uprobe_programs programs = {.site = program};

	learner->learnings = maps->learnings;
	learner->polls = maps->polls;
	learner->polling = maps->polling;
	learner->code = calloc(1, sizeof(*learner->code));
	return learner->code ? uprobes_new(&programs, NULL, &learner->uprobes) : -ENOMEM;
}

void rdma_learner_end(struct rdma_learner *learner)
{
	if (learner->uprobes)
		uprobes_free(learner->uprobes);
	learner->uprobes = NULL;
	learner->provider = NULL;
	free(learner->code);
	learner->code = NULL;
}

static void fail_function(struct rdma_learner *learner, const struct rdma_provider *provider,
			  struct rdma_poll_function *function, const char *why)
{
	function->state = RDMA_POLL_FAILED;
	learner->failed++;
	snprintf(learner->why, sizeof(learner->why), "%.60s: %s", provider->name, why);
}

/* -- probes ------------------------------------------------------------------------------------ */

static bool read_code(struct rdma_learner *learner, const struct rdma_provider *provider,
		      const struct rdma_poll_function *function)
{
	uint8_t bytes[RDMA_CODE_MAX];

	return function->size <= sizeof(bytes) &&
	       file_read_at(provider->fd, function->offset, bytes, function->size) &&
	       rdma_code_read(learner->code, bytes, function->size);
}

/* owner: RDMA_NOBODY: no call is watched; 0: the next one is. */
static bool clear(const struct rdma_learner *learner, uint64_t owner)
{
	struct rdma_learning *learning = calloc(1, sizeof(*learning));
	const uint32_t zero = 0;
	bool done;

	if (learning)
		learning->owner = owner;
	done = learning && !bpf_map_update_elem(learner->learnings, &zero, learning, BPF_ANY);
	free(learning);
	return done;
}

/* Calls are numbered anew: what is kept of a site is of no call then. */
static bool clear_all(const struct rdma_learner *learner)
{
	struct rdma_poll *poll = calloc(1, sizeof(*poll));
	bool done = poll && clear(learner, RDMA_NOBODY);

	for (uint32_t i = 0; done && i < RDMA_KEPT; i++)
		done = !bpf_map_update_elem(learner->polls, &i, poll, BPF_ANY);
	free(poll);
	return done;
}

static struct uprobe_place place_of(uint64_t offset, uint64_t cookie, uint32_t group,
				    enum uprobe_kind kind)
{
	return (struct uprobe_place){
		.offset = offset,
		.group = group,
		.kind = kind,
		.cookie = cookie,
		.entry_cookie = cookie,
		.return_cookie = cookie,
	};
}

/* The return first: a call that is watched from its beginning is watched to its end. */
static int set_probes(struct rdma_learner *learner, struct fail *why)
{
	const uint64_t start = learner->function->offset;
	const uint32_t group = learner->groups;
	const struct uprobe_place end = place_of(start, RDMA_CALL_POLLED, group, UPROBE_RETURN);
	const char *path = learner->provider->path;
	struct uprobe_place places[RDMA_SITES + 1];
	size_t count = 0;
	int err;

	places[count++] = place_of(start, RDMA_CALL_POLL, group + 1, UPROBE_ENTRY);
	for (uint32_t i = 0; i < learner->code->site_count; i++)
		places[count++] = place_of(start + learner->code->sites[i],
					   RDMA_CALL_SITE | (uint64_t)i << RDMA_COOKIE_SHIFT,
					   group + i + 2, UPROBE_ENTRY);
	/* what is refused of one function must not be left out of another one */
	learner->groups += RDMA_SITES + 2;
	err = uprobes_attach(learner->uprobes, path, learner->pid, &end, 1, why);
	return err ? err : uprobes_attach(learner->uprobes, path, learner->pid, places, count, why);
}

/* Calls that were watched and are not over are not watched any more. */
static void forget_calls(const struct rdma_learner *learner)
{
	uint64_t thread;

	while (!bpf_map_get_next_key(learner->polling, NULL, &thread))
		if (bpf_map_delete_elem(learner->polling, &thread))
			return;
}

static bool has_calls(const struct rdma_learner *learner)
{
	uint64_t thread;

	return !bpf_map_get_next_key(learner->polling, NULL, &thread);
}

static void stop(struct rdma_learner *learner)
{
	uprobes_detach(learner->uprobes, learner->provider->path, learner->pid);
	uprobes_wait_detached(learner->uprobes);
	forget_calls(learner);
	learner->provider = NULL;
}

/* Another process that runs the provider is watched next: this one may never transfer. */
static void put_first(struct rdma_provider *provider, pid_t pid)
{
	if (!provider->pids.count || *vec_last(&provider->pids) != pid)
		return;
	memmove(provider->pids.at + 1, provider->pids.at,
		(provider->pids.count - 1) * sizeof(*provider->pids.at));
	provider->pids.at[0] = pid;
}

static void try_later(struct rdma_learner *learner, uint64_t now)
{
	struct rdma_poll_function *function = learner->function;

	learner->unseen(learner->context, learner->pid);
	put_first(learner->provider, learner->pid);
	function->pause = function->pause ? 2 * function->pause : PAUSE_NS;
	if (function->pause > PAUSE_MAX_NS)
		function->pause = PAUSE_MAX_NS;
	function->next = now + function->pause;
	stop(learner);
}

static void begin(struct rdma_learner *learner, struct rdma_provider *provider,
		  struct rdma_poll_function *function, pid_t pid, uint64_t now)
{
	struct fail why = {0};

	if (!read_code(learner, provider, function)) {
		fail_function(learner, provider, function, "its poll_cq() cannot be read");
		return;
	}
	learner->provider = provider;
	learner->function = function;
	learner->pid = pid;
	learner->since = now;
	learner->rounds = 0;
	learner->is_closing = false;
	/* a call that is watched must meet all of its branches: none is before these have probes */
	if (!clear_all(learner) || set_probes(learner, &why) || !clear(learner, 0))
		try_later(learner, now);
}

/* The next function that is not known. */
static void begin_next(struct rdma_learner *learner, struct rdma_providers *providers, uint64_t now)
{
	vec_foreach (&providers->list, at) {
		struct rdma_provider *provider = *at;

		for (size_t i = 0; provider->pids.count && i < provider->poll_count; i++)
			if (provider->polls[i].state == RDMA_POLL_UNKNOWN &&
			    provider->polls[i].next <= now) {
				begin(learner, provider, &provider->polls[i],
				      *vec_last(&provider->pids), now);
				return;
			}
	}
}

/* Whether there is a function, or another process, that could be watched now. */
static bool has_other(const struct rdma_learner *learner, const struct rdma_providers *providers,
		      uint64_t now)
{
	if (learner->provider->pids.count > 1)
		return true;
	vec_foreach (&providers->list, at) {
		const struct rdma_provider *provider = *at;

		for (size_t i = 0; provider->pids.count && i < provider->poll_count; i++)
			if (&provider->polls[i] != learner->function &&
			    provider->polls[i].state == RDMA_POLL_UNKNOWN &&
			    provider->polls[i].next <= now)
				return true;
	}
	return false;
}

static bool runs(const struct rdma_provider *provider, pid_t pid)
{
	vec_foreach (&provider->pids, known)
		if (*known == pid)
			return true;
	return false;
}

bool rdma_learner_sees(const struct rdma_learner *learner, const struct rdma_providers *providers,
		       pid_t pid)
{
	vec_foreach (&providers->list, at) {
		const struct rdma_provider *provider = *at;

		for (size_t i = 0; i < provider->poll_count; i++) {
			const struct rdma_poll_function *function = &provider->polls[i];
			bool is_watched = learner->function == function && learner->provider &&
					  learner->pid == pid;

			if (runs(provider, pid) && function->state != RDMA_POLL_LEARNED &&
			    !is_watched)
				return false;
		}
	}
	return true;
}

/* -- what was learned -------------------------------------------------------------------------- */

static bool read_polls(const struct rdma_learner *learner, const struct rdma_learning *learning,
		       struct rdma_poll *polls)
{
	for (uint32_t i = 0; i < learning->kept && i < RDMA_KEPT; i++)
		if (bpf_map_lookup_elem(learner->polls, &i, &polls[i]))
			return false;
	return true;
}

static bool choose(const struct rdma_learner *learner, const struct rdma_learning *learning,
		   struct rdma_spot *spot)
{
	struct rdma_poll *polls = calloc(RDMA_KEPT, sizeof(*polls));
	bool is_found = polls && read_polls(learner, learning, polls) &&
			rdma_code_choose(learner->code, learning, polls, spot);

	free(polls);
	return is_found;
}

static bool write_back(const struct rdma_learner *learner, const struct rdma_learning *learning)
{
	const uint32_t zero = 0;

	return !bpf_map_update_elem(learner->learnings, &zero, learning, BPF_ANY);
}

/* Calls that have begun go on to be recorded where they return: the probes stay for a moment. */
static void conclude(struct rdma_learner *learner, struct rdma_providers *providers,
		     struct rdma_learning *learning, uint64_t now)
{
	struct rdma_provider *provider = learner->provider;
	struct rdma_poll_function *function = learner->function;
	struct rdma_spot spot;
	const char *name;
	uint64_t reg;

	if (!choose(learner, learning, &spot)) {
		fail_function(learner, provider, function,
			      "no branch of its poll_cq() is taken only with completions");
		learner->unseen(learner->context, learner->pid);
		stop(learner);
		return;
	}
	name = arch_register_name(spot.reg);
	reg = (uint64_t)arch_register_numbered(name, strlen(name));
	function->state = RDMA_POLL_LEARNED;
	rdma_providers_add(providers, provider, function->offset + spot.offset,
			   RDMA_CALL_DONE | reg << RDMA_COOKIE_SHIFT |
				   (uint64_t)(uint16_t)spot.distance << RDMA_DISTANCE_SHIFT);
	learning->is_closed = 1;
	learning->is_over = 1;
	learner->is_closing = true;
	learner->since = now;
	(void)write_back(learner, learning);
}

static bool is_enough(const struct rdma_learner *learner, const struct rdma_learning *learning,
		      bool is_late)
{
	if (learning->empty < EMPTY_LEAST)
		return learning->is_over && learner->rounds >= ROUNDS_MAX;
	return learning->kept >= KEPT_LEAST && (learning->is_over || is_late);
}

static void step(struct rdma_learner *learner, struct rdma_providers *providers, uint64_t now)
{
	const uint64_t length = now > learner->since ? now - learner->since : 0;
	const uint32_t zero = 0;
	struct rdma_learning learning;
	bool is_late;

	if (learner->is_closing) {
		if (!has_calls(learner) || length > CALLS_NS)
			stop(learner);
		return;
	}
	if (bpf_map_lookup_elem(learner->learnings, &zero, &learning)) {
		try_later(learner, now);
		return;
	}
	is_late = learning.all_empty > EMPTY_MAX * (1 + learning.all_found) || length > LENGTH_NS;
	learner->rounds += learning.is_over != 0;
	if (is_enough(learner, &learning, is_late)) {
		conclude(learner, providers, &learning, now);
	} else if (learning.is_over) {
		learning.kept = learning.is_over = 0;
		learning.owner = 0;
		if (!write_back(learner, &learning))
			try_later(learner, now);
	} else if ((is_late && learning.all_empty) ||
		   (!learning.all_empty && !learning.all_found && length > IDLE_NS &&
		    has_other(learner, providers, now))) {
		try_later(learner, now);
	}
}

void rdma_learner_step(struct rdma_learner *learner, struct rdma_providers *providers, uint64_t now)
{
	if (!learner->uprobes)
		return;
	if (learner->provider && !runs(learner->provider, learner->pid))
		stop(learner);
	if (learner->provider)
		step(learner, providers, now);
	else
		begin_next(learner, providers, now);
}
