// SPDX-License-Identifier: Apache-2.0
#include "resolve/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "resolve/jit_names.h"
#include "resolve/kernel_names.h"
#include "unwind/starts.h"

#define FIRST_OF_FILES_NS 10000000000ull

/* How often the kernel is asked for names at most: a module or BPF program may be unloaded. */
#define KERNEL_NS 1000000000ull

/* This many frames of one image do not wait for more. */
#define WAITING_MANY 32768

/*
 * For a film that is looked at while it grows: one SETTLE_PART-th of the time, and not more often
 * than SETTLE_NS. Where new programs come all the time it takes more, so that it is not longer than
 * SETTLE_MOST_NS.
 */
#define SETTLE_PART    600
#define SETTLE_LEAST   40
#define SETTLE_NS      3000000000ull
#define SETTLE_MOST_NS 4000000000ull

/* To look for names of JIT code takes at most this part of the time of one CPU. */
#define JIT_PART 500

/*
 * And of what processes that end leave behind, this part; so much may be saved up for a moment when
 * many of them end.
 */
#define JIT_END_PART 20
#define JIT_END_MOST 500000000ull

/* Functions of JIT code that are kept of all processes together: 56 bytes each. */
#define JIT_HELD_MAX (1u << 19)

struct schedule {
	uint64_t begin, next;
};

/* Frames of one image (or of the kernel) that wait. */
struct waiting {
	const struct image *image; /* null: the kernel */
	vec(uint64_t) addresses;
	vec(uint32_t) frames; /* of the film, beside addresses */
};

struct names {
	struct symbols *symbols;
	struct film_writer *film;
	struct allowance *allowance;
	struct kernel_names of_kernel;
	uint64_t next_kernel; /* when it is asked for names again */
	vec(struct waiting *) all;
	struct map by_image; /* its number -> struct waiting * */
	struct map by_pid;   /* -> struct jit_names * */
	struct waiting *kernel;
	struct schedule files;
	struct jit_losses lost; /* of processes that are gone */
	uint64_t next_jit;	/* when JIT code is named again */
	uint64_t jit_end_left;	/* ns for processes that end, as of */
	uint64_t jit_end_asked; /* ns of CLOCK_MONOTONIC */
	uint64_t jit_unread;	/* processes that ended when there was no time left for theirs */
	uint64_t next_settle;	/* when all that waits is named again */
	bool is_settled;	/* nothing came to wait since then */
	struct starts starts;	/* of functions that have no name */
	uint64_t split;		/* places whose inlined functions are in .dwo files */
	bool leaves_builds;	/* as in struct symbol_options */
	bool no_kernel_names;	/* the kernel's own answer cannot be had */
	uint64_t unread;	/* frames of files that there was no time to read */
	uint64_t wanted, named;
};

int names_new(const struct symbol_options *options, struct film_writer *film, struct probes *probes,
	      struct allowance *allowance, struct names **result)
{
	struct names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return err;
	names->film = film;
	names->of_kernel.probes = probes;
	names->allowance = allowance;
	names->leaves_builds = options->leaves_builds;
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
	uint64_t pid, jit;

	if (!names)
		return;
	vec_foreach (&names->all, waiting)
		waiting_free(*waiting);
	vec_free(&names->all);
	for (size_t i = 0; map_next(&names->by_pid, &i, &pid, &jit);)
		jit_names_free((struct jit_names *)(uintptr_t)jit);
	map_free(&names->by_image);
	map_free(&names->by_pid);
	starts_free(&names->starts);
	symbols_free(names->symbols);
	kernel_names_free(&names->of_kernel);
	free(names);
}

static struct waiting *waiting_new(struct names *names, const struct image *image)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->image = image;
	if (vec_push(&names->all, waiting))
		return waiting;
	free(waiting);
	return NULL;
}

/* The entry of key in one of the maps, made if there is none. */
static struct waiting *waiting_of(struct names *names, struct map *map, uint64_t key,
				  const struct image *image)
{
	uint64_t *known = map_get(map, key);
	struct waiting *waiting;

	if (known)
		return (struct waiting *)(uintptr_t)*known;
	waiting = waiting_new(names, image);
	if (waiting)
		map_put(map, key, (uintptr_t)waiting);
	return waiting;
}

static void want(struct names *names, struct waiting *waiting, uint32_t frame, uint64_t address)
{
	names->wanted++;
	names->is_settled = false;
	if (!waiting || !vec_push(&waiting->addresses, address))
		return;
	if (!vec_push(&waiting->frames, frame))
		waiting->addresses.count--;
}

void names_want(struct names *names, const struct image *image, uint32_t frame, uint64_t address)
{
	want(names, waiting_of(names, &names->by_image, image->number, image), frame, address);
}

void names_want_kernel(struct names *names, uint32_t frame, uint64_t address)
{
	if (!names->kernel)
		names->kernel = waiting_new(names, NULL);
	want(names, names->kernel, frame, address);
}

void names_want_jit(struct names *names, pid_t pid, uint32_t frame, uint64_t address)
{
	uint64_t *known = map_get(&names->by_pid, (uint64_t)pid);
	struct jit_names *jit = known ? (struct jit_names *)(uintptr_t)*known : NULL;

	names->wanted++;
	names->is_settled = false;
	/* its files are opened at once: a process that ends takes the way to them with it */
	if (!jit) {
		jit = jit_names_new(pid, symbols_far(names->symbols));
		if (jit && !map_put(&names->by_pid, (uint64_t)pid, (uintptr_t)jit)) {
			jit_names_free(jit);
			jit = NULL;
		}
	}
	if (jit)
		jit_names_want(jit, frame, address);
}

uint32_t names_jit_age(const struct names *names, pid_t pid)
{
	const uint64_t *known = map_get(&names->by_pid, (uint64_t)pid);

	return known ? jit_names_age((const struct jit_names *)(uintptr_t)*known) : 0;
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

/* The starts of functions that have no name by their frames' addresses. */
struct unnamed {
	struct naming *naming;
	uint64_t *starts; /* beside those that wait; 0: not known */
};

static void start_found(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct unnamed *unnamed = context;
	const struct waiting *waiting = unnamed->naming->waiting;

	(void)size;
	unnamed->starts[index] = start;
	film_start_frame(unnamed->naming->names->film, waiting->frames.at[index],
			 waiting->addresses.at[index], start);
}

static void start_guessed(void *context, size_t index, uint64_t start, bool is_sure)
{
	static const struct film_name decoded = {.file = FILM_START_DECODED};
	const struct unnamed *unnamed = context;

	start_found(context, index, start, 0);
	if (!is_sure)
		unnamed->starts[index] = 0; /* a name of what is there may be a neighbour's */
	film_name_frame(unnamed->naming->names->film, unnamed->naming->waiting->frames.at[index],
			&decoded, 1);
}

/* Only the name: the line is that of another place. */
static void start_named(void *context, size_t index, const struct symbol_name *found, size_t count)
{
	const struct symbol_name name = {.function = found[count - 1].function};

	name_found(context, index, &name, 1);
}

static void name_starts(struct unnamed *unnamed, const struct symbol_image *file)
{
	struct waiting *waiting = unnamed->naming->waiting;
	size_t count = waiting->addresses.count;

	symbols_of_starts(unnamed->naming->names->symbols, file, waiting->addresses.at,
			  unnamed->starts, count, start_named, unnamed->naming, NULL);
	drop_named(waiting);
}

/* Of a function without a name at least all places become one. */
static void find_starts(struct naming *naming, const struct symbol_image *file, bool has_symbols)
{
	const struct image *image = naming->waiting->image;
	const struct starts_of of = {
		.number = image->number,
		.fd = image->memory ? -1 : image->fd,
		.memory = image->memory,
		.size = image->memory_size,
	};
	size_t count = naming->waiting->addresses.count;
	struct unnamed unnamed = {naming, NULL};

	if (!count || (!image->memory && image->fd < 0))
		return;
	unnamed.starts = calloc(count, sizeof(*unnamed.starts));
	if (unnamed.starts &&
	    !starts_find(&naming->names->starts, &of, naming->waiting->addresses.at, count,
			 start_found, start_guessed, &unnamed, NULL) &&
	    has_symbols)
		name_starts(&unnamed, file);
	free(unnamed.starts);
}

/* The kernel answers for itself at once; to read all of its symbols is left for the end. */
static void name_kernel(struct names *names, struct waiting *waiting, struct naming *naming,
			bool at_end)
{
	const uint64_t *addresses = waiting->addresses.at;
	size_t count = waiting->addresses.count;

	if (!names->no_kernel_names &&
	    !kernel_names_ask(&names->of_kernel, addresses, count, name_found, naming))
		return;
	names->no_kernel_names = true;
	if (at_end)
		symbols_of_kernel(names->symbols, addresses, count, name_found, naming, NULL);
}

struct symbol_image names_image(const struct image *image)
{
	return (struct symbol_image){
		.fd = image->fd,
		.memory = image->memory,
		.memory_size = image->memory_size,
		.path = image->path,
		.root = image->root,
		.build_id = image->build_id,
		.build_id_size = image->build_id_size,
	};
}

static bool name_image(struct names *names, struct waiting *waiting)
{
	const struct image *image = waiting->image;
	const struct symbol_image file = names_image(image);
	struct naming naming = {names, waiting};
	size_t count = waiting->addresses.count;
	bool is_left = names->leaves_builds && !image->memory && image->build_id_size;
	uint64_t begin;

	if (!allowance_start(names->allowance, image->is_of_root, &begin))
		return false;
	/*
	 * what cannot be named now keeps image and address in the film: nothing is lost by an error
	 */
	if (!is_left) {
		symbols_of_image(names->symbols, &file, waiting->addresses.at, count, name_found,
				 &naming, NULL);
		if (symbols_missing_split(names->symbols))
			names->split += count;
		drop_named(waiting);
	}
	find_starts(&naming, &file, !is_left);
	allowance_end(names->allowance, image->is_of_root, begin);
	return true;
}

/* False: its file has to wait. */
static bool name_waiting(struct names *names, struct waiting *waiting, bool at_end)
{
	struct naming naming = {names, waiting};

	if (!waiting->addresses.count)
		return true;
	if (!waiting->image) {
		name_kernel(names, waiting, &naming, at_end);
		drop_named(waiting);
		if (names->no_kernel_names && !at_end)
			return true;
	} else if (!name_image(names, waiting)) {
		if (!at_end)
			return false;
		names->unread += waiting->addresses.count;
	}
	/* files do not get new symbols */
	waiting->addresses.count = waiting->frames.count = 0;
	return true;
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
	starts_forget(&names->starts, image->number);
}

/* The process that has most gives first: so none loses more to others than they have. */
static void limit_jit(struct names *names)
{
	uint64_t pid, jit;
	size_t held;

	do {
		struct jit_names *largest = NULL;

		held = 0;
		for (size_t i = 0; map_next(&names->by_pid, &i, &pid, &jit);) {
			struct jit_names *of = (struct jit_names *)(uintptr_t)jit;

			held += jit_names_held(of);
			if (!largest || jit_names_held(of) > jit_names_held(largest))
				largest = of;
		}
		if (held > JIT_HELD_MAX)
			jit_names_forget(largest);
	} while (held > JIT_HELD_MAX);
}

/* Whether there is time for the names of one more process that has ended. */
static bool has_time_for_ends(struct names *names, uint64_t now)
{
	names->jit_end_left += (now - names->jit_end_asked) / JIT_END_PART;
	if (names->jit_end_left > JIT_END_MOST)
		names->jit_end_left = JIT_END_MOST;
	names->jit_end_asked = now;
	return names->jit_end_left > 0;
}

static void name_ended(struct names *names, struct jit_names *jit)
{
	uint64_t begin = clock_ns(), used;

	if (!has_time_for_ends(names, begin)) {
		names->jit_unread++;
		return;
	}
	names->named += jit_names_round(jit, names->film, true);
	used = clock_ns() - begin;
	names->jit_end_left -= used < names->jit_end_left ? used : names->jit_end_left;
}

void names_process_gone(struct names *names, pid_t pid)
{
	uint64_t *known = map_get(&names->by_pid, (uint64_t)pid);
	struct jit_names *jit;

	if (!known)
		return;
	jit = (struct jit_names *)(uintptr_t)*known;
	name_ended(names, jit);
	jit_names_losses(jit, &names->lost);
	jit_names_free(jit);
	map_remove(&names->by_pid, (uint64_t)pid);
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

static void name_all_jit(struct names *names, bool at_end)
{
	uint64_t pid, jit;

	for (size_t i = 0; map_next(&names->by_pid, &i, &pid, &jit);)
		names->named +=
			jit_names_round((struct jit_names *)(uintptr_t)jit, names->film, at_end);
	limit_jit(names);
}

/*
 * Soon, since code is thrown away and its place used again; a round that took long is the last one
 * for JIT_PART times as long.
 */
static void name_jit_early(struct names *names, uint64_t now)
{
	uint64_t begin = clock_ns();

	if (now < names->next_jit)
		return;
	name_all_jit(names, false);
	names->next_jit = now + JIT_PART * (clock_ns() - begin);
}

void names_early(struct names *names, uint64_t now)
{
	bool files = is_due(&names->files, now, FIRST_OF_FILES_NS);
	bool kernel = !names->no_kernel_names && now >= names->next_kernel;

	if (kernel)
		names->next_kernel = now + KERNEL_NS;
	name_jit_early(names, now);
	vec_foreach (&names->all, waiting) {
		struct waiting *w = *waiting;

		bool is_many = w->addresses.count >= WAITING_MANY;

		if (w->addresses.count && (is_many || (w == names->kernel ? kernel : files)))
			name_waiting(names, w, is_many);
	}
}

bool names_settle(struct names *names, uint64_t now)
{
	uint64_t begin, pause;

	if (names->is_settled || now < names->next_settle)
		return names->is_settled;
	begin = clock_thread_ns();
	name_all_jit(names, false);
	names->is_settled = true;
	vec_foreach (&names->all, waiting)
		names->is_settled &= name_waiting(names, *waiting, false);
	pause = clock_pause(clock_thread_ns() - begin, SETTLE_PART, SETTLE_MOST_NS, SETTLE_LEAST);
	names->next_settle = now + (pause > SETTLE_NS ? pause : SETTLE_NS);
	return names->is_settled;
}

static void report_losses(struct names *names)
{
	struct jit_losses lost = names->lost;
	uint64_t pid, jit;

	for (size_t i = 0; map_next(&names->by_pid, &i, &pid, &jit);)
		jit_names_losses((const struct jit_names *)(uintptr_t)jit, &lost);
	if (lost.refused)
		film_loss(names->film, 0, "functions of JIT code over the limit of what is kept",
			  lost.refused);
	if (names->split)
		film_loss(names->film, 0,
			  "inlined functions of places: in .dwo files, which are not there",
			  names->split);
	if (lost.passed)
		film_loss(names->film, 0, "maps of JIT code of which only what is newest was read",
			  lost.passed);
	if (names->unread)
		film_loss(names->film, 0,
			  "frame without a name: no time was left to read its file, which "
			  "'stackcam resolve' does",
			  names->unread);
	if (names->jit_unread)
		film_loss(names->film, 0,
			  "maps of JIT code of processes that ended too fast for all to be read",
			  names->jit_unread);
	if (lost.unbelieved)
		film_loss(names->film, 0,
			  "names of JIT code in files of others or that cannot be read",
			  lost.unbelieved);
}

void names_all(struct names *names)
{
	name_all_jit(names, true);
	vec_foreach (&names->all, waiting)
		name_waiting(names, *waiting, true);
	report_losses(names);
}

void names_turn(struct names *names, struct film_writer *film)
{
	uint64_t pid, jit;

	names->film = film;
	names->files = (struct schedule){0};
	for (size_t i = 0; map_next(&names->by_pid, &i, &pid, &jit);)
		jit_names_turn((struct jit_names *)(uintptr_t)jit, &names->lost);
}

void names_statistics(const struct names *names, uint64_t *wanted, uint64_t *named)
{
	*wanted = names->wanted;
	*named = names->named;
}
