// SPDX-License-Identifier: Apache-2.0
/*
 * Films that become one say what they said before: every sample with its time, process, thread,
 * names and value; what is the same in two of them is there once.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "film/labels.h"
#include "film/merge.h"
#include "film/writing.h"
#include "make.h"

#define WALL 1700000000000000000
#define BOOT 1000000000000ull /* the clock of the machine when the first film begins */

struct world {
	unsigned int seed;
	uint64_t start; /* of the film, by its clock */
	int64_t wall_offset;
	const char *labels, *hostname;
	size_t known;  /* the writer remembers no more than that; 0: as it likes */
	uint32_t more; /* stacks that no sample has */
	bool all_named;
};

static uint32_t made(unsigned int *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static void name(struct film_writer *w, uint32_t frame, const char *format, unsigned int number)
{
	char function[64];
	struct film_name names[2] = {{function, "a.c", number}, {"outer", "", 0}};

	snprintf(function, sizeof(function), format, number);
	film_name_frame(w, frame, names, number % 3 ? 1 : 2);
}

struct images {
	uint32_t with_id, without_id, kernel, jit[2], python, script;
};

static void add_images(struct film_writer *w, struct images *images)
{
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/a", {1, 2, 3}, 3};

	images->with_id = film_add_image(w, &image);
	image = (struct film_image){.kind = FILM_IMAGE_FILE, .path = "/tmp/built"};
	images->without_id = film_add_image(w, &image);
	image = (struct film_image){.kind = FILM_IMAGE_KERNEL, .path = "[kernel]"};
	images->kernel = film_add_image(w, &image);
	image = (struct film_image){.kind = FILM_IMAGE_ANON, .path = "[jit]"};
	images->jit[0] = film_add_image(w, &image);
	images->jit[1] = film_add_image(w, &image);
	image = (struct film_image){.kind = FILM_IMAGE_ANON, .path = "[python]"};
	images->python = film_add_image(w, &image);
	image = (struct film_image){.kind = FILM_IMAGE_SCRIPT, .path = "/srv/app.py"};
	images->script = film_add_image(w, &image);
}

/*
 * One of many places; what lies there is another thing in each film, where films cannot know
 * better.
 */
static uint32_t any_frame(struct film_writer *w, struct images *images, struct world *world)
{
	unsigned int n = made(&world->seed, 40), which = made(&world->seed, 8);
	uint32_t frame;

	switch (which) {
	case 0:
	case 1:
		frame = film_frame(w, images->with_id, FILM_FRAME_NATIVE, 0x1000 + n);
		name(w, frame, "function_%u", n);
		return frame;
	case 2:
		frame = film_frame(w, images->without_id, FILM_FRAME_NATIVE, 0x1000 + n);
		name(w, frame, "built_%u", n + (unsigned int)(world->start >> 40));
		return frame;
	case 3:
		frame = film_frame(w, images->kernel, FILM_FRAME_KERNEL, ~0xffffull + n);
		name(w, frame, "sys_%u", n);
		return frame;
	case 4:
		frame = film_frame(w, images->jit[n & 1], FILM_FRAME_JIT, 0x7000 + n / 4);
		if (n % 5 || world->all_named)
			name(w, frame, "jitted_%u", n / 4 * 2 + (n & 1));
		return frame;
	case 5:
		frame = film_frame(w, n % 2 ? images->python : images->script, FILM_FRAME_PYTHON,
				   n + (world->start & 1023));
		name(w, frame, "def_%u", n);
		return frame;
	case 6:
		frame = film_frame(w, images->with_id, FILM_FRAME_NATIVE, 0x9000 + n);
		film_start_frame(w, frame, 0x9000 + n, 0x9000 + n / 8 * 8);
		return frame;
	default:
		return film_mark(w, n % 2 ? "[truncated: a]" : "[truncated: b]");
	}
}

static uint32_t any_thread(struct film_writer *w, uint32_t *threads, struct world *world)
{
	unsigned int n = made(&world->seed, 8);
	/* no two recorders know the start to the nanosecond */
	uint64_t late = world->start / SECOND * 1000;
	struct film_process process = {.pid = 100 + n / 2,
				       .parent = 1,
				       .start = late + (world->start >= BOOT ? 5000 + n / 2 : 77),
				       .comm = "app",
				       .command = "app --serve",
				       .exe = n / 2 == 3 ? "/usr/bin/b" : "/usr/bin/a",
				       .cgroup = "/system.slice/app.service",
				       .container = ""};
	struct film_thread thread = {
		.tid = 1000 + n, .start = late + 6000, .comm = n ? "worker" : "main"};

	if (!threads[8 + n / 2])
		threads[8 + n / 2] = film_add_process(w, &process);
	thread.process = threads[8 + n / 2];
	if (!threads[n])
		threads[n] = film_add_thread(w, &thread);
	return threads[n];
}

static void make_film(const char *path, struct world world, unsigned int samples)
{
	struct film_info info = {
		.version = "1",
		.hostname = world.hostname ? world.hostname : "web7",
		.kernel = "6.1",
		.arch = "x86_64",
		.command = "stackcam serve",
		.cpus = 2,
		.start = world.start,
		.wall_offset = world.wall_offset,
		.labels = world.labels,
	};
	struct film_event events[] = {{"on-cpu", "ns", "cpu-clock", 99}, {"waits", "count", "", 0}};
	struct film_writer *w = NULL;
	struct images images;
	uint32_t threads[16] = {0}, ids[2];
	bool swapped = world.seed & 1;
	uint64_t time = world.start;

	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	if (world.known) {
		w->known_functions.limit = w->known_frames.limit = world.known;
		w->known_stacks.limit = w->known_files.limit = world.known;
	}
	/* the same event has other ids in other films */
	ids[swapped] = film_add_event(w, &events[swapped]);
	ids[!swapped] = film_add_event(w, &events[!swapped]);
	add_images(w, &images);
	for (unsigned int i = 0; i < samples; i++) {
		unsigned int depth = made(&world.seed, 6);
		uint32_t stack = 0, thread = any_thread(w, threads, &world);

		while (depth--)
			stack = film_stack(w, stack, any_frame(w, &images, &world),
					   made(&world.seed, 9) ? FILM_HOW_EXACT
								: FILM_HOW_FRAME_POINTER);
		time += 10000000 + made(&world.seed, 1000);
		film_sample(w, ids[made(&world.seed, 7) == 0], time, thread, stack,
			    1 + made(&world.seed, 3));
		if (i % 100 == 99)
			commit(w, time);
	}
	/* two below each, of the first ones on */
	for (uint32_t i = 0; i < world.more; i++)
		film_stack(w, 1 + i / 2, 1 + i % 2, FILM_HOW_EXACT);
	film_loss(w, ids[0], "sample: ring full", 3);
	film_loss(w, 0, "film: no room for another stack", 2);
	close_film(w, time);
}

/* What a film says, in any order: a sum over all samples, and how many there are. */
struct digest {
	const struct film *film;
	/* of the clock that times are given in: they are rounded when films become one */
	int64_t offset;
	uint32_t event;
	uint64_t sum, count;
};

static uint64_t mix(uint64_t hash, const char *text)
{
	return hash_u64(hash ^ hash_bytes(text, strlen(text)));
}

static uint64_t hash_frame(const struct film *film, uint32_t id, uint64_t hash)
{
	const struct film_frame *frame = &film->frames[id];
	const struct film_inline *inlines;
	size_t count;

	hash = mix(hash + (uint64_t)frame->kind, film->images[frame->image].path);
	hash = mix(hash, film->functions[frame->function].name);
	hash = mix(hash + frame->line, frame->file);
	if (frame->kind < FILM_FRAME_PYTHON)
		hash = hash_u64(hash + frame->address);
	if (!frame->function)
		hash = hash_u64(hash + frame->start);
	inlines = film_inlines_of(film, id, &count);
	for (size_t i = 0; i < count; i++)
		hash = mix(hash + inlines[i].depth, film->functions[inlines[i].function].name);
	return hash;
}

static int add_samples(void *context, const struct film_samples *samples)
{
	struct digest *d = context;
	const struct film *film = d->film;

	for (size_t i = 0; i < samples->count; i++) {
		const struct film_thread *thread = &film->threads[samples->thread[i]];
		const struct film_process *process = &film->processes[thread->process];
		/* by the clock of the first film, which all of these are merged to */
		uint64_t time = samples->time[i] + (uint64_t)(film->info.wall_offset - d->offset);
		uint64_t hash = hash_u64(time - time % 1024);

		hash = mix(mix(hash, film->events[d->event].name), process->exe);
		hash = hash_u64(hash + ((uint64_t)process->pid << 32 | thread->tid));
		hash = mix(hash + samples->value[i], thread->comm);
		for (uint32_t s = samples->stack[i]; s; s = film->stacks[s].parent)
			hash = hash_frame(film, film->stacks[s].frame,
					  hash + (uint64_t)film->stacks[s].how);
		d->sum += hash;
	}
	d->count += samples->count;
	return 0;
}

static void add_digest(const char *path, struct digest *d)
{
	struct film *film = open_film(path);

	d->film = film;
	for (d->event = 1; d->event < film->event_count; d->event++)
		assert_int_equal(
			film_each_samples(film, d->event, 0, UINT64_MAX, add_samples, d, NULL), 0);
	film_free(film);
}

#define FILMS_MAX 8
static char paths[FILMS_MAX + 1][160];

static const char *const *make_films(const struct world *worlds, size_t count, unsigned int samples)
{
	static const char *list[FILMS_MAX];
	const char *first = new_path();

	snprintf(paths[FILMS_MAX], sizeof(paths[0]), "%s.merged", first);
	for (size_t i = 0; i < count; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s.%zu", first, i);
		list[i] = paths[i];
		make_film(paths[i], worlds[i], samples);
	}
	return list;
}

static uint64_t loss_of(const struct film *film, const char *reason)
{
	uint64_t count = 0;

	for (size_t i = 0; i < film->loss_count; i++) {
		if (!strcmp(film->losses[i].reason, reason))
			count += film->losses[i].count;
	}
	return count;
}

static const struct world worlds[] = {
	{.seed = 1, .start = BOOT, .wall_offset = WALL},
	{.seed = 2, .start = BOOT + 100 * SECOND, .wall_offset = WALL + 1000000},
	{.seed = 3, .start = BOOT + 200 * SECOND, .wall_offset = WALL - 1000000},
	/* after the machine was started again */
	{.seed = 4, .start = 9 * SECOND, .wall_offset = WALL + (int64_t)(BOOT + 300 * SECOND)},
};

static void test_all_is_kept(void **state)
{
	const char *const *list = make_films(worlds, 4, 2000);
	struct digest parts = {.offset = WALL}, whole = {.offset = WALL};
	struct film *film;
	struct fail why = {0};
	size_t bad;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		add_digest(list[i], &parts);
	if (film_merge_files(list, 4, paths[FILMS_MAX], true, &bad, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	add_digest(paths[FILMS_MAX], &whole);
	assert_int_equal(whole.count, 8000);
	assert_int_equal(whole.count, parts.count);
	assert_true(whole.sum == parts.sum);
	film = open_film(paths[FILMS_MAX]);
	check_promises(film);
	/* four processes, and four more after the start */
	assert_int_equal(film->process_count - 1, 8);
	assert_int_equal(film->thread_count - 1, 16);
	assert_int_equal(film->event_count - 1, 2);
	assert_int_equal(loss_of(film, "sample: ring full"), 12);
	assert_int_equal(loss_of(film, "film: no room for another stack"), 8);
	assert_string_equal(film->info.hostname, "web7");
	assert_int_equal(film->info.start, BOOT);
	assert_true(film->info.end > BOOT + 300 * SECOND);
	film_free(film);
	remove_folder();
}

/*
 * A writer that forgets writes things again: the film says the same. When it is merged, things are
 * in it once, as if nothing had been forgotten.
 */
static void test_what_was_written_twice(void **state)
{
	const struct world twice[] = {
		{.seed = 5, .start = BOOT, .wall_offset = WALL, .all_named = true},
		{.seed = 5, .start = BOOT, .wall_offset = WALL, .all_named = true, .known = 8},
	};
	const char *const *list = make_films(twice, 2, 2000);
	struct digest digests[4] = {{0}};
	struct film *films[4];
	char merged[2][200];
	size_t bad;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const char *path = i < 2 ? list[i] : merged[i - 2];

		if (i >= 2) {
			snprintf(merged[i - 2], sizeof(merged[0]), "%s.%zu", paths[FILMS_MAX], i);
			assert_int_equal(film_merge_files(&list[i - 2], 1, path, true, &bad, NULL),
					 0);
		}
		digests[i].offset = WALL;
		add_digest(path, &digests[i]);
		assert_int_equal(digests[i].count, 2000);
		assert_true(digests[i].sum == digests[0].sum);
		films[i] = open_film(path);
		check_promises(films[i]);
	}
	assert_true(films[1]->function_count > 2 * films[0]->function_count);
	assert_true(films[1]->frame_count > 2 * films[0]->frame_count);
	assert_true(films[1]->stack_count > films[0]->stack_count);
	assert_int_equal(films[3]->function_count, films[2]->function_count);
	assert_int_equal(films[3]->frame_count, films[2]->frame_count);
	assert_int_equal(films[3]->stack_count, films[2]->stack_count);
	for (size_t i = 0; i < 4; i++)
		film_free(films[i]);
	remove_folder();
}

/* A single film with large tables says the same, too; what is in it twice stays so. */
static void test_large_film_is_copied(void **state)
{
	const struct world large = {
		.seed = 5, .start = BOOT, .wall_offset = WALL, .known = 8, .more = 400000};
	const char *const *list = make_films(&large, 1, 2000);
	const char *paths_of[] = {list[0], paths[FILMS_MAX]};
	struct digest digests[2] = {{.offset = WALL}, {.offset = WALL}};
	struct film *films[2];
	size_t bad;

	(void)state;
	assert_int_equal(film_merge_files(list, 1, paths[FILMS_MAX], true, &bad, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		add_digest(paths_of[i], &digests[i]);
		films[i] = open_film(paths_of[i]);
	}
	assert_int_equal(digests[0].count, 2000);
	assert_int_equal(digests[1].count, 2000);
	assert_true(digests[1].sum == digests[0].sum);
	assert_int_equal(films[1]->frame_count, films[0]->frame_count);
	assert_int_equal(films[1]->stack_count, films[0]->stack_count);
	for (size_t i = 0; i < 2; i++)
		film_free(films[i]);
	remove_folder();
}

/* In any order of their names; and a film that is merged already is merged again. */
static void test_order_does_not_matter(void **state)
{
	const char *const *list = make_films(worlds, 4, 300);
	const char *mixed[] = {list[2], list[0], list[3]}, *again[2];
	struct digest parts = {.offset = WALL}, whole = {.offset = WALL};
	char path[200];
	size_t bad;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		add_digest(list[i], &parts);
	assert_int_equal(film_merge_files(mixed, 3, paths[FILMS_MAX], true, &bad, NULL), 0);
	snprintf(path, sizeof(path), "%s.again", paths[FILMS_MAX]);
	again[0] = list[1];
	again[1] = paths[FILMS_MAX];
	assert_int_equal(film_merge_files(again, 2, path, true, &bad, NULL), 0);
	add_digest(path, &whole);
	assert_true(whole.sum == parts.sum);
	remove_folder();
}

/* What comes again in each film is there once: ten films are hardly larger than one. */
static void test_becomes_smaller(void **state)
{
	struct world same[FILMS_MAX];
	const char *const *list;
	struct stat st;
	uint64_t parts = 0;
	size_t bad;

	(void)state;
	for (size_t i = 0; i < FILMS_MAX; i++)
		same[i] = (struct world){.seed = (unsigned int)i,
					 .start = BOOT + i * 10 * SECOND,
					 .wall_offset = WALL};
	list = make_films(same, FILMS_MAX, 990);
	for (size_t i = 0; i < FILMS_MAX; i++) {
		assert_int_equal(stat(list[i], &st), 0);
		parts += (uint64_t)st.st_size;
	}
	assert_int_equal(film_merge_files(list, FILMS_MAX, paths[FILMS_MAX], true, &bad, NULL), 0);
	assert_int_equal(stat(paths[FILMS_MAX], &st), 0);
	assert_true((uint64_t)st.st_size < parts / 2);
	remove_folder();
}

static void refuse(const struct world *some, size_t count, int err)
{
	const char *const *list = make_films(some, count, 50);
	struct fail why = {0};
	size_t bad;

	assert_int_equal(film_merge_files(list, count, paths[FILMS_MAX], true, &bad, &why), err);
	assert_int_equal(why.err, err);
	assert_int_equal(bad, 1);
	/* nothing is left */
	assert_int_equal(access(paths[FILMS_MAX], F_OK), -1);
	remove_folder();
}

static void test_what_does_not_go_together(void **state)
{
	struct world two[2] = {worlds[0], worlds[1]};

	(void)state;
	two[1].labels = "env=prod";
	refuse(two, 2, -EINVAL);
	two[1] = worlds[1];
	two[1].hostname = "other";
	refuse(two, 2, -EINVAL);
}

static void test_damaged_part(void **state)
{
	const char *const *list = make_films(worlds, 3, 300);
	struct fail why = {0};
	size_t bad;

	(void)state;
	change_film(list[1], "UPDATE block SET data = x'28b52ffd' WHERE id = 2");
	assert_int_equal(film_merge_files(list, 3, paths[FILMS_MAX], true, &bad, &why), -EBADMSG);
	assert_int_equal(bad, 1);
	assert_int_equal(unlink(list[1]), 0);
	assert_int_equal(film_merge_files(list, 3, paths[FILMS_MAX], true, &bad, &why), -ENOENT);
	assert_int_equal(bad, 1);
	assert_int_equal(access(paths[FILMS_MAX], F_OK), -1);
	remove_folder();
}

/* Calls, what their probes cost, and sums. */
static void test_calls_and_sums(void **state)
{
	const char *first = new_path();
	const char *list[] = {paths[0], paths[1]};
	struct film_info info = test_info;
	struct film *film;
	size_t bad;

	(void)state;
	info.wall_offset = 0;
	for (size_t i = 0; i < 2; i++) {
		struct film_event event = {"calls", "ns", "uprobes", 0};
		struct film_image image = {FILM_IMAGE_FILE, "/bin/a", {1}, 1};
		struct film_call call = {.end = (100 + i) * SECOND, .duration = 500, .waited = 100};
		struct film_sum sum = {
			.calls = 3, .total = 30, .self = 10 + i, .min = 1, .max = 20};
		struct film_probe probe = {.own = 100, .outer = 200};
		struct film_writer *w = NULL;

		snprintf(paths[i], sizeof(paths[i]), "%s.%zu", first, i);
		info.start = (50 + i) * SECOND;
		assert_int_equal(film_create(paths[i], &info, &w, NULL), 0);
		film_add_event(w, &event);
		film_add_image(w, &image);
		call.frame = sum.frame = probe.frame = native(w, 0x1000 + i);
		film_call(w, 1, &call);
		film_probe(w, 1, &probe);
		film_sum(w, 1, info.start, info.start + SECOND, &sum);
		close_film(w, 200 * SECOND);
	}
	snprintf(paths[FILMS_MAX], sizeof(paths[0]), "%s.merged", first);
	assert_int_equal(film_merge_files(list, 2, paths[FILMS_MAX], true, &bad, NULL), 0);
	film = open_film(paths[FILMS_MAX]);
	check_promises(film);
	assert_int_equal(film_call_count(film, 1), 2);
	assert_int_equal(film->frame_count - 1, 2);
	film_free(film);
	remove_folder();
}

static void test_labels(void **state)
{
	char labels[FILM_LABELS_SIZE] = "", key[FILM_LABEL_KEY_MAX + 1];
	const char *path = new_path(), *at = labels, *value;
	struct film_info info = test_info;
	struct film_writer *w = NULL;
	struct film *film;
	size_t length;

	(void)state;
	assert_int_equal(film_labels_add(labels, sizeof(labels), "zone=a", NULL), 0);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "env=test", NULL), 0);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "env.sub=x=y", NULL), 0);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "env=prod é", NULL), 0);
	assert_string_equal(labels, "env=prod é,env.sub=x=y,zone=a");
	assert_int_equal(film_labels_add(labels, sizeof(labels), "env", NULL), -EINVAL);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "=a", NULL), -EINVAL);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "a=", NULL), -EINVAL);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "a=b,c", NULL), -EINVAL);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "a=\x1b[1m", NULL), -EINVAL);
	assert_int_equal(film_labels_add(labels, sizeof(labels), "a b=c", NULL), -EINVAL);
	assert_true(film_labels_have(labels, "zone=a"));
	assert_false(film_labels_have(labels, "zone="));
	assert_false(film_labels_have(labels, "one=a"));
	value = film_labels_next(&at, key, &length);
	assert_string_equal(key, "env");
	assert_int_equal(length, strlen("prod é"));
	assert_int_equal(strncmp(value, "prod é", length), 0);
	value = film_labels_next(&at, key, &length);
	assert_string_equal(key, "env.sub");
	assert_int_equal(strncmp(value, "x=y", length), 0);
	assert_non_null(film_labels_next(&at, key, &length));
	assert_null(film_labels_next(&at, key, &length));

	info.labels = labels;
	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	close_film(w, info.start);
	film = open_film(path);
	assert_string_equal(film->info.labels, labels);
	film_free(film);
	assert_int_equal(film_open_info(path, &film, NULL), 0);
	assert_string_equal(film->info.labels, labels);
	assert_int_equal(film->event_count, 1);
	film_free(film);
	/* what no writer would write */
	change_film(path, "INSERT INTO meta VALUES('label.a,b', 'c')");
	assert_int_equal(film_open(path, &film, NULL), -EBADMSG);
	change_film(path,
		    "UPDATE meta SET name = 'label.a', value = 'b,c' WHERE name = 'label.a,b'");
	assert_int_equal(film_open(path, &film, NULL), -EBADMSG);
	remove_folder();
}

/* Losses are reported as totals; each film of several keeps its own part. */
static void test_losses_go_on(void **state)
{
	const char *first = new_path();
	uint64_t given[] = {5, 5, 12, 20}, expected[] = {5, 0, 0, 15};
	struct film_writer *before = NULL, *w = NULL;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct film_event event = {"on-cpu", "ns", "", 99};
		bool is_kept = i != 2;

		snprintf(paths[i], sizeof(paths[i]), "%s.%zu", first, i);
		assert_int_equal(film_create(is_kept ? paths[i] : NULL, &test_info, &w, NULL), 0);
		film_add_event(w, &event);
		if (before) {
			assert_true(film_continue(w, before));
			close_film(before, 9 * SECOND);
		}
		film_loss(w, 1, "sample: ring full", given[i]);
		before = w;
	}
	close_film(before, 9 * SECOND);
	for (size_t i = 0; i < 4; i++) {
		struct film *film;

		if (i == 2)
			continue;
		film = open_film(paths[i]);
		assert_int_equal(loss_of(film, "sample: ring full"), expected[i]);
		film_free(film);
	}
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_kept),
		cmocka_unit_test(test_what_was_written_twice),
		cmocka_unit_test(test_large_film_is_copied),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_becomes_smaller),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_damaged_part),
		cmocka_unit_test(test_calls_and_sums),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_losses_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
