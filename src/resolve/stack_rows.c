// SPDX-License-Identifier: Apache-2.0
#include "resolve/stack_rows.h"

/*
 * Puts a frame on a stack. When the film's tables are full there is no such stack: false, and what
 * was built so far must not be taken for one that begins here.
 */
bool stack_push(struct stack_rows *rows, uint32_t *stack, uint32_t frame, enum film_how how)
{
	*stack = frame ? film_stack(rows->film, *stack, frame, how) : 0;
	if (*stack && rows->pushed &&
	    !vec_push(rows->pushed, (struct stack_frame){.frame = frame, .how = how}))
		*stack = 0;
	return *stack;
}

bool stack_push_kernel(struct stack_rows *rows, uint32_t *stack, const uint64_t *frames,
		       uint32_t count)
{
	while (count--) {
		/* all but the innermost are addresses that a call returns to */
		uint64_t at = frames[count] - (count > 0);

		if (!stack_push(rows, stack, catalogue_kernel_frame(rows->catalogue, at),
				FILM_HOW_EXACT))
			return false;
	}
	return true;
}

bool stack_push_mark(struct stack_rows *rows, uint32_t *stack, enum unwind_end end)
{
	return stack_push(rows, stack, catalogue_mark(rows->catalogue, end), FILM_HOW_EXACT);
}

/* Where in the words of a user stack each frame begins. Returns how many there are. */
static uint32_t find_places(const uint64_t *words, uint32_t count, uint32_t *places)
{
	uint32_t i, frames = 0;

	for (i = 0; i < count; i++) {
		places[frames++] = i;
		i += (words[i] & UNWIND_IS_RUNTIME) != 0;
	}
	/* a frame of two words that was cut */
	return frames - (i > count);
}

static bool is_of_runtime(uint64_t word)
{
	return word & UNWIND_IS_RUNTIME && UNWIND_WORD_RUNTIME(word) != UNWIND_RUNTIME_NONE;
}

/* The runtime of the frame nearest to the leaf that is one's; *at: which one it is. */
static uint32_t runtime_of_stack(const uint64_t *words, const uint32_t *places, uint32_t frames,
				 uint32_t *at)
{
	for (*at = 0; *at < frames; (*at)++)
		if (is_of_runtime(words[places[*at]]))
			return UNWIND_WORD_RUNTIME(words[places[*at]]);
	return UNWIND_RUNTIME_NONE;
}

static enum film_how how_of(const struct stack_rows *rows, const struct process *process,
			    uint64_t word, uint32_t runtime, bool nearer_to_leaf)
{
	const struct mapping *mapping;

	if (word & UNWIND_GUESS)
		return FILM_HOW_FRAME_POINTER;
	if (!runtime || word & UNWIND_IS_RUNTIME)
		return FILM_HOW_EXACT;
	mapping = process_mapping(process, word);
	return mapping && runtimes_is_part(rows->runtimes, mapping, word, runtime, nearer_to_leaf)
		       ? FILM_HOW_RUNTIME
		       : FILM_HOW_EXACT;
}

/*
 * The film's row for the frame whose words these are. *how: as how_of() has it, and what its name
 * tells.
 */
static uint32_t user_frame(struct stack_rows *rows, const struct stack_user *user,
			   const struct runtime_place *place, enum film_how *how)
{
	bool is_part = false;
	uint32_t frame;

	if (!(*place->words & UNWIND_IS_RUNTIME))
		return catalogue_user_frame(rows->catalogue, user->row, user->process,
					    *place->words & ~UNWIND_GUESS);
	if (!is_of_runtime(*place->words))
		return catalogue_gap(rows->catalogue);
	frame = runtimes_frame(rows->runtimes, user->runtimes, user->process, place, &is_part);
	if (rows->keeps_codes) {
		rows->codes.leaf = runtimes_code(rows->runtimes, frame);
		rows->codes.codes |= 1u << rows->codes.leaf;
	}
	if (is_part && *how == FILM_HOW_EXACT)
		*how = FILM_HOW_RUNTIME;
	return frame;
}

bool stack_push_user(struct stack_rows *rows, uint32_t *stack, const struct stack_user *user)
{
	const uint64_t *words = user->words;
	uint32_t *places = rows->places, frames, leaf, runtime;

	rows->codes = (struct lock_frames){0};
	frames = find_places(words, user->count, places);
	runtime = runtime_of_stack(words, places, frames, &leaf);
	while (frames--) {
		struct runtime_place place = {words + places[frames], words + user->count,
					      user->time};
		enum film_how how =
			how_of(rows, user->process, *place.words, runtime, frames < leaf);

		uint32_t frame = user_frame(rows, user, &place, &how);

		if (!stack_push(rows, stack, frame, how))
			return false;
		if (is_of_runtime(*place.words))
			runtime = UNWIND_WORD_RUNTIME(*place.words);
	}
	return true;
}

bool stack_push_context(struct stack_rows *rows, uint32_t *stack, const struct stack_user *user,
			uint64_t context)
{
	const uint64_t words[] = {UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_OTEL, 0, 0), context};
	const struct runtime_place place = {words, words + 2, user->time};
	bool is_part = false;
	uint32_t frame;

	if (!context)
		return true;
	frame = runtimes_frame(rows->runtimes, user->runtimes, user->process, &place, &is_part);
	/* what it has lost is counted */
	return !frame || stack_push(rows, stack, frame, FILM_HOW_EXACT);
}
