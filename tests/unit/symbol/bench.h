/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SYMBOL_BENCH_H
#define TESTS_SYMBOL_BENCH_H

/* cmocka.h wants these before it */

#include "../prelude.h"

#include "symbol/symbols.h"

/*
 * A work bench: a directory of its own in which real files are built with the system's compiler and
 * binutils, whose answers (nm, objdump) are what names are compared with.
 */
struct bench {
	char directory[64];
	char debug[80];	 /* a directory in it, for debug files; not made yet */
	char error[512]; /* words of the last ask */
	int err;
	char missing[512];
};

/* For cmocka: *state is the bench. */
int bench_set_up(void **state);
int bench_tear_down(void **state);

/* Runs a shell command in the directory; the test fails if the command does. */
void bench_run(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether it succeeds. */
bool bench_try(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_write(struct bench *b, const char *name, const char *text);
/* The path of a file in the directory; four of them live at a time. */
const char *bench_path(struct bench *b, const char *name);

/* Address and size of a symbol by nm(1); the test fails if there is none. */
uint64_t bench_address(struct bench *b, const char *file, const char *symbol);
uint64_t bench_size(struct bench *b, const char *file, const char *symbol);

/*
 * What is at one address of a file: "name", or with lines and inlines "inner a.c:3 < outer a.c:9",
 * paths cut to their last component. "" for no name. options may be null. Lives until the next
 * call.
 */
const char *bench_ask(struct bench *b, const char *file, const struct symbol_options *options,
		      uint64_t address);

/* The same of what lies in a function that begins at start (symbols_of_starts()). */
const char *bench_ask_start(struct bench *b, const char *file, uint64_t address, uint64_t start);

/* The same with an image as the caller describes it. */
const char *bench_ask_image(struct bench *b, const struct symbol_image *image,
			    const struct symbol_options *options, uint64_t address);

#endif
