/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FILM_TREE_H
#define TESTS_FILM_TREE_H

#include "film/film.h"

/*
 * Made-up calls: threads that call functions in trees, one call after the other as they end. The
 * same numbers each time.
 */
struct tree_thread {
	uint64_t now;
	unsigned int depth;
	struct {
		uint64_t start, waited;
		uint32_t function;
		unsigned int left; /* calls it still makes */
	} open[64];
};

struct tree {
	uint64_t random;
	unsigned int threads, functions, depth; /* depth 1: functions that call nothing */
	struct tree_thread thread[16];
};

void tree_begin(struct tree *t, unsigned int threads, unsigned int functions, unsigned int depth,
		uint64_t start);
/* The call that ends next, of the thread whose clock is the least; frame 1 to functions. */
struct film_call tree_next(struct tree *t);

#endif
