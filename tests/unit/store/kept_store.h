/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_STORE_KEPT_STORE_H
#define TESTS_UNIT_STORE_KEPT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/*
 * A store in a folder of its own, films made for it, and what is in both. Any failure ends the
 * test.
 */
#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)
/* 2026-01-02 03:00 UTC: long ago, so that all hours are over */
#define BEGIN	1767322800ull
#define SAMPLES 50

extern char root[64], store_path[96];
extern const char *spool; /* where films are before they are taken */

/* For cmocka_unit_test_setup_teardown(). */
int kept_set_up(void **state);
int kept_tear_down(void **state);
#define KEPT_TEST(name) cmocka_unit_test_setup_teardown(name, kept_set_up, kept_tear_down)

struct store *open_store(uint64_t bytes_max, uint64_t age_max);
void tick(struct store *store, uint64_t seconds);

/* A film of ten seconds that begins at a time (s since 1970), with SAMPLES samples. */
void make_film(const char *path, uint64_t begin, const char *labels);
/* The same with that many more stacks, 12 bytes of memory each, that no sample has. */
void make_film_of(const char *path, uint64_t begin, const char *labels, uint32_t stacks);
int send_film(struct store *store, const char *host, const char *agent, uint64_t number,
	      uint64_t begin, bool *again);
/* Films of ten seconds, one behind the other, by the numbers from 1 on. */
void send_some(struct store *store, const char *agent, unsigned int count, uint64_t begin);

struct on_disk {
	unsigned int films, parts, packed;
	uint64_t samples;
};
struct on_disk look(void);
/* Samples in all that the store answers. */
uint64_t indexed(struct store *store);

#endif
