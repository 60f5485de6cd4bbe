// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/instructions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"

/* What CUPTI's names of reasons begin with. */
#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"

/* How often code is read before the last samples are written. */
#define READS_LAST 64

void gpu_instructions_free(struct gpu_instructions *instructions)
{
	vec_free(&instructions->pending);
	map_free(&instructions->pending_by);
	vec_free(&instructions->functions);
	map_free(&instructions->functions_by);
	vec_free(&instructions->launches);
	map_free(&instructions->launches_by);
	gpu_code_free(instructions->code);
	instructions->code = NULL;
}

void gpu_instructions_next_film(struct gpu_instructions *instructions)
{
	instructions->launches.count = 0;
	map_free(&instructions->launches_by);
	gpu_code_next_film(instructions->code);
}

void gpu_instructions_ran(struct gpu_instructions *instructions,
			  const struct gpu_launches *launched)
{
	const uint64_t key[] = {launched->pid, launched->function,
				(uint64_t)launched->place.thread << 32 | launched->place.stack};
	uint64_t hash = hash_bytes(key, sizeof(key));
	uint64_t *known = map_get(&instructions->launches_by, hash);

	if (known) {
		struct gpu_launches *launches = &instructions->launches.at[*known];

		launches->ns = add_saturated(launches->ns, launched->ns);
	} else if (instructions->launches.count < GPU_LAUNCHES_MAX &&
		   vec_push(&instructions->launches, *launched)) {
		map_put(&instructions->launches_by, hash, instructions->launches.count - 1);
	} else {
		instructions->launches_full++;
	}
}

/* -- samples that wait ------------------------------------------------------------------------- */

static uint64_t pending_key(const struct gpu_pending *pending)
{
	const uint64_t key[] = {pending->pid, pending->code, pending->function, pending->offset,
				pending->reason};

	return hash_bytes(key, sizeof(key));
}

static uint64_t function_key(uint32_t pid, uint64_t function)
{
	const uint64_t key[] = {pid, function};

	return hash_bytes(key, sizeof(key));
}

/* The function's entry, which is made if there is none. Null: no memory. */
static struct gpu_function *function_of(struct gpu_instructions *instructions, uint32_t pid,
					uint64_t function)
{
	uint64_t key = function_key(pid, function), *known;

	known = map_get(&instructions->functions_by, key);
	if (known)
		return &instructions->functions.at[*known];
	if (!vec_push(&instructions->functions, ((struct gpu_function){pid, 0, function})))
		return NULL;
	if (!map_put(&instructions->functions_by, key, instructions->functions.count - 1)) {
		instructions->functions.count--;
		return NULL;
	}
	return vec_last(&instructions->functions);
}

/* It has no samples any more: the last one takes its place. */
static void remove_function(struct gpu_instructions *instructions, size_t index)
{
	struct gpu_function *at = &instructions->functions.at[index],
			    *last = vec_last(&instructions->functions);

	map_remove(&instructions->functions_by, function_key(at->pid, at->function));
	if (at != last) {
		*at = *last;
		/* the key is there, so this needs no memory */
		map_put(&instructions->functions_by, function_key(at->pid, at->function), index);
	}
	instructions->functions.count--;
}

/* A place for samples; UINT32_MAX: there is none. */
static uint32_t new_pending(struct gpu_instructions *instructions)
{
	uint32_t index = instructions->free - 1;

	if (instructions->free) {
		instructions->free = instructions->pending.at[index].next;
		return index;
	}
	if (instructions->pending.count >= GPU_INSTRUCTIONS_MAX ||
	    !vec_push(&instructions->pending, (struct gpu_pending){0}))
		return UINT32_MAX;
	return (uint32_t)instructions->pending.count - 1;
}

static void put_pending(struct gpu_instructions *instructions, uint32_t index)
{
	instructions->pending.at[index].next = instructions->free;
	instructions->free = index + 1;
}

void gpu_instructions_add(struct gpu_instructions *instructions,
			  const struct on_gpu_samples *samples)
{
	struct gpu_pending new = {.pid = samples->pid,
				  .code = samples->code,
				  .function = samples->function,
				  .offset = samples->offset,
				  .reason = samples->reason,
				  .count = samples->count};
	uint64_t key = pending_key(&new), *known = map_get(&instructions->pending_by, key);
	struct gpu_function *function;
	uint32_t index;

	if (known) {
		struct gpu_pending *pending = &instructions->pending.at[*known];

		pending->count = add_saturated(pending->count, new.count);
		return;
	}
	index = new_pending(instructions);
	function = index != UINT32_MAX ? function_of(instructions, new.pid, new.function) : NULL;
	if (!function) {
		instructions->full = add_saturated(instructions->full, new.count);
		if (index != UINT32_MAX)
			put_pending(instructions, index);
		return;
	}
	new.next = function->first;
	function->first = index + 1;
	instructions->pending.at[index] = new;
	map_put(&instructions->pending_by, key, index);
}

/* -- windows ----------------------------------------------------------------------------------- */

/* Those with a stack first. */
static int compare_launches(const void *a, const void *b)
{
	const struct gpu_launches *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->is_sampled != y->is_sampled)
		return x->is_sampled ? -1 : 1;
	return x->place.stack < y->place.stack ? -1 : x->place.stack > y->place.stack;
}

static void write_samples(struct gpu_instructions *instructions, const struct gpu_pending *pending,
			  const struct samples_place *launch, bool is_estimate, uint64_t count,
			  const struct gpu_instructions_to *to)
{
	const struct gpu_instruction at = {
		.code = pending->code,
		.function = pending->function,
		.offset = pending->offset,
		.name = to->name_of(to->context, pending->pid, pending->function),
		.count = count};
	const char *reason = to->name_of(to->context, pending->pid, pending->reason);
	struct samples_place place = *launch;
	char words[128];

	if (!count)
		return;
	if (reason && !strncmp(reason, REASON_PREFIX, strlen(REASON_PREFIX)))
		reason += strlen(REASON_PREFIX);
	snprintf(words, sizeof(words), "[%.100s]", reason ? reason : "reason not known");
	if (is_estimate)
		place.stack = samples_words(to->samples, place.stack,
					    "[one of several launches: estimated by their times]");
	place.stack = gpu_code_stack(instructions->code, to->samples, to->film, place.stack, &at);
	place.stack = samples_words(to->samples, place.stack, words);
	samples_add(to->samples, to->event, to->time, &place, count);
}

/*
 * Each launch gets its part, rounded up or down: the parts' ends are shifted by a part of a sample
 * that differs from one call to the next, so what is rounded goes to each as its time has it. Their
 * sum is that of the samples.
 */
static void distribute(struct gpu_instructions *instructions, const struct gpu_pending *pending,
		       const struct gpu_launches *launches, size_t count,
		       const struct gpu_instructions_to *to)
{
	/* multiples of the golden ratio are spread evenly, however many there are */
	const double shift = (double)(instructions->turns++ * 0x9e3779b97f4a7c15u) / 0x1p64;
	const double samples = (double)pending->count;
	double all = 0, until = 0;
	uint64_t given = 0;

	for (size_t i = 0; i < count; i++)
		all += (double)launches[i].ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t end = pending->count;
		double part;

		until += (double)launches[i].ns;
		/* if none took any time, the last one gets all */
		part = all > 0 ? samples * (until / all) + shift : 0;
		if (i + 1 < count && part < samples && (uint64_t)part < end)
			end = (uint64_t)part;
		if (end <= given)
			continue;
		write_samples(instructions, pending, &launches[i].place, count > 1, end - given,
			      to);
		given = end;
	}
}

static void write_unknown(struct gpu_instructions *instructions, const struct gpu_pending *pending,
			  const struct gpu_instructions_to *to)
{
	struct samples_place place = {.thread = to->thread_of(to->context, pending->pid)};

	instructions->without_launch = add_saturated(instructions->without_launch, pending->count);
	if (!place.thread)
		return;
	place.stack = samples_words(to->samples, 0, "[launch not known]");
	write_samples(instructions, pending, &place, false, pending->count, to);
}

static void forget_launches(struct gpu_instructions *instructions, uint32_t pid)
{
	struct gpu_launches *all = instructions->launches.at;
	size_t kept = 0;

	for (size_t i = 0; i < instructions->launches.count; i++)
		if (pid && all[i].pid != pid)
			all[kept++] = all[i];
	instructions->launches.count = 0;
	map_free(&instructions->launches_by);
	for (size_t i = 0; i < kept; i++) {
		const struct gpu_launches launches = all[i];

		gpu_instructions_ran(instructions, &launches);
	}
}

/* Writes all samples of a function, to its launches or as not known (count 0). */
static void write_function(struct gpu_instructions *instructions, size_t index,
			   const struct gpu_launches *launches, size_t count,
			   const struct gpu_instructions_to *to)
{
	uint32_t next = instructions->functions.at[index].first;

	while (next) {
		const struct gpu_pending pending = instructions->pending.at[next - 1];

		if (count)
			distribute(instructions, &pending, launches, count, to);
		else
			write_unknown(instructions, &pending, to);
		map_remove(&instructions->pending_by, pending_key(&pending));
		put_pending(instructions, next - 1);
		next = pending.next;
	}
	remove_function(instructions, index);
}

/* How many of the launches are of the first one's function; *sampled: of these, as it is. */
static size_t count_run(const struct gpu_launches *launches, size_t count, size_t *sampled)
{
	size_t end = 1;

	while (end < count && launches[end].pid == launches->pid &&
	       launches[end].function == launches->function)
		end++;
	/* those with a stack are first: if there are any, these get the samples */
	for (*sampled = 1; *sampled < end && launches[*sampled].is_sampled == launches->is_sampled;
	     (*sampled)++)
		;
	return end;
}

static void write_launched(struct gpu_instructions *instructions, uint32_t pid,
			   const struct gpu_instructions_to *to)
{
	const size_t count = instructions->launches.count;
	size_t sampled;

	if (count)
		qsort(instructions->launches.at, count, sizeof(*instructions->launches.at),
		      compare_launches);
	for (size_t i = 0, run; i < count; i += run) {
		const struct gpu_launches *launches = &instructions->launches.at[i];
		const uint64_t *index = map_get(&instructions->functions_by,
						function_key(launches->pid, launches->function));

		run = count_run(launches, count - i, &sampled);
		if (index && (!pid || launches->pid == pid))
			write_function(instructions, *index, launches, sampled, to);
	}
}

void gpu_instructions_window(struct gpu_instructions *instructions, uint32_t pid, bool is_last,
			     const struct gpu_instructions_to *to)
{
	/* no later window names what is written last */
	for (int i = 0; gpu_code_read(instructions->code) && is_last && i < READS_LAST; i++)
		;
	write_launched(instructions, pid, to);
	/* from the end on, as the last one takes the place of each that is removed */
	for (size_t i = instructions->functions.count; is_last && i; i--)
		if (!pid || instructions->functions.at[i - 1].pid == pid)
			write_function(instructions, i - 1, NULL, 0, to);
	forget_launches(instructions, pid);
}
