// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: says how large a film is and how long it takes. The profile is made up, but has the
 * shape of real ones: 16 processors at 99 samples a second with jitter, stacks of 8 to 60 frames
 * that share their outer frames, few of them hot.
 *
 *	measure-film PATH SAMPLES STACKS PROCESSORS [DEPTH]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "make.h"

#define CPUS_MAX  256
#define HZ	  99
#define FUNCTIONS 4000

static uint64_t state = 1;

static uint64_t random_number(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of all below count, mostly small ones. */
static uint64_t hot(uint64_t count)
{
	uint64_t range = 1 + random_number(count);

	return random_number(1 + random_number(range));
}

static uint32_t named_frame(struct film_writer *w, uint64_t function)
{
	static const char *const words[] = {"open",   "read", "block", "table",	   "cache", "find",
					    "insert", "node", "list",  "iterator", "flush", "key"};
	uint64_t address = 0x400000 + function * 310 + random_number(3) * 40;
	uint32_t frame = film_frame(w, 1, FILM_FRAME_NATIVE, address);
	static uint32_t named;
	char name[128], file[64];
	struct film_name call = {name, file, (uint32_t)(address % 3000)};

	if (frame <= named)
		return frame;
	named = frame;
	snprintf(name, sizeof(name), "db::%s_%s<%s>::%s(unsigned long, Slice const&)",
		 words[function % 12], words[function / 12 % 12], words[function / 144 % 12],
		 words[function / 1728 % 12]);
	snprintf(file, sizeof(file), "/usr/src/db/%s_%s.cc", words[function % 12],
		 words[function / 12 % 12]);
	film_name_frame(w, frame, &call, 1);
	return frame;
}

/* A new stack: as an older one up to some depth, then its own. */
static uint32_t grow_stack(struct film_writer *w, uint32_t *path, unsigned int *depth,
			   unsigned int wanted)
{
	unsigned int keep = *depth > 4 ? 2 + (unsigned int)random_number(*depth - 2) : *depth;
	uint32_t stack = keep ? path[keep - 1] : 0;

	for (*depth = keep; *depth < wanted; ++*depth) {
		stack = film_stack(w, stack, named_frame(w, hot(FUNCTIONS)), FILM_HOW_EXACT);
		path[*depth] = stack;
	}
	return stack;
}

static void record(const char *path, uint64_t samples, uint32_t stacks, unsigned int cpus,
		   unsigned int deep)
{
	struct film_writer *w = create(path);
	uint32_t *known = calloc(stacks, sizeof(*known)), made = 0, line[64], i;
	uint64_t next[CPUS_MAX], time, period = SECOND / HZ, n, second = 0;
	unsigned int depth = 0;
	double began = now_ms(), in_commit = 0;

	for (i = 2; i <= 4 * cpus; i++)
		film_add_thread(w, &(struct film_thread){1, 100 + i, 1, "worker"});
	for (i = 0; i < cpus; i++)
		next[i] = test_info.start + random_number(period);
	for (n = 0; n < samples; n++) {
		uint32_t cpu = 0, stack;

		for (i = 1; i < cpus; i++)
			cpu = next[i] < next[cpu] ? i : cpu;
		time = next[cpu];
		next[cpu] += period - 2000 + random_number(4000);
		while (made < stacks && made <= n * 4 * stacks / samples)
			known[made++] = grow_stack(
				w, line, &depth, deep ? deep : 8 + (unsigned int)random_number(52));
		stack = known[hot(made)];
		film_sample(w, 1, time, 1 + (uint32_t)(cpu * 4 + random_number(50) / 48), stack,
			    period);
		if ((time - test_info.start) / SECOND != second) {
			double before = now_ms();

			second = (time - test_info.start) / SECOND;
			commit(w, time);
			in_commit += now_ms() - before;
		}
	}
	close_film(w, next[0]);
	printf("write %.0f ms, of that %.0f ms waiting for %lu commits\n", now_ms() - began,
	       in_commit, (unsigned long)second);
	free(known);
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint32_t stacks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 20000;
	struct film *film;
	double began, loaded, walked;
	struct sum sum;

	if (argc < 2)
		return 2;
	record(argv[1], samples, stacks, argc > 4 ? (unsigned int)atoi(argv[4]) : 16,
	       argc > 5 ? (unsigned int)atoi(argv[5]) : 0);
	began = now_ms();
	film = open_film(argv[1]);
	loaded = now_ms();
	sum = sum_of(film, 1);
	walked = now_ms();
	printf("%lu samples in %lu blocks, %u stacks, %u frames, %u functions\n",
	       (unsigned long)sum.count, (unsigned long)sum.blocks, film->stack_count - 1,
	       film->frame_count - 1, film->function_count - 1);
	printf("open %.1f ms, all samples %.1f ms\n", loaded - began, walked - loaded);
	film_free(film);
	return 0;
}
