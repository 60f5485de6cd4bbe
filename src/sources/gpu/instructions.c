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

void gpu_instructions_add(struct gpu_instructions *instructions,
			  const struct on_gpu_samples *samples)
{
	struct gpu_pending new = {samples->pid,	   samples->code,   samples->function,
				  samples->offset, samples->reason, samples->count};
	const uint64_t key[] = {new.pid, new.code, new.function, new.offset, new.reason};
	uint64_t hash = hash_bytes(key, sizeof(key));
	uint64_t *known = map_get(&instructions->pending_by, hash);

	if (known) {
		struct gpu_pending *pending = &instructions->pending.at[*known];

		pending->count = add_saturated(pending->count, new.count);
		return;
	}
	if (instructions->pending.count < GPU_INSTRUCTIONS_MAX &&
	    vec_push(&instructions->pending, new)) {
		map_put(&instructions->pending_by, hash, instructions->pending.count - 1);
		return;
	}
	instructions->full = add_saturated(instructions->full, new.count);
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

/* The launches of a function: with known stacks, if there are such. Sets *count. */
static const struct gpu_launches *launches_of(const struct gpu_instructions *instructions,
					      const struct gpu_pending *pending, size_t *count)
{
	const struct gpu_launches *all = instructions->launches.at;
	size_t low = 0, high = instructions->launches.count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct gpu_launches *at = &all[middle];

		if (at->pid < pending->pid ||
		    (at->pid == pending->pid && at->function < pending->function))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low;
	     end < instructions->launches.count && all[end].pid == pending->pid &&
	     all[end].function == pending->function && all[end].is_sampled == all[low].is_sampled;
	     end++)
		;
	*count = end - low;
	return all + low;
}

static void write_samples(struct gpu_instructions *instructions, const struct gpu_pending *pending,
			  const struct samples_place *launch, bool is_estimate, uint64_t count,
			  const struct gpu_instructions_to *to)
{
	const struct gpu_instruction at = {.code = pending->code,
					   .function = pending->function,
					   .offset = pending->offset,
					   .name = to->name_of(to->context, pending->function),
					   .count = count};
	const char *reason = to->name_of(to->context, pending->reason);
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

void gpu_instructions_window(struct gpu_instructions *instructions, uint32_t pid, bool is_last,
			     const struct gpu_instructions_to *to)
{
	struct gpu_pending *all = instructions->pending.at;
	size_t kept = 0, count;

	/* no later window names what is written last */
	for (int i = 0; gpu_code_read(instructions->code) && is_last && i < READS_LAST; i++)
		;
	if (instructions->launches.count)
		qsort(instructions->launches.at, instructions->launches.count,
		      sizeof(*instructions->launches.at), compare_launches);
	for (size_t i = 0; i < instructions->pending.count; i++) {
		const struct gpu_pending pending = all[i];
		const struct gpu_launches *launches = launches_of(instructions, &pending, &count);
		bool is_of = !pid || pending.pid == pid;

		if (is_of && count)
			distribute(instructions, &pending, launches, count, to);
		else if (is_of && is_last)
			write_unknown(instructions, &pending, to);
		else
			all[kept++] = pending;
	}
	instructions->pending.count = kept;
	map_free(&instructions->pending_by);
	for (size_t i = 0; i < kept; i++) {
		const uint64_t key[] = {all[i].pid, all[i].code, all[i].function, all[i].offset,
					all[i].reason};

		map_put(&instructions->pending_by, hash_bytes(key, sizeof(key)), i);
	}
	forget_launches(instructions, pid);
}
