// SPDX-License-Identifier: Apache-2.0
#include "camera/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "camera/kernel_names.h"
#include "unwind/functions.h"

/* A file has its names as long as it is open; a map of JIT code goes with its process. */
#define FIRST_OF_FILES_NS 10000000000ull

struct schedule {
	uint64_t begin, next;
};

/* Frames of one image (or of the kernel, or of one process's JIT code) that wait. */
struct waiting {
	const struct image *image; /* null: the kernel, or JIT code of pid */
	pid_t pid;
	struct schedule tries; /* of JIT code */
	vec(uint64_t) addresses;
	vec(uint32_t) frames; /* of the film, beside addresses */
};

struct names {
	struct symbols *symbols;
	struct film_writer *film;
	struct probes *probes;
	vec(struct waiting *) all;
	struct map by_image, by_pid; /* image number, pid -> struct waiting * */
	struct waiting *kernel;
	struct schedule files;
	bool no_kernel_names; /* the kernel's own answer cannot be had */
	uint64_t wanted, named;
};

int names_new(const struct symbol_options *options, struct film_writer *film, struct probes *probes,
	      struct names **result)
{
	struct names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return err;
	names->film = film;
	names->probes = probes;
	err = symbols_new(options, &names->symbols);
	if (err) {
		free(names);
		return err;
	}
	*result = names;
	return 0;
}

static void waiting_free(struct waiting *waiting)
{
	vec_free(&waiting->addresses);
	vec_free(&waiting->frames);
	free(waiting);
}

void names_free(struct names *names)
{
	if (!names)
		return;
	vec_foreach (&names->all, waiting)
		waiting_free(*waiting);
	vec_free(&names->all);
	map_free(&names->by_image);
	map_free(&names->by_pid);
	symbols_free(names->symbols);
	free(names);
}

static struct waiting *waiting_new(struct names *names, const struct image *image, pid_t pid)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->image = image;
	waiting->pid = pid;
	if (vec_push(&names->all, waiting))
		return waiting;
	free(waiting);
	return NULL;
}

/* The entry of key in one of the maps, made if there is none. */
static struct waiting *waiting_of(struct names *names, struct map *map, uint64_t key,
				  const struct image *image, pid_t pid)
{
	uint64_t *known = map_get(map, key);
	struct waiting *waiting;

	if (known)
		return (struct waiting *)(uintptr_t)*known;
	waiting = waiting_new(names, image, pid);
	if (waiting)
		map_put(map, key, (uintptr_t)waiting);
	return waiting;
}

static void want(struct names *names, struct waiting *waiting, uint32_t frame, uint64_t address)
{
	names->wanted++;
	if (!waiting || !vec_push(&waiting->addresses, address))
		return;
	if (!vec_push(&waiting->frames, frame))
		waiting->addresses.count--;
}

void names_want(struct names *names, const struct image *image, uint32_t frame, uint64_t address)
{
	want(names, waiting_of(names, &names->by_image, image->number, image, 0), frame, address);
}

void names_want_kernel(struct names *names, uint32_t frame, uint64_t address)
{
	if (!names->kernel)
		names->kernel = waiting_new(names, NULL, 0);
	want(names, names->kernel, frame, address);
}

void names_want_jit(struct names *names, pid_t pid, uint32_t frame, uint64_t address)
{
	want(names, waiting_of(names, &names->by_pid, (uint64_t)pid, NULL, pid), frame, address);
}

struct naming {
	struct names *names;
	struct waiting *waiting;
};

/* Frame 0 in a list of those that wait: it has its name. */
#define NAMED 0u

static void name_found(void *context, size_t index, const struct symbol_name *found, size_t count)
{
	struct naming *naming = context;
	struct film_name chain[64];
	size_t i;

	/* the outermost ones are dropped last: the symbol itself must stay */
	if (count > sizeof(chain) / sizeof(chain[0])) {
		found += count - sizeof(chain) / sizeof(chain[0]);
		count = sizeof(chain) / sizeof(chain[0]);
	}
	for (i = 0; i < count; i++)
		chain[i] = (struct film_name){found[i].function, found[i].file, found[i].line};
	film_name_frame(naming->names->film, naming->waiting->frames.at[index], chain, count);
	naming->waiting->frames.at[index] = NAMED;
	naming->names->named++;
}

static void drop_named(struct waiting *waiting)
{
	size_t kept = 0, i;

	for (i = 0; i < waiting->frames.count; i++) {
		if (waiting->frames.at[i] == NAMED)
			continue;
		waiting->frames.at[kept] = waiting->frames.at[i];
		waiting->addresses.at[kept++] = waiting->addresses.at[i];
	}
	waiting->frames.count = waiting->addresses.count = kept;
}

static void start_found(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct naming *naming = context;

	(void)size;
	film_start_frame(naming->names->film, naming->waiting->frames.at[index], start);
}

/* Of a function without a name at least all places become one. */
static void find_starts(struct naming *naming)
{
	const struct image *image = naming->waiting->image;
	const uint64_t *addresses = naming->waiting->addresses.at;
	size_t count = naming->waiting->addresses.count;

	if (!count)
		return;
	if (image->memory)
		unwind_functions_of_memory(image->memory, image->memory_size, addresses, count,
					   start_found, naming, NULL);
	else if (image->fd >= 0)
		unwind_functions_of_file(image->fd, addresses, count, start_found, naming, NULL);
}

/* The kernel answers for itself at once; to read all of its symbols is left for the end. */
static void name_kernel(struct names *names, struct waiting *waiting, struct naming *naming,
			bool at_end)
{
	const uint64_t *addresses = waiting->addresses.at;
	size_t count = waiting->addresses.count;

	if (!names->no_kernel_names &&
	    !kernel_names_ask(names->probes, addresses, count, name_found, naming))
		return;
	names->no_kernel_names = true;
	if (at_end)
		symbols_of_kernel(names->symbols, addresses, count, name_found, naming, NULL);
}

static void name_waiting(struct names *names, struct waiting *waiting, bool at_end)
{
	const struct image *image = waiting->image;
	struct naming naming = {names, waiting};
	size_t count = waiting->addresses.count;

	if (!count)
		return;
	/* what cannot be named now keeps image and address in the film: nothing is lost by an error */
	if (image) {
		struct symbol_image file = {
			.fd = image->fd,
			.memory = image->memory,
			.memory_size = image->memory_size,
			.path = image->path,
			.root = image->root,
			.build_id = image->build_id,
			.build_id_size = image->build_id_size,
		};
		symbols_of_image(names->symbols, &file, waiting->addresses.at, count, name_found,
				 &naming, NULL);
	} else if (waiting->pid) {
		symbols_of_perf_map(names->symbols, waiting->pid, waiting->addresses.at, count,
				    name_found, &naming, NULL);
	} else {
		name_kernel(names, waiting, &naming, at_end);
	}
	drop_named(waiting);
	if (image)
		find_starts(&naming);
	/* files do not get new symbols; a JIT's map may tell of more when it is read the next time */
	if (!waiting->pid && (waiting != names->kernel || !names->no_kernel_names || at_end))
		waiting->addresses.count = waiting->frames.count = 0;
}

static void finish(struct names *names, struct map *map, uint64_t key)
{
	uint64_t *known = map_get(map, key);
	struct waiting *waiting;

	if (!known)
		return;
	waiting = (struct waiting *)(uintptr_t)*known;
	name_waiting(names, waiting, true);
	map_remove(map, key);
	vec_foreach (&names->all, other) {
		if (*other != waiting)
			continue;
		*other = *vec_last(&names->all);
		names->all.count--;
		break;
	}
	waiting_free(waiting);
}

void names_image_gone(struct names *names, const struct image *image)
{
	finish(names, &names->by_image, image->number);
}

void names_process_gone(struct names *names, pid_t pid)
{
	finish(names, &names->by_pid, (uint64_t)pid);
}

/* Each try is as far from the one before as all of them together took. */
static bool is_due(struct schedule *schedule, uint64_t now, uint64_t first)
{
	if (!schedule->begin) {
		schedule->begin = now;
		schedule->next = now + first;
	}
	if (now < schedule->next)
		return false;
	schedule->next = now + 2 * (now - schedule->begin);
	return true;
}

void names_early(struct names *names, uint64_t now)
{
	bool files = is_due(&names->files, now, FIRST_OF_FILES_NS);

	vec_foreach (&names->all, waiting) {
		struct waiting *w = *waiting;

		if (!w->addresses.count)
			continue;
		if (w == names->kernel ? !names->no_kernel_names
		    : w->pid	       ? is_due(&w->tries, now, 0)
				       : files)
			name_waiting(names, w, false);
	}
}

void names_all(struct names *names)
{
	vec_foreach (&names->all, waiting)
		name_waiting(names, *waiting, true);
}

void names_statistics(const struct names *names, uint64_t *wanted, uint64_t *named)
{
	*wanted = names->wanted;
	*named = names->named;
}
