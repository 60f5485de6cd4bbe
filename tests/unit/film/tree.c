// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

static uint64_t random_number(struct tree *t, uint64_t below)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return (t->random >> 33) % below;
}

/* About base, give or take a fifth; rarely much longer, as when an interrupt came. */
static uint64_t jitter(struct tree *t, uint64_t base)
{
	uint64_t time = base - base / 5 + random_number(t, 2 * base / 5 + 1);

	return random_number(t, 1000) ? time : time + 3000 + random_number(t, 20000);
}

void tree_begin(struct tree *t, unsigned int threads, unsigned int functions, unsigned int depth,
		uint64_t start)
{
	unsigned int i;

	*t = (struct tree){.random = 1, .threads = threads, .functions = functions, .depth = depth};
	for (i = 0; i < threads; i++)
		t->thread[i].now = start + 137 * i;
}

/* Begins a call and those that it begins with, down to one that calls nothing. */
static void begin(struct tree *t, struct tree_thread *thread)
{
	do {
		uint32_t function = thread->depth;

		/* each level has some functions of its own; the last level has what is left */
		function = function % t->functions;
		if (thread->depth + 1 >= t->depth && t->functions > t->depth)
			function += (uint32_t)random_number(t, t->functions - t->depth + 1);
		thread->now += jitter(t, 300);
		thread->open[thread->depth].start = thread->now;
		thread->open[thread->depth].waited = 0;
		thread->open[thread->depth].function = function;
		thread->open[thread->depth].left =
			thread->depth + 1 < t->depth ? (unsigned int)random_number(t, 4) : 0;
		thread->depth++;
	} while (thread->open[thread->depth - 1].left);
}

struct film_call tree_next(struct tree *t)
{
	struct tree_thread *thread = &t->thread[0];
	struct film_call call;
	unsigned int i, depth;

	for (i = 1; i < t->threads; i++)
		thread = t->thread[i].now < thread->now ? &t->thread[i] : thread;
	if (!thread->depth || thread->open[thread->depth - 1].left) {
		if (thread->depth)
			thread->open[thread->depth - 1].left--;
		begin(t, thread);
	}
	depth = --thread->depth;
	thread->now += jitter(t, 500 + 100 * thread->open[depth].function);
	if (!random_number(t, 200)) {
		uint64_t wait = 20000 + random_number(t, 1000000);

		thread->now += wait;
		thread->open[depth].waited += wait;
	}
	if (depth)
		thread->open[depth - 1].waited += thread->open[depth].waited;
	call = (struct film_call){
		.end = thread->now,
		.duration = thread->now - thread->open[depth].start,
		.waited = thread->open[depth].waited,
		.thread = 1 + (uint32_t)(thread - t->thread),
		.frame = 1 + thread->open[depth].function,
		.depth = (uint16_t)depth,
		.cpu = (uint16_t)(thread->now / 4000000 % 4),
	};
	return call;
}
