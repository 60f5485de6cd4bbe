// SPDX-License-Identifier: Apache-2.0
#include "resolve/kept_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct kept_stack {
	struct samples_again again;
	uint32_t number;
	bool is_used;	 /* in the present film */
	bool is_unknown; /* there */
	struct stack_frames frames;
	uint64_t words[];
};

static uint64_t key_of(uint32_t pid, uint32_t stack)
{
	return (uint64_t)pid << 32 | stack;
}

static struct kept_stack *find(const struct kept_stacks *kept, uint64_t number)
{
	const uint64_t *known = map_get(&kept->by_number, number);

	return known ? (struct kept_stack *)(uintptr_t)*known : NULL;
}

static size_t size_of(const struct kept_stack *stack)
{
	return sizeof(*stack) + sizeof(stack->words[0]) * stack->again.count;
}

static void drop(struct kept_stacks *kept, struct kept_stack *stack)
{
	kept->bytes -= size_of(stack);
	map_remove(&kept->by_number, stack->number);
	vec_free(&stack->frames);
	free(stack);
}

static void keep_thread(struct kept_stacks *kept, uint32_t thread,
			const struct capture_identity *identity)
{
	struct capture_identity *copy;

	if (!thread || map_get(&kept->threads, thread) || kept->threads.count >= KEPT_THREADS_MAX)
		return;
	copy = malloc(sizeof(*copy));
	if (copy)
		*copy = *identity;
	if (copy && !map_put(&kept->threads, thread, (uint64_t)(uintptr_t)copy))
		free(copy);
}

uint32_t kept_stacks_add(struct kept_stacks *kept, const struct samples *samples,
			 const struct capture_record *record, const struct samples_place *place)
{
	const uint32_t pid = record->identity.pid;
	const uint64_t key = key_of(pid, place->stack), *known = map_get(&kept->by_place, key);
	struct samples_again again;
	struct kept_stack *stack;
	size_t bytes;

	keep_thread(kept, place->thread, &record->identity);
	if (known)
		return (uint32_t)*known;
	if (!place->stack || !samples_last(samples, record, &again))
		return 0;
	bytes = sizeof(again.words[0]) * again.count;
	if (kept->by_number.count >= KEPT_STACKS_MAX || kept->last == UINT32_MAX ||
	    kept->bytes + bytes + sizeof(*stack) > KEPT_BYTES_MAX)
		return 0;
	stack = calloc(1, sizeof(*stack) + bytes);
	if (!stack)
		return 0;
	stack->again = again;
	stack->again.words = memcpy(stack->words, again.words, bytes);
	stack->number = kept->last + 1;
	if (!map_put(&kept->by_number, stack->number, (uint64_t)(uintptr_t)stack)) {
		free(stack);
		return 0;
	}
	kept->bytes += size_of(stack);
	if (!map_put(&kept->by_place, key, stack->number)) {
		drop(kept, stack);
		return 0;
	}
	return kept->last = stack->number;
}

/* The stack in the present film; 0: not known. */
static uint32_t resolve(struct kept_stacks *kept, struct samples *samples, struct kept_stack *stack)
{
	uint32_t row;

	vec_free(&stack->frames);
	row = samples_resolve_again(samples, &stack->again, &stack->frames);
	stack->is_unknown = !row;
	if (row)
		map_put(&kept->by_place, key_of(stack->again.pid, row), stack->number);
	return row;
}

const struct stack_frames *kept_stacks_frames(struct kept_stacks *kept, struct samples *samples,
					      uint32_t number)
{
	struct kept_stack *stack = find(kept, number);

	if (!stack || stack->is_unknown || (!stack->frames.count && !resolve(kept, samples, stack)))
		return NULL;
	return &stack->frames;
}

/* -- another film ------------------------------------------------------------------------------ */

static void free_threads(struct map *threads)
{
	uint64_t thread, identity;

	for (size_t i = 0; map_next(threads, &i, &thread, &identity);)
		free((void *)(uintptr_t)identity);
	map_free(threads);
}

void kept_stacks_next_film(struct kept_stacks *kept)
{
	uint64_t number, at;

	kept->before = kept->by_place;
	kept->threads_before = kept->threads;
	kept->by_place = kept->threads = (struct map){0};
	for (size_t i = 0; map_next(&kept->by_number, &i, &number, &at);) {
		struct kept_stack *stack = (struct kept_stack *)(uintptr_t)at;

		vec_free(&stack->frames);
		stack->is_used = stack->is_unknown = false;
	}
}

void kept_stacks_move(struct kept_stacks *kept, struct samples *samples, uint32_t pid,
		      struct samples_place *place)
{
	const uint64_t *known = map_get(&kept->before, key_of(pid, place->stack));
	const uint64_t *thread = map_get(&kept->threads_before, place->thread);
	const struct capture_identity *identity =
		thread ? (const struct capture_identity *)(uintptr_t)*thread : NULL;
	struct kept_stack *stack = known && identity ? find(kept, *known) : NULL;

	*place = (struct samples_place){0};
	if (!stack)
		return;
	stack->is_used = true;
	place->stack = resolve(kept, samples, stack);
	place->thread = place->stack ? samples_thread(samples, identity) : 0;
	keep_thread(kept, place->thread, identity);
}

void kept_stacks_use(struct kept_stacks *kept, uint32_t number)
{
	struct kept_stack *stack = find(kept, number);

	if (stack)
		stack->is_used = true;
}

/* Those that are chosen; pid 0: those that are not used. */
static void drop_all(struct kept_stacks *kept, uint32_t pid)
{
	vec(struct kept_stack *) gone = {0};
	uint64_t number, at;

	for (size_t i = 0; map_next(&kept->by_number, &i, &number, &at);) {
		struct kept_stack *stack = (struct kept_stack *)(uintptr_t)at;

		if ((pid ? stack->again.pid == pid : !stack->is_used) && !vec_push(&gone, stack))
			break;
	}
	vec_foreach (&gone, stack)
		drop(kept, *stack);
	vec_free(&gone);
}

void kept_stacks_film_begun(struct kept_stacks *kept)
{
	map_free(&kept->before);
	free_threads(&kept->threads_before);
	drop_all(kept, 0);
}

void kept_stacks_forget(struct kept_stacks *kept, uint32_t pid)
{
	vec(uint64_t) gone = {0};
	uint64_t key, number;

	drop_all(kept, pid);
	for (size_t i = 0; map_next(&kept->by_place, &i, &key, &number);)
		if (key >> 32 == pid && !vec_push(&gone, key))
			break;
	vec_foreach (&gone, each)
		map_remove(&kept->by_place, *each);
	vec_free(&gone);
}

void kept_stacks_free(struct kept_stacks *kept)
{
	kept_stacks_next_film(kept);
	kept_stacks_film_begun(kept);
	map_free(&kept->by_number);
	map_free(&kept->by_place);
	free_threads(&kept->threads);
}
