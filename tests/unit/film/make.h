/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FILM_MAKE_H
#define TESTS_FILM_MAKE_H

#include "film/reader.h"
#include "film/writer.h"

#define SECOND 1000000000ull

/* What the tests of the film write and expect to read. Any failure here fails the test. */

/* A new folder and the path of a film in it; both are static until the next call. */
const char *new_path(void);
/* Removes the folder of new_path() with all that is in it. */
void remove_folder(void);

extern const struct film_info test_info;

/* A film with one event, process, thread and image. */
struct film_writer *create(const char *path);
/* The same, with threads and stacks: numbers below these are known. */
struct film_writer *create_with(const char *path, uint32_t threads, uint64_t stacks);
/* One frame of image 1. */
uint32_t native(struct film_writer *w, uint64_t address);
/* A stack of the frames at the addresses, root first. */
uint32_t stack_of(struct film_writer *w, const uint64_t *addresses, size_t count);

/* Does something to the film's database that no writer would do. */
void change_film(const char *path, const char *sql);

void commit(struct film_writer *w, uint64_t now);
void close_film(struct film_writer *w, uint64_t now);
struct film *open_film(const char *path);
/* What a merge makes of that film alone. */
struct film *merge_alone(const char *path);

/* A film of seconds commits with 100 samples in each, sample i of value i + 1, at i * 10 ms. */
void put_second(struct film_writer *w, uint64_t second);
void write_seconds(const char *path, uint64_t seconds);
/* That film, from any recorder that finished at least seconds commits. */
void check_seconds(struct film *film, uint64_t seconds);

/* All samples of an event: count, and the sum of the values. */
struct sum {
	uint64_t count, total, blocks, last;
};
int add_up(void *context, const struct film_samples *samples);
struct sum sum_of(struct film *film, uint32_t event);

/* Walks everything in a film and all its blocks; every promise of reader.h is an assertion. */
void check_promises(struct film *film);

#endif
