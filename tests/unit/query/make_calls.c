// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a made-up film of calls: "make_calls CALLS THREADS PATH". Threads call as programs do, up
 * to 12 levels deep, and one signal handler runs on a stack of its own. The same arguments always
 * make the same film. "make_calls sample PATH": a small one in which everything is odd.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "film/writer.h"

#define START 1000000000000ull

enum {
	DEPTH = 12,
	FUNCTIONS = 200,
	CALLS_PER_COMMIT = 200000
};

struct maker {
	struct film_writer *w;
	uint32_t event, process, image;
	uint32_t frames[FUNCTIONS];
	uint64_t random;
};

struct thread {
	uint32_t id;
	uint64_t now;
	unsigned int depth;
	struct {
		uint64_t start;
		uint32_t frame;
	} open[DEPTH];
};

static uint64_t number(struct maker *m, uint64_t below)
{
	return hash_u64(m->random++) % below;
}

static uint32_t make_frame(struct maker *m, uint64_t address, const char *text)
{
	struct film_name name = {text, "", 0};
	uint32_t frame = film_frame(m->w, m->image, FILM_FRAME_NATIVE, address);

	if (*text)
		film_name_frame(m->w, frame, &name, 1);
	return frame;
}

static uint32_t make_thread(struct maker *m, uint32_t tid, const char *name)
{
	return film_add_thread(m->w, &(struct film_thread){m->process, tid, START, name});
}

static int begin(struct maker *m, const char *path, struct fail *why)
{
	struct film_info info = {
		.version = STACKCAM_VERSION,
		.hostname = "made-up",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "make_calls",
		.cpus = 2,
		.start = START,
		.wall_offset = 1767322845000000000ll - (int64_t)START,
	};
	int err = film_create(path, &info, &m->w, why);

	if (err)
		return err;
	m->event = film_add_event(m->w, &(struct film_event){"calls", "ns", "uprobes", 0});
	m->process = film_add_process(m->w, &(struct film_process){.pid = 1000,
								   .start = START,
								   .comm = "server",
								   .command = "server -x",
								   .exe = "/usr/bin/server",
								   .cgroup = "",
								   .container = ""});
	m->image = film_add_image(
		m->w, &(struct film_image){.kind = FILM_IMAGE_FILE, .path = "/usr/bin/server"});
	return 0;
}

/* Takes one step of a thread: 1 if a call ended. */
static uint64_t step(struct maker *m, struct thread *t)
{
	struct film_call call = {.thread = t->id, .cpu = (uint16_t)(t->id % 2)};

	t->now += 200 + number(m, 2000);
	if (t->depth < 2 || (t->depth < DEPTH && number(m, 2))) {
		t->open[t->depth].start = t->now;
		t->open[t->depth++].frame = m->frames[number(m, FUNCTIONS)];
		return 0;
	}
	t->depth--;
	call.depth = (uint16_t)t->depth;
	call.end = t->now;
	call.duration = t->now - t->open[t->depth].start;
	call.waited = number(m, 4) ? 0 : call.duration / 2;
	call.frame = t->open[t->depth].frame;
	film_call(m->w, m->event, &call);
	return 1;
}

static int make(struct maker *m, uint64_t calls, uint64_t threads, struct fail *why)
{
	struct thread *all = calloc(threads, sizeof(*all));
	uint64_t made = 0, next = CALLS_PER_COMMIT;
	char name[64];
	int err = 0;

	if (!all)
		return -1;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "part%u::function_%u(int)", i % 7, i);
		m->frames[i] = make_frame(m, 0x1000 + i * 64ull, name);
		film_probe(m->w, m->event, &(struct film_probe){m->frames[i], 100, 300});
	}
	for (uint32_t i = 0; i < threads; i++) {
		snprintf(name, sizeof(name), "worker-%u", i);
		all[i].id = make_thread(m, 2000 + i, name);
		all[i].now = START + i;
	}
	while (!err && made < calls) {
		for (uint64_t i = 0; i < threads; i++)
			made += step(m, &all[i]);
		if (made < next)
			continue;
		err = film_commit(m->w, all[0].now, true, why);
		next += CALLS_PER_COMMIT;
	}
	/* what is open when a recording ends is written, too */
	for (uint64_t i = 0; i < threads; i++)
		while (all[i].depth--)
			film_call(m->w, m->event,
				  &(struct film_call){.end = all[i].now,
						      .duration = all[i].now -
								  all[i].open[all[i].depth].start,
						      .thread = all[i].id,
						      .frame = all[i].open[all[i].depth].frame,
						      .depth = (uint16_t)all[i].depth,
						      .flags = FILM_CALL_OPEN});
	free(all);
	return err;
}

static void put(struct maker *m, uint32_t thread, const char *name, unsigned int depth,
		uint64_t start, uint64_t end, uint32_t flags)
{
	uint64_t address = *name ? hash_bytes(name, strlen(name)) >> 40 : 0x1230;

	film_call(m->w, m->event,
		  &(struct film_call){.end = START + end,
				      .duration = end - start,
				      .thread = thread,
				      .frame = make_frame(m, address, name),
				      .depth = (uint16_t)depth,
				      .lane = flags >> 16,
				      .cpu = 1,
				      .flags = flags & 0xffff});
}

static void make_sample(struct maker *m)
{
	uint32_t main_thread = make_thread(m, 1000, "server");
	uint32_t hostile = make_thread(m, 1001, "\033[2J</script>\"\\\xff");

	put(m, main_thread, "parse(char const*)", 1, 1000, 2000, 0);
	put(m, main_thread, "on_signal", 0, 2100, 2200, 1 << 16);
	put(m, hostile, "</script><b>\033[31m\n\"\\\xff\xe2\x80\xae", 0, 1500, 2500, 0);
	put(m, main_thread, "guessed", 1, 2300, 3000, FILM_CALL_INFERRED);
	put(m, main_thread, "orphan", 2, 3100, 3200, FILM_CALL_GAP);
	put(m, main_thread, "", 1, 3300, 3400, 0);
	put(m, hostile, "zero", 0, 4000, 4000, 0);
	put(m, main_thread, "waits", 1, 4000, 5000, FILM_CALL_OPEN);
	put(m, main_thread, "main", 0, 500, 5000, FILM_CALL_OPEN);
	film_loss(m->w, m->event, "no room in a ring", 7);
}

int main(int argc, char **argv)
{
	struct maker m = {0};
	struct fail why = {0};
	uint64_t calls = 0, threads = 0;
	bool sample = argc == 3 && !strcmp(argv[1], "sample");
	int err;

	if (!sample && (argc != 4 || text_parse_u64(argv[1], 0, 1ull << 40, &calls) ||
			text_parse_u64(argv[2], 1, 100000, &threads))) {
		fprintf(stderr,
			"usage: make_calls CALLS THREADS PATH, or make_calls sample PATH\n");
		return 2;
	}
	err = begin(&m, argv[argc - 1], &why);
	if (!err) {
		if (sample)
			make_sample(&m);
		else
			err = make(&m, calls, threads, &why);
		if (film_close(m.w, START + 6000 + calls * 1000, &why))
			err = -1;
	}
	if (err)
		fail_print(&why);
	return err ? 1 : 0;
}
