// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of asyncio's C part (Modules/_asynciomodule.c) are static: a stripped file has no
 * names for them. But Python finds them by tables in its data, which have names:
 *
 *	up to 3.11	PyTypeObject		its name, size, and functions at fixed places
 *	since 3.12	PyType_Spec		its name, size, and a list of PyType_Slot
 *	all		PyMethodDef		a method's name, and its function
 *
 * So a name is looked for among the texts of the file, and then what points to it.
 *
 * Where steps end is read from the code (python/tasks_code.c).
 */
#include "runtime/python/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "runtime/python/layout.h"
#include "runtime/python/tasks_code.h"
#include "runtime/runtime.h"

/* The most bytes of a segment that are searched. */
#define DATA_MAX (32u << 20)

/* The most texts that have one of the names. */
#define TEXTS_MAX 16

/* The most entries of a list of slots, or of methods. */
#define ENTRIES_MAX 64

/* Where versions have what, 3.8 first: struct tasks_image, and the size of a task's record. */
static const struct version {
	uint16_t state, waiter, coroutine, name, qualified, text, size;
} versions[] = {
	{72, 104, 112, 120, 56, 48, 144},  {80, 144, 152, 160, 56, 48, 184},
	{88, 152, 160, 168, 48, 48, 192},  {88, 128, 136, 144, 40, 48, 176},
	{88, 128, 136, 144, 32, 40, 176},  {96, 112, 120, 128, 32, 40, 144},
	{104, 120, 128, 136, 32, 40, 168}, {104, 120, 128, 136, 32, 40, 168},
};

enum {
	FIRST_MINOR = 8,
	LAST_MINOR = FIRST_MINOR + sizeof(versions) / sizeof(versions[0]) - 1,
	/*
	 * the first ones that make types of specifications, that wake tasks by a method, and whose
	 * tuples have a hash
	 */
	SPEC_MINOR = 12,
	METHOD_MINOR = 10,
	HASH_MINOR = 14,
	EAGER_MINOR = 12, /* tasks may run as they are made */
	/* before a task lie two words of the collector, and since then two of its attributes */
	GC_BYTES = 16,
	ATTRIBUTES_MINOR = 13,
	ATTRIBUTES_BYTES = 16,
	/* since 3.14 there is room for attributes behind it, less for each task that is made */
	ROOM_MINOR = 14,
	ROOM_BYTES = 280,
};

/* Include/cpython/object.h: offsets in PyTypeObject; Include/typeslots.h: numbers of slots. */
struct slot {
	uint16_t offset;
	int32_t number;
};
static const struct slot slot_call = {128, 50}, slot_init = {296, 60}, slot_methods = {232, 64};

enum {
	TYPE_NAME = 24,
	TYPE_SIZE = 32,
	SPEC_SIZE = 8,
	SPEC_SLOTS = 24,
	SLOT_BYTES = 16,
	METHOD_BYTES = 32,
};

struct search {
	struct elf_image elf;
	struct elf_part parts[ELF_IMAGE_CODE_MAX]; /* data, as the dynamic linker leaves it */
	size_t count;
	unsigned int minor;
	int fd;
	uint64_t impl; /* what runs a coroutine on; 0: not known */
	struct python_tasks *tasks;
	struct fail *why;
};

static int refuse(struct search *s, const char *what)
{
	return fail(s->why, -ENOTSUP, NULL, "asyncio of CPython 3.%u: %s", s->minor, what);
}

/* -- data -------------------------------------------------------------------------------------- */

static bool is_code(const struct elf_image *image, const struct elf_range *range)
{
	return elf_image_is_code(image, range->start, 1);
}

static int load(struct search *s)
{
	for (unsigned int i = 0; i < s->elf.loads; i++) {
		const struct elf_range *range = &s->elf.load[i];
		uint64_t size = elf_image_left(&s->elf, range->start);
		int err;

		if (is_code(&s->elf, range) || !size || size > DATA_MAX)
			continue;
		err = elf_image_load(&s->elf, range->start, size, &s->parts[s->count]);
		if (err == -ENOMEM)
			return err;
		s->parts[s->count].address = range->start;
		s->count += !err;
	}
	return 0;
}

/* What is there; null: not all of these bytes are. */
static const uint8_t *data_at(const struct search *s, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct elf_part *part = &s->parts[i];
		uint64_t inside = address - part->address;

		if (address >= part->address && inside < part->size && size <= part->size - inside)
			return part->at + inside;
	}
	return NULL;
}

static uint64_t word_at(const struct search *s, uint64_t address)
{
	const uint8_t *at = data_at(s, address, 8);
	uint64_t word = 0;

	if (at)
		memcpy(&word, at, sizeof(word));
	return word;
}

static int32_t number_at(const struct search *s, uint64_t address)
{
	return (int32_t)(uint32_t)word_at(s, address);
}

/* Whether a text stands there, whole. */
static bool is_text(const struct search *s, uint64_t address, const char *text)
{
	size_t size = strlen(text) + 1;
	const uint8_t *at = data_at(s, address, size);

	return at && !memcmp(at, text, size);
}

/* Texts with a name, with and without the module in front. Returns how many. */
static size_t find_texts(const struct search *s, const char *name, uint64_t texts[TEXTS_MAX])
{
	static const char module[] = "_asyncio.";
	size_t size = strlen(name) + 1, count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const uint8_t *from = s->parts[i].at, *end = from + s->parts[i].size, *at;

		while (count + 2 <= TEXTS_MAX &&
		       (at = memmem(from, (size_t)(end - from), name, size))) {
			uint64_t address = s->parts[i].address + (uint64_t)(at - s->parts[i].at);

			from = at + 1;
			texts[count++] = address;
			address -= sizeof(module) - 1;
			if (data_at(s, address, sizeof(module)) &&
			    !memcmp(data_at(s, address, sizeof(module)), module,
				    sizeof(module) - 1))
				texts[count++] = address;
		}
	}
	return count;
}

/*
 * Calls is_it() with each place that points to such a text, until it finds it. Returns that place;
 * 0: there is none.
 */
static uint64_t find_pointer(const struct search *s, const char *name,
			     bool (*is_it)(const struct search *s, uint64_t place))
{
	uint64_t texts[TEXTS_MAX];
	size_t count = find_texts(s, name, texts);

	for (size_t i = 0; i < s->count; i++)
		for (size_t at = 0; at + 8 <= s->parts[i].size; at += 8) {
			uint64_t word, place = s->parts[i].address + at;

			memcpy(&word, s->parts[i].at + at, sizeof(word));
			for (size_t n = 0; word && n < count; n++)
				if (word == texts[n] && is_it(s, place))
					return place;
		}
	return 0;
}

/* -- types ------------------------------------------------------------------------------------- */

static bool is_function(const struct search *s, uint64_t address)
{
	return elf_image_is_code(&s->elf, address, 1);
}

/* What a type, whose name is pointed to at place, has in a slot; 0: nothing. */
static uint64_t slot_of(const struct search *s, uint64_t place, struct slot slot)
{
	uint64_t slots;

	if (s->minor < SPEC_MINOR)
		return word_at(s, place - TYPE_NAME + slot.offset);
	slots = word_at(s, place + SPEC_SLOTS);
	for (unsigned int i = 0; i < ENTRIES_MAX; i++) {
		int32_t number = number_at(s, slots + (uint64_t)i * SLOT_BYTES);

		if (!number)
			break;
		if (number == slot.number)
			return word_at(s, slots + (uint64_t)i * SLOT_BYTES + 8);
	}
	return 0;
}

static uint64_t size_of(const struct search *s, uint64_t place)
{
	if (s->minor < SPEC_MINOR)
		return word_at(s, place - TYPE_NAME + TYPE_SIZE);
	return (uint32_t)number_at(s, place + SPEC_SIZE);
}

static bool is_wrapper(const struct search *s, uint64_t place)
{
	return is_function(s, slot_of(s, place, slot_call));
}

static bool is_task(const struct search *s, uint64_t place)
{
	return is_function(s, slot_of(s, place, slot_init)) && size_of(s, place) > 64 &&
	       size_of(s, place) < 4096;
}

static bool is_future(const struct search *s, uint64_t place)
{
	return is_task(s, place) && data_at(s, slot_of(s, place, slot_methods), METHOD_BYTES);
}

static bool is_method(const struct search *s, uint64_t place)
{
	return is_function(s, word_at(s, place + 8));
}

/* The function of a method of a type; 0: it has none of that name. */
static uint64_t method_of(const struct search *s, uint64_t place, const char *name)
{
	uint64_t methods = slot_of(s, place, slot_methods);

	for (unsigned int i = 0; i < ENTRIES_MAX; i++) {
		uint64_t method = methods + (uint64_t)i * METHOD_BYTES, text = word_at(s, method);

		if (!text)
			break;
		if (is_text(s, text, name))
			return word_at(s, method + 8);
	}
	return 0;
}

/* -- places ------------------------------------------------------------------------------------ */

/* False: there are too many, or it is something else than code. */
static bool add_site(struct search *s, uint64_t address, enum tasks_place place)
{
	struct python_tasks *tasks = s->tasks;
	struct python_tasks_site site = {.place = place};

	if (tasks->site_count == PYTHON_TASKS_SITES_MAX ||
	    !elf_image_code_offset(&s->elf, address, &site.offset))
		return false;
	for (size_t i = 0; i < tasks->site_count; i++)
		if (tasks->sites[i].offset == site.offset)
			return true;
	tasks->sites[tasks->site_count++] = site;
	return true;
}

/* False: there are too many. */
static bool add_places(struct search *s, const struct tasks_code_places *places,
		       enum tasks_place place)
{
	for (size_t i = 0; i < places->count; i++)
		if (!add_site(s, places->at[i], place))
			return false;
	return true;
}

static int add_returns(struct search *s, uint64_t function, enum tasks_place place)
{
	struct tasks_code_places places = {0};
	int err = tasks_code_returns(&s->elf, s->fd, function, &places);

	if (err == -ENOMEM)
		return err;
	return !err && add_places(s, &places, place)
		       ? 0
		       : refuse(s, "where its steps end is not found");
}

/* Where steps end that these functions begin: the cheap places, else where they return. */
static int add_ends(struct search *s, const uint64_t functions[2])
{
	struct tasks_code_places places = {0};
	int err = tasks_code_behind_steps(&s->elf, s->fd, functions, &s->impl, &places);

	if (err == -ENOMEM || (!err && add_places(s, &places, TASKS_RAN)))
		return err;
	s->impl = 0;
	err = add_returns(s, functions[0], TASKS_STEPPED);
	return err ? err : add_returns(s, functions[1], TASKS_STEPPED);
}

/* Where a task is run as it is made. */
static int add_eager(struct search *s, uint64_t init)
{
	struct tasks_code_places calls = {0}, places = {0};
	int err = s->impl ? tasks_code_behind_making(&s->elf, s->fd, init, s->impl, &calls, &places)
			  : -ENODATA;

	if (s->minor < EAGER_MINOR || err == -ENOMEM)
		return err == -ENOMEM ? err : 0;
	if (!err && add_places(s, &calls, TASKS_EAGER) && add_places(s, &places, TASKS_RAN))
		return 0;
	return add_returns(s, init, TASKS_BEGUN);
}

static bool add_entry(struct search *s, uint64_t function, enum tasks_place place)
{
	return function && is_function(s, function) && add_site(s, function, place);
}

/* What runs steps: each is added with its returns. */
static int add_steps(struct search *s)
{
	bool is_method_too = s->minor >= METHOD_MINOR;
	uint64_t step = find_pointer(s, "TaskStepMethWrapper", is_wrapper);
	uint64_t wakeup = is_method_too ? find_pointer(s, "task_wakeup", is_method)
					: find_pointer(s, "TaskWakeupMethWrapper", is_wrapper);

	if (!step || !wakeup)
		return refuse(s, "what runs its steps is not found");
	step = slot_of(s, step, slot_call);
	wakeup = is_method_too ? word_at(s, wakeup + 8) : slot_of(s, wakeup, slot_call);
	if (!add_entry(s, step, TASKS_STEP) ||
	    !add_entry(s, wakeup, is_method_too ? TASKS_WAKEUP : TASKS_STEP))
		return refuse(s, "what runs its steps is not code");
	return add_ends(s, (uint64_t[]){step, wakeup});
}

/* Future's methods after which it is done; those that are not found are not seen. */
static int add_futures(struct search *s)
{
	static const char *const methods[] = {"set_result", "set_exception", "cancel"};
	uint64_t future = find_pointer(s, "_asyncio.Future", is_future);
	bool has_one = false;

	for (size_t i = 0; future && i < sizeof(methods) / sizeof(methods[0]); i++)
		has_one |= add_entry(s, method_of(s, future, methods[i]), TASKS_DONE);
	return has_one ? 0 : refuse(s, "its futures are not found");
}

static int find(struct search *s)
{
	const struct version *version = &versions[s->minor - FIRST_MINOR];
	uint64_t task, init;
	int err = load(s);

	if (err)
		return err;
	task = find_pointer(s, "_asyncio.Task", is_task);
	if (!task)
		return -ENOENT;
	if (size_of(s, task) != version->size)
		return refuse(s, "its tasks are not laid out as is known of that version");
	s->tasks->image = (struct tasks_image){
		.state = version->state,
		.waiter = version->waiter,
		.coroutine = version->coroutine,
		.name = version->name,
		.qualified = version->qualified,
		.text = version->text,
		.item = s->minor < HASH_MINOR ? 24 : 32,
	};
	s->tasks->size = version->size;
	s->tasks->before = GC_BYTES + (s->minor < ATTRIBUTES_MINOR ? 0 : ATTRIBUTES_BYTES);
	s->tasks->behind = s->minor < ROOM_MINOR ? 0 : ROOM_BYTES;
	init = slot_of(s, task, slot_init);
	if (!add_entry(s, init, TASKS_MADE))
		return refuse(s, "what makes its tasks is not found");
	err = add_steps(s);
	if (!err)
		err = add_futures(s);
	return err ? err : add_eager(s, init);
}

/* -- versions ---------------------------------------------------------------------------------- */

/*
 * A module says in its name what it is for: "_asyncio.cpython-313t-x86_64-linux-gnu.so". Returns
 * 0 and the version; -ENOENT: it is another file; -ENOTSUP.
 */
static int version_of_name(const char *path, unsigned int *minor, struct fail *why)
{
	static const char begin[] = "_asyncio.cpython-3";
	const char *name = strrchr(path, '/');
	char *end;

	name = name ? name + 1 : path;
	if (strncmp(name, begin, sizeof(begin) - 1))
		return -ENOENT;
	*minor = (unsigned int)strtoul(name + sizeof(begin) - 1, &end, 10);
	return *end == '-' || *minor < FIRST_MINOR
		       ? 0
		       : fail(why, -ENOTSUP, NULL,
			      "asyncio of CPython 3.%u is built in a way that is not known",
			      *minor);
}

/* An interpreter that has it within itself is asked for its version. */
static int version_of_interpreter(const struct image *image, unsigned int *minor)
{
	struct python_layout layout;
	struct budget budget;
	struct fail ignored = {0};
	int err;

	runtime_budget(&budget);
	if (!runtime_is_suspect(&runtime_python, image, &budget))
		return -ENOENT;
	err = python_layout_of(image, &layout, &budget, &ignored);
	*minor = layout.minor;
	/* what it is refused for is said where its stacks are */
	return err == -ENOMEM ? err : err ? -ENOENT : 0;
}

int python_tasks_of(struct python_tasks *tasks, const struct image *image, struct fail *why)
{
	struct search s = {.fd = image->fd, .tasks = tasks, .why = why};
	int err;

	*tasks = (struct python_tasks){0};
	if (image->kind != IMAGE_FILE || image->fd < 0 || !image->is_elf)
		return -ENOENT;
	err = version_of_name(image->path, &s.minor, why);
	if (err == -ENOENT)
		err = version_of_interpreter(image, &s.minor);
	if (err)
		return err;
	if (s.minor < FIRST_MINOR || s.minor > LAST_MINOR)
		return refuse(&s, "its tasks are known of 3.8 to 3.15 only");
	err = elf_image_open_bare(&s.elf, image->fd, NULL, 0, why);
	if (!err)
		err = find(&s);
	elf_image_close(&s.elf);
	return err;
}
