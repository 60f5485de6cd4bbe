// SPDX-License-Identifier: Apache-2.0
#include "film_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "film/writing.h"

static void end_if(bool failed, const struct fail *why)
{
	if (!failed)
		return;
	fail_print(why);
	abort();
}

void film_build_empty(struct film_build *b, uint64_t start)
{
	struct film_info info = {
		.version = "0.1.0",
		.hostname = "host7",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "stackcam record -a",
		.cpus = 4,
		.start = start,
		.wall_offset = 1767323045ll * 1000000000 - (int64_t)start,
	};
	struct fail why = {0};
	int fd;

	*b = (struct film_build){.path = "/tmp/stackcam-test-XXXXXX", .end = start, .build = 0xab};
	fd = mkstemp(b->path);
	end_if(fd < 0, &why);
	close(fd);
	end_if(film_create(b->path, &info, &b->w, &why), &why);
}

void film_build_begin(struct film_build *b, const char *event, const char *unit)
{
	film_build_empty(b, FILM_BUILD_START);
	b->event = film_add_event(b->w, &(struct film_event){event, unit, "cpu-clock", 100});
}

void film_build_forget(struct film_build *b, size_t known)
{
	b->w->known_functions.limit = b->w->known_frames.limit = known;
	b->w->known_stacks.limit = b->w->known_files.limit = known;
}

uint32_t film_build_thread(struct film_build *b, uint32_t pid, const char *process, uint32_t tid,
			   const char *thread)
{
	struct film_process row = {
		.pid = pid,
		.start = FILM_BUILD_START,
		.comm = process,
		.command = "/usr/bin/server",
		.exe = "/usr/bin/server",
		.cgroup = "/",
		.container = "",
	};
	int i;

	for (i = 0; b->processes[i].id && b->processes[i].pid != pid; i++)
		;
	if (!b->processes[i].id) {
		b->processes[i].id = film_add_process(b->w, &row);
		b->processes[i].pid = pid;
	}
	return film_add_thread(
		b->w, &(struct film_thread){b->processes[i].id, tid, FILM_BUILD_START, thread});
}

static uint32_t image_of(struct film_build *b, const char *name, enum film_frame_kind *kind)
{
	struct film_image image = {.kind = FILM_IMAGE_FILE, .build_id = {b->build, 0xcd}};
	char path[128];
	int i;

	*kind = FILM_FRAME_NATIVE;
	image.path = path;
	image.build_id_size = 2;
	snprintf(path, sizeof(path), "/usr/lib/%s", name);
	if (!*name) {
		image.path = "/usr/bin/server";
	} else if (!strcmp(name, "k")) {
		image.path = "[kernel]";
		image.kind = FILM_IMAGE_KERNEL;
		*kind = FILM_FRAME_KERNEL;
	} else if (!strcmp(name, "jit")) {
		image.path = "[anon]";
		image.kind = FILM_IMAGE_ANON;
		image.build_id_size = 0;
		*kind = FILM_FRAME_JIT;
	} else if (!strcmp(name, "py")) {
		image.path = "/srv/app.py";
		image.kind = FILM_IMAGE_SCRIPT;
		*kind = FILM_FRAME_PYTHON;
	} else if (!strcmp(name, "java")) {
		image.path = "[java]";
		image.kind = FILM_IMAGE_ANON;
		image.build_id_size = 0;
		*kind = FILM_FRAME_JAVA;
	} else if (!strcmp(name, "label")) {
		image.path = "[go]";
		image.kind = FILM_IMAGE_ANON;
		*kind = FILM_FRAME_LABEL;
	}
	for (i = 0; b->images[i].id; i++)
		if (!strcmp(b->images[i].name, name))
			return b->images[i].id;
	snprintf(b->images[i].name, sizeof(b->images[i].name), "%s", name);
	b->images[i].id = film_add_image(b->w, &image);
	return b->images[i].id;
}

/* Takes "name@file:12" apart, in place. */
static struct film_name name_of(char *text)
{
	struct film_name name = {.function = text, .file = ""};
	char *file = strchr(text, '@'), *line;

	if (!file)
		return name;
	*file++ = 0;
	line = strchr(file, ':');
	*line++ = 0;
	name.file = file;
	name.line = (uint32_t)atoi(line);
	return name;
}

uint32_t film_build_frame(struct film_build *b, const char *text)
{
	char copy[256], *at = copy, *bang, *inner;
	struct film_name names[2];
	enum film_frame_kind kind;
	uint32_t image, frame;

	if (*text == '[')
		return film_mark(b->w, text);
	snprintf(copy, sizeof(copy), "%s", text);
	bang = strchr(copy, '!');
	if (bang) {
		*bang = 0;
		at = bang + 1;
	}
	image = image_of(b, bang ? copy : "", &kind);
	if (*at == '+') {
		uint64_t address = strtoull(at + 1, &at, 16);

		frame = film_frame(b->w, image, kind, address);
		if (*at == '-')
			film_start_frame(b->w, frame, address, strtoull(at + 1, NULL, 16));
		return frame;
	}
	frame = film_frame(b->w, image, kind, hash_bytes(text, strlen(text)) >> 40);
	inner = strchr(at, '>');
	if (inner)
		*inner++ = 0;
	names[0] = name_of(inner ? inner : at);
	names[1] = name_of(at);
	film_name_frame(b->w, frame, names, inner ? 2 : 1);
	return frame;
}

uint32_t film_build_raw_frame(struct film_build *b, const char *name)
{
	enum film_frame_kind kind;
	uint32_t frame = film_frame(b->w, image_of(b, "", &kind), FILM_FRAME_NATIVE,
				    hash_bytes(name, strlen(name)) >> 40);
	struct film_name names = {.function = name, .file = ""};

	film_name_frame(b->w, frame, &names, 1);
	return frame;
}

uint32_t film_build_stack(struct film_build *b, const char *text)
{
	char copy[512], *save, *part;
	uint32_t stack = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		enum film_how how = *part == '?'   ? FILM_HOW_FRAME_POINTER
				    : *part == '~' ? FILM_HOW_RUNTIME
						   : FILM_HOW_EXACT;

		part += how != FILM_HOW_EXACT;
		stack = film_stack(b->w, stack, film_build_frame(b, part), how);
	}
	return stack;
}

void film_build_sample(struct film_build *b, uint64_t ms, uint32_t thread, const char *stack,
		       uint64_t value)
{
	uint64_t time = FILM_BUILD_START + ms * 1000000;

	film_sample(b->w, b->event, time, thread, film_build_stack(b, stack), value);
	if (time > b->end)
		b->end = time;
}

void film_build_calls(struct film_build *b, uint32_t thread, const struct film_build_call *calls,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct film_build_call *from = &calls[i];
		struct film_call call = {
			.end = FILM_BUILD_START + from->end,
			.duration = from->end - from->start,
			.waited = from->waited,
			.thread = from->thread ? from->thread : thread,
			.frame = *from->function == '<' ? film_build_raw_frame(b, from->function)
							: film_build_frame(b, from->function),
			.lane = from->lane,
			.depth = from->depth,
			.flags = from->flags,
		};

		film_call(b->w, b->event, &call);
		if (call.end > b->end)
			b->end = call.end;
	}
}

void film_build_cost(struct film_build *b, const char *function, uint32_t own, uint32_t outer)
{
	film_probe(b->w, b->event, &(struct film_probe){film_build_frame(b, function), own, outer});
}

struct film *film_build_open(struct film_build *b)
{
	struct film *film = NULL;
	struct fail why = {0};

	end_if(film_close(b->w, b->end, &why), &why);
	end_if(film_open(b->path, &film, &why), &why);
	unlink(b->path);
	return film;
}

struct film *film_build_small(void)
{
	struct film_build b;
	uint32_t web, worker, db;

	film_build_begin(&b, "on-cpu", "ns");
	web = film_build_thread(&b, 10, "web", 10, "web");
	worker = film_build_thread(&b, 10, "web", 11, "worker-1");
	db = film_build_thread(&b, 20, "db", 20, "db");
	film_build_sample(&b, 0, web, "main;parse;read", 10);
	film_build_sample(&b, 100, web, "main;parse", 5);
	film_build_sample(&b, 200, worker, "main;work;libc!memcpy", 20);
	film_build_sample(&b, 300, worker, "main;work;work;libc!memcpy", 7);
	film_build_sample(&b, 400, db, "[truncated: unreadable memory];?helper;k!sys_read", 3);
	film_build_sample(&b, 500, db, "", 2);
	film_build_sample(&b, 600, db, "db_main;libc!+1234", 4);
	film_loss(b.w, 0, "ring full", 3);
	film_loss(b.w, b.event, "ring full", 2);
	film_loss(b.w, b.event, "never", 0);
	return film_build_open(&b);
}

struct film *film_build_small_calls(void)
{
	static const struct film_build_call calls[] = {
		{"parse", 1, 10000, 20000, 0},
		{"libc!read", 2, 35000, 65000, 20000},
		{"parse", 1, 30000, 70000, 20000},
		{"main", 0, 0, 100000, 20000},
	};
	static const struct film_build_call work[] = {{"work", 0, 0, 90000, 0, FILM_CALL_OPEN}};
	struct film_build b;
	uint32_t main_thread, worker;

	film_build_begin(&b, "calls", "ns");
	main_thread = film_build_thread(&b, 100, "app", 100, "app");
	worker = film_build_thread(&b, 100, "app", 101, "worker");
	film_build_calls(&b, main_thread, calls, 3);
	film_build_calls(&b, worker, work, 1);
	film_build_calls(&b, main_thread, calls + 3, 1);
	film_build_cost(&b, "parse", 100, 1000);
	film_build_cost(&b, "libc!read", 100, 1000);
	return film_build_open(&b);
}

struct film *film_build_small_sums(void)
{
	struct film_build b;
	struct film_sum sum = {
		.calls = 3, .total = 70000, .self = 70000, .min = 10000, .max = 40000};

	film_build_begin(&b, "calls", "ns");
	film_build_thread(&b, 100, "app", 100, "app");
	sum.frame = film_build_frame(&b, "parse");
	sum.waited = 20000;
	sum.buckets[13] = 1;
	sum.buckets[14] = 2;
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 50000, &sum);
	film_sum(b.w, b.event, FILM_BUILD_START + 50000, FILM_BUILD_START + 100000, &sum);
	sum = (struct film_sum){
		.frame = film_build_frame(&b, "main"),
		.calls = 1,
		.total = 300000,
		.self = 160000,
		.min = 300000,
		.max = 300000,
	};
	sum.buckets[18] = 1;
	film_sum(b.w, b.event, FILM_BUILD_START, FILM_BUILD_START + 100000, &sum);
	film_build_cost(&b, "parse", 100, 1000);
	b.end = FILM_BUILD_START + 100000;
	return film_build_open(&b);
}

void film_build_locks(struct film_build *b, const char *other)
{
	struct film_lock wait = {.kind = FILM_LOCK_MUTEX, .context = FILM_WAIT_BY_THREAD};
	uint32_t first, second;

	film_build_begin(b, "lock", "ns");
	first = film_build_thread(b, 10, "web", 10, "web");
	second = film_build_thread(b, 10, "web", 11, other);
	wait.thread = film_build_thread(b, 10, "web", 12, "worker");
	b->end += 1000000000;
	wait.stack = film_build_stack(b, "main;lock");
	wait.address = 0x1000;
	wait.end = FILM_BUILD_START + 1000000;
	wait.duration = 5000;
	wait.waker = wait.holder = first;
	wait.sure = FILM_HOLDER_OWNER;
	film_lock(b->w, b->event, &wait);
	wait.end += 1000000;
	wait.duration = 200;
	wait.waker = wait.holder = second;
	film_lock(b->w, b->event, &wait);
	wait.end += 100;
	wait.duration = 100;
	film_lock(b->w, b->event, &wait);
	wait.end += 1000000;
	wait.duration = 30;
	wait.address = 0x2000;
	film_lock(b->w, b->event, &wait);
}
