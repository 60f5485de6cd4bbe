// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a made-up film of any size: "make_film SAMPLES STACKS DEPTH PATH". Stacks are like those
 * of a server: they share their outer frames, and a few take most of the samples. The same
 * arguments always make the same film.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "film/writer.h"

enum {
	THREADS = 64,
	IMAGES = 20,
	FUNCTIONS = 8000,
	SAMPLES_PER_COMMIT = 50000
};

#define START  1000000000000ull
#define PERIOD 10101010ull /* ns, of 99 Hz */

struct maker {
	struct film_writer *w;
	uint64_t samples, depth;
	uint32_t stack_count;
	uint32_t *stacks;
	uint32_t threads[THREADS], images[IMAGES];
	uint32_t frames[FUNCTIONS];
	uint32_t event;
};

/* The same "random" numbers each time. */
static uint64_t number(uint64_t seed, uint64_t below)
{
	return hash_u64(seed + 0x9e3779b97f4a7c15ull) % below;
}

static void make_catalogue(struct maker *m)
{
	char name[64];

	m->event = film_add_event(m->w, &(struct film_event){"on-cpu", "ns", "cpu-clock", 99});
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t process = 0;

		snprintf(name, sizeof(name), "server-%u", i / 8);
		process = film_add_process(m->w, &(struct film_process){
							 .pid = 1000 + i / 8,
							 .start = START,
							 .comm = name,
							 .command = "/usr/bin/server",
							 .exe = "/usr/bin/server",
							 .cgroup = "",
							 .container = "",
						 });
		snprintf(name, sizeof(name), "worker-%u", i);
		m->threads[i] = film_add_thread(
			m->w, &(struct film_thread){process, 2000 + i, START, name});
	}
	for (uint32_t i = 0; i < IMAGES; i++) {
		snprintf(name, sizeof(name), "/usr/lib/libpart%u.so.1", i);
		m->images[i] = film_add_image(m->w, &(struct film_image){.kind = FILM_IMAGE_FILE,
									 .path = name,
									 .build_id_size = 0});
	}
}

static void make_frames(struct maker *m)
{
	char name[64];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct film_name words = {name, "", 0};

		snprintf(name, sizeof(name), "part%u::function_%u(int, char const*)", i % IMAGES,
			 i);
		m->frames[i] = film_frame(m->w, m->images[i % IMAGES], FILM_FRAME_NATIVE,
					  0x1000 + i * 64ull);
		film_name_frame(m->w, m->frames[i], &words, 1);
	}
}

/*
 * Stack i has the frame that i >> bits decides: many bits at the root, where all stacks are the
 * same, and none in the last quarter, where each goes its own way.
 */
static void make_stacks(struct maker *m)
{
	for (uint32_t i = 0; i < m->stack_count; i++) {
		uint64_t depth = 1 + m->depth / 2 + number(i >> 4, m->depth / 2 + 1);
		uint32_t stack = 0;

		for (uint64_t d = 0; d < depth; d++) {
			uint64_t part = 4 * d / depth; /* which quarter of the stack */
			uint64_t bits = part == 0 ? 24 : part == 1 ? 8 : part == 2 ? 3 : 0;
			uint64_t seed = (i >> bits) * 1000 + d;

			stack = film_stack(m->w, stack, m->frames[number(seed, FUNCTIONS)],
					   FILM_HOW_EXACT);
		}
		m->stacks[i] = stack;
	}
}

static int make_samples(struct maker *m, struct fail *why)
{
	uint64_t now = START;

	for (uint64_t i = 0; i < m->samples; i++) {
		uint64_t skew = number(i * 3, m->stack_count) + 1;

		now = START + i / THREADS * PERIOD;
		film_sample(m->w, m->event, now, m->threads[i % THREADS],
			    m->stacks[number(i * 7, skew)], PERIOD);
		if (i % SAMPLES_PER_COMMIT == 0 && film_commit(m->w, now, true, why))
			break;
	}
	return film_close(m->w, now, why);
}

int main(int argc, char **argv)
{
	struct film_info info = {
		.version = STACKCAM_VERSION,
		.hostname = "made-up",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "make_film",
		.cpus = 16,
		.start = START,
		.wall_offset = 1767322845000000000ll - (int64_t)START,
	};
	struct maker m = {0};
	struct fail why = {0};
	uint64_t stacks;

	if (argc != 5 || text_parse_u64(argv[1], 0, 1ull << 40, &m.samples) ||
	    text_parse_u64(argv[2], 1, 1 << 24, &stacks) ||
	    text_parse_u64(argv[3], 1, 1000, &m.depth)) {
		fprintf(stderr, "usage: make_film SAMPLES STACKS DEPTH PATH\n");
		return 2;
	}
	m.stack_count = (uint32_t)stacks;
	m.stacks = calloc(stacks, sizeof(*m.stacks));
	if (!m.stacks || film_create(argv[4], &info, &m.w, &why)) {
		fail_print(&why);
		free(m.stacks);
		return 1;
	}
	make_catalogue(&m);
	make_frames(&m);
	make_stacks(&m);
	if (make_samples(&m, &why))
		fail_print(&why);
	free(m.stacks);
	return why.err ? 1 : 0;
}
