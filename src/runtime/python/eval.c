// SPDX-License-Identifier: Apache-2.0
/*
 * The code of CPython's evaluation function, _PyEval_EvalFrameDefault(). Up to 3.10 its native
 * frames are known by their code only (src/bpf/runtime/python/python.h). Compilers move what is
 * rarely executed into a function of its own (.cold), which has no symbol in a stripped program:
 * conditional jumps lead there.
 *
 * It enters its frame into the thread's list by "tstate->frame = f", and takes it out by
 * "tstate->frame = f->f_back" (Python/ceval.c); both fields are at offset 24. Before the one and
 * behind the other it runs no Python function, so these ranges of code are looked for.
 *
 * What is looked for is searched byte by byte: disassembling all of the function takes as long as
 * fifty samples, and what is not an instruction seems to be one of these too rarely to matter.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/python/layout.h"
#include "arch/insn.h"
#include "unwind/functions.h"

/* Builds without optimisation have some hundred KiB. */
#define EVAL_BYTES_MAX (1u << 20)

/* Offset of tstate->frame and of f->f_back, 3.8 to 3.10. */
#define FRAME_OFFSET 24

/* Bytes between "f->f_back" and where it goes; instructions from there to the return. */
#define LOAD_DISTANCE	64
#define RETURN_DISTANCE 48

struct code {
	const struct python_range *range;
	const uint8_t *bytes;
	size_t size;
	struct budget *budget;
};

/*
 * Those targets that lie in one function: most of all jumps out of this one lead to its other part.
 */
struct cold {
	const struct python_range *eval;
	struct python_range last, found;
	size_t hits, best;
};

static void add_cold(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct cold *cold = context;

	(void)index;
	if (start == cold->eval->start)
		return;
	cold->hits = start == cold->last.start ? cold->hits + 1 : 1;
	cold->last = (struct python_range){start, start + size};
	if (cold->hits <= cold->best)
		return;
	cold->best = cold->hits;
	cold->found = cold->last;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where conditional jumps (0f 80 to 0f 8f, and 4 bytes) out of the function lead to. */
static void find_cold(const struct image *image, const struct code *code,
		      struct python_layout *layout)
{
	uint64_t *targets = malloc((code->size / 6 + 1) * sizeof(*targets)), target;
	struct cold cold = {.eval = code->range};
	size_t i, count = 0;
	int32_t distance;

	if (!targets)
		return;
	for (i = 0; i + 6 <= code->size; i++) {
		if (code->bytes[i] != 0x0f || (code->bytes[i + 1] & 0xf0) != 0x80)
			continue;
		memcpy(&distance, code->bytes + i + 2, sizeof(distance));
		target = code->range->start + i + 6 + (uint64_t)(int64_t)distance;
		i += 5;
		if (target - code->range->start >= code->size)
			targets[count++] = target;
	}
	qsort(targets, count, sizeof(*targets), compare_addresses);
	if (count && image->memory)
		unwind_functions_of_memory(image->memory, image->memory_size, targets, count,
					   add_cold, &cold, NULL);
	else if (count && image->fd >= 0)
		unwind_functions_of_file(image->fd, targets, count, add_cold, &cold, NULL);
	if (cold.best)
		layout->data.eval_cold = cold.found;
	free(targets);
}

/*
 * A move of 8 bytes between a register and [base + FRAME_OFFSET], base not being rsp: 89 (to
 * memory) or 8b (from it) with REX.W. Returns its length, 0: it is none. *value: the register that
 * is not the base.
 */
static size_t move_length(const uint8_t *at, size_t left, uint8_t opcode, unsigned int *value)
{
	unsigned int rm;
	size_t length;

	if (left < 5 || (at[0] & 0xf8) != 0x48 || at[1] != opcode || at[2] >> 6 != 1)
		return 0;
	rm = at[2] & 7;
	length = rm == 4 ? 5 : 4;
	/* r12 needs a second byte to be named as base; without REX.B that is rsp */
	if (rm == 4 && (at[3] != 0x24 || !(at[0] & 1)))
		return 0;
	if (at[length - 1] != FRAME_OFFSET)
		return 0;
	*value = (at[2] >> 3 & 7) | (at[0] & 4) << 1;
	return length;
}

static void add_unlinked(struct python_layout *layout, uint64_t start, uint64_t end)
{
	struct python_data *data = &layout->data;

	if (data->unlinked_count < PYTHON_UNLINKED_MAX && start < end)
		data->unlinked[data->unlinked_count++] = (struct python_range){start, end};
}

/* From offset `at` to the return, along direct jumps. False: it does not lead there. */
static bool follow_to_return(struct code *code, size_t at, struct python_range ranges[4],
			     size_t *count)
{
	uint64_t start = code->range->start + at, address = start, target;
	struct insn insn;
	bool returns = false;
	size_t steps;

	*count = 0;
	for (steps = 0; steps < RETURN_DISTANCE && budget_step(code->budget, 1); steps++) {
		size_t offset = address - code->range->start;

		if (offset >= code->size ||
		    !insn_read(&insn, code->bytes + offset, code->size - offset, address))
			break;
		address += insn.size;
		if (insn.kind != INSN_RETURN && insn.kind != INSN_JUMP)
			continue;
		ranges[(*count)++] = (struct python_range){start, address};
		returns = insn.kind == INSN_RETURN;
		if (returns || !insn.has_target || *count == 4)
			break;
		target = insn.target;
		/* a call in the last place */
		returns = target - code->range->start >= code->size;
		if (returns)
			break;
		start = address = target;
	}
	return returns;
}

/* Whether what is stored at offset `at` was loaded from a field at the same offset right before. */
static bool is_loaded_before(const struct code *code, size_t at, unsigned int stored)
{
	unsigned int loaded;
	size_t back;

	for (back = 4; back <= LOAD_DISTANCE && back <= at; back++)
		if (move_length(code->bytes + at - back, back, 0x8b, &loaded) && loaded == stored)
			return true;
	return false;
}

static void find_unlinked(struct code *code, struct python_layout *layout)
{
	struct python_range ranges[4];
	bool linked = false;
	size_t i, n, count, length;
	unsigned int value;

	for (i = 0; i < code->size; i++) {
		length = move_length(code->bytes + i, code->size - i, 0x89, &value);
		if (!length)
			continue;
		if (!linked) {
			/*
			 * up to the very instruction: it is not executed yet when the thread is at
			 * it
			 */
			add_unlinked(layout, code->range->start, code->range->start + i + 1);
			linked = true;
		} else if (is_loaded_before(code, i, value) &&
			   follow_to_return(code, i + length, ranges, &count)) {
			for (n = 0; n < count; n++)
				add_unlinked(layout, ranges[n].start, ranges[n].end);
		}
		i += length - 1;
	}
}

static void look_at_code(const struct image *image, struct python_layout *layout,
			 struct budget *budget, const uint8_t *bytes, size_t size)
{
	struct python_data *data = &layout->data;
	struct code code = {&data->eval, bytes, size, budget};

	/* later versions need none: frames of that function are known by what lies in them */
	if (data->shape != PYTHON_FRAME_OBJECTS)
		return;
	if (data->eval_cold.start == data->eval_cold.end)
		find_cold(image, &code, layout);
	find_unlinked(&code, layout);
}

void python_find_eval(const struct image *image, struct python_layout *layout,
		      struct budget *budget)
{
	struct runtime_symbol symbols[] = {{.name = "_PyEval_EvalFrameDefault"},
					   {.name = "_PyEval_EvalFrameDefault.cold"}};
	struct python_data *data = &layout->data;
	uint8_t *bytes;
	uint64_t size;

	runtime_find_symbols(image, budget, symbols, 2);
	size = symbols[0].size;
	if (!size || size > EVAL_BYTES_MAX || symbols[1].size > EVAL_BYTES_MAX)
		return;
	data->eval = (struct python_range){symbols[0].address, symbols[0].address + size};
	if (data->shape == PYTHON_FRAME_OBJECTS)
		data->eval_cold = (struct python_range){symbols[1].address,
							symbols[1].address + symbols[1].size};
	bytes = budget_read(budget, size) ? budget_malloc(budget, size) : NULL;
	if (bytes && !runtime_read_image(image, bytes, size, data->eval.start))
		look_at_code(image, layout, budget, bytes, size);
	budget_free(budget, bytes, size);
}
