// SPDX-License-Identifier: Apache-2.0
/*
 * CPython 3.8 to 3.15. How its frames are found stands in src/bpf/runtime/python/python.h; where a
 * version has what in python/layout.c; how frames get their names in python/names.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/python/layout.h"

/* Of a process's interpreters and thread states, at most this many are looked at. */
#define INTERPRETERS_MAX 16
#define THREADS_MAX	 64

/* Bytes of _PyRuntime that may hold what is looked for. */
#define RUNTIME_BYTES 8192

/*
 * musl's thread has a pointer to the values of all keys, among these bytes; glibc has them in
 * itself.
 */
#define MUSL_BYTES 512
#define KEYS_MAX   1024

static void *open_image(const struct image *image, struct budget *budget, struct fail *why)
{
	struct python_layout *layout = calloc(1, sizeof(*layout));

	if (!layout)
		return NULL;
	if (python_layout_of(image, layout, budget, why)) {
		free(layout);
		return NULL;
	}
	python_find_eval(image, layout, budget);
	return layout;
}

/* What attach() needs while it looks around. */
struct look {
	const struct runtime_at *at;
	struct python_data *data;
	uint8_t runtime[RUNTIME_BYTES];
	size_t runtime_size;
	bool any_frame; /* some thread runs Python */
};

static bool read_word(const struct look *look, uint64_t *to, uint64_t address)
{
	return !runtime_read_u64(look->at, to, address);
}

/*
 * Py_tss_t is {int is_initialized; pthread_key_t key} (Include/cpython/pythread.h). The one of
 * PyGILState_* has the thread state as its value. So it need not be known where in _PyRuntime it
 * is, nor where this C library keeps values: any way that leads from a thread to its state is
 * right, and the kernel side checks it each time.
 */
static bool find_in_glibc(struct look *look, uint64_t id, uint64_t thread, uint32_t key)
{
	uint64_t value;

	if (key >= RUNTIME_GLIBC_KEYS ||
	    !read_word(look, &value, id + (uint64_t)RUNTIME_GLIBC_VALUE(key)) || value != thread)
		return false;
	look->data->tss = RUNTIME_GLIBC_VALUE(key);
	return true;
}

static bool find_in_musl(struct look *look, uint64_t id, uint64_t thread, uint32_t key)
{
	uint64_t value, i;

	for (i = 8; i < MUSL_BYTES; i += 8) {
		if (!read_word(look, &value, id + i) || !value || value & 7 ||
		    !read_word(look, &value, value + 8 * (uint64_t)key) || value != thread)
			continue;
		look->data->tss = (int32_t)i;
		look->data->tss_indirect = 8 * (int32_t)key + 1;
		return true;
	}
	return false;
}

static bool find_tss(struct look *look, uint64_t id, uint64_t thread,
		     bool (*find)(struct look *look, uint64_t id, uint64_t thread, uint32_t key))
{
	size_t i;

	for (i = 0; i + 8 <= look->runtime_size; i += 4) {
		uint32_t tss[2];

		memcpy(tss, look->runtime + i, sizeof(tss));
		if (tss[0] == 1 && tss[1] < KEYS_MAX && find(look, id, thread, tss[1]))
			return true;
	}
	return false;
}

/* Looks at the threads of one interpreter. True: found. */
static bool look_at_threads(struct look *look, uint64_t interpreter, bool *found)
{
	struct python_data *data = look->data;
	uint64_t thread, id, frame;
	int i;

	if (!read_word(look, &thread, interpreter + data->interpreter_threads))
		return false;
	for (i = 0; i < THREADS_MAX && thread && !*found; i++) {
		if (!read_word(look, &id, thread + data->thread_id) ||
		    !read_word(look, &frame, thread + data->thread_frame))
			return false;
		look->any_frame |= frame != 0;
		*found = id && frame &&
			 (find_tss(look, id, thread, find_in_glibc) ||
			  find_tss(look, id, thread, find_in_musl));
		if (!read_word(look, &thread, thread + data->thread_next))
			return false;
	}
	return true;
}

/*
 * Is it what the table of offsets was made for? Py_TRACE_REFS, for one, makes all objects larger.
 */
static int check_size(const struct runtime_at *at, const struct python_layout *layout,
		      struct fail *why)
{
	uint64_t size;

	if (!layout->code_size)
		return 0;
	/* PyTypeObject.tp_basicsize */
	if (runtime_read_u64(at, &size, runtime_address(at, layout->code_type) + 32))
		return -EAGAIN;
	if (size == layout->code_size)
		return 0;
	return fail(why, -ENOTSUP, NULL, "CPython 3.%u that was built with other structures",
		    layout->minor);
}

static void move_range(struct python_range *range, uint64_t bias)
{
	if (range->start == range->end)
		return;
	range->start += bias;
	range->end += bias;
}

static int attach(const struct runtime_at *at, void *result, void **state, struct fail *why)
{
	const struct python_layout *layout = at->facts;
	uint64_t runtime = runtime_address(at, layout->runtime), interpreter, image, size;
	struct python_data *data = result;
	struct look look = {.at = at, .data = data};
	bool found = false;
	int i, err;

	err = check_size(at, layout, why);
	if (err)
		return err;
	*data = layout->data;
	data->interpreters = runtime + layout->runtime_interpreters;
	if (layout->runtime_current)
		data->current = runtime + layout->runtime_current;
	runtime_code_of_image(at, &image, &size);
	data->image = image;
	data->image_size = size;
	move_range(&data->eval, at->mapping->bias);
	move_range(&data->eval_cold, at->mapping->bias);
	for (i = 0; i < PYTHON_UNLINKED_MAX; i++)
		move_range(&data->unlinked[i], at->mapping->bias);
	/* as much as there is: it may stand at the end of a mapping */
	for (look.runtime_size = RUNTIME_BYTES; look.runtime_size; look.runtime_size /= 2)
		if (!runtime_read(at, look.runtime, look.runtime_size, runtime))
			break;
	if (!read_word(&look, &interpreter, data->interpreters))
		return -EAGAIN;
	for (i = 0; i < INTERPRETERS_MAX && interpreter && !found; i++) {
		if (!look_at_threads(&look, interpreter, &found) ||
		    !read_word(&look, &interpreter, interpreter + data->interpreter_next))
			break;
	}
	/* without the key it is found by a search, each time */
	if (!found && !look.any_frame)
		return -EAGAIN;
	*state = (void *)(uintptr_t)layout;
	return 0;
}

/* The second one is there before 3.7 too: those versions are refused by name. */
static const char *const exports[] = {"_PyRuntime", "PyEval_EvalFrameEx", NULL};

const struct runtime_type runtime_python = {
	.name = "python",
	.id = UNWIND_RUNTIME_PYTHON,
	.frame_kind = FILM_FRAME_PYTHON,
	.restarts = true,
	.steps_in_image = true,
	.folds_leaf = true,
	.keeps = true,
	.kept_under = python_kept_under,
	.exports = exports,
	.open = open_image,
	.close = free,
	.attach = attach,
	.name_of = python_name_of,
	.locks = python_locks,
	.roles = python_roles,
	.lock_kind = FILM_LOCK_GIL,
	.lock_sure = FILM_HOLDER_LAST,
};
