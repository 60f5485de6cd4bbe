// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/calls/abi.h"
#include "bpf/probes.skel.h"

/* The sums of CALLS_SUMS_PART functions. */
struct part {
	int map;
	struct film_sum *before; /* all up to the last look */
};

struct calls_sums {
	int parts_map;
	size_t cpus;
	vec(struct part) parts;
	struct calls_sum *read; /* of each CPU */
	uint64_t from;
};

int calls_sums_new(struct probes *probes, struct calls_sums **result)
{
	struct calls_sums *sums = calloc(1, sizeof(*sums));
	int cpus = libbpf_num_possible_cpus();

	if (!sums || cpus <= 0) {
		free(sums);
		return -ENOMEM;
	}
	sums->cpus = (size_t)cpus;
	sums->parts_map = bpf_map__fd(probes->maps.calls_sums);
	sums->read = calloc(sums->cpus, sizeof(*sums->read));
	calls_sums_start(sums);
	if (!sums->read) {
		calls_sums_free(sums);
		return -ENOMEM;
	}
	*result = sums;
	return 0;
}

void calls_sums_free(struct calls_sums *sums)
{
	if (!sums)
		return;
	vec_foreach (&sums->parts, part) {
		close(part->map);
		free(part->before);
	}
	vec_free(&sums->parts);
	free(sums->read);
	free(sums);
}

void calls_sums_start(struct calls_sums *sums)
{
	sums->from = clock_ns();
}

static int add_part(struct calls_sums *sums)
{
	struct part part = {.before = calloc(CALLS_SUMS_PART, sizeof(*part.before))};
	uint32_t number = (uint32_t)sums->parts.count;
	int err;

	if (!part.before)
		return -ENOMEM;
	part.map = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "calls_sums_part", sizeof(uint32_t),
				  sizeof(struct calls_sum), CALLS_SUMS_PART, NULL);
	err = part.map < 0 ? -errno : 0;
	if (!err && bpf_map_update_elem(sums->parts_map, &number, &part.map, BPF_ANY))
		err = -errno;
	if (!err && !vec_push(&sums->parts, part))
		err = -ENOMEM;
	if (err) {
		if (part.map >= 0)
			close(part.map);
		free(part.before);
	}
	return err;
}

int calls_sums_reserve(struct calls_sums *sums, size_t functions)
{
	int err = 0;

	while (!err && sums->parts.count * CALLS_SUMS_PART < functions)
		err = add_part(sums);
	return err;
}

/* Over all CPUs. */
static struct film_sum add_up(const struct calls_sum *at, size_t cpus)
{
	struct film_sum sum = {0};
	size_t i, b;

	for (i = 0; i < cpus; i++, at++) {
		if (!at->calls)
			continue;
		if (!sum.calls || at->min < sum.min)
			sum.min = at->min;
		if (at->max > sum.max)
			sum.max = at->max;
		sum.calls += at->calls;
		sum.total += at->total;
		sum.self += at->self;
		sum.waited += at->waited;
		sum.recursive += at->recursive;
		sum.inferred += at->inferred;
		for (b = 0; b < FILM_SUM_BUCKETS; b++)
			sum.buckets[b] += at->buckets[b];
	}
	return sum;
}

/*
 * Each CPU's numbers are read while it counts: a sum may be a call short, which the next look has.
 */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static struct film_sum difference(const struct film_sum *now, const struct film_sum *before)
{
	struct film_sum sum = {
		.calls = since(now->calls, before->calls),
		.total = since(now->total, before->total),
		.self = since(now->self, before->self),
		.waited = since(now->waited, before->waited),
		.recursive = since(now->recursive, before->recursive),
		.inferred = since(now->inferred, before->inferred),
		.min = now->min,
		.max = now->max,
	};
	size_t b;

	for (b = 0; b < FILM_SUM_BUCKETS; b++)
		sum.buckets[b] = since(now->buckets[b], before->buckets[b]);
	return sum;
}

/* All CPUs' sums of a function of that part. */
static bool read_sums(struct calls_sums *sums, const struct part *part, uint32_t function)
{
	return !bpf_map_lookup_elem(part->map, &function, sums->read);
}

uint64_t calls_sums_least(struct calls_sums *sums, uint32_t function)
{
	uint32_t number = function / CALLS_SUMS_PART;

	if (number >= sums->parts.count ||
	    !read_sums(sums, &sums->parts.at[number], function % CALLS_SUMS_PART))
		return 0;
	return add_up(sums->read, sums->cpus).min;
}

void calls_sums_flush(struct calls_sums *sums, uint64_t now,
		      void (*emit)(void *context, uint32_t function, uint64_t from, uint64_t to,
				   const struct film_sum *sum),
		      void *context)
{
	uint32_t first = 0, i;

	vec_foreach (&sums->parts, part) {
		for (i = 0; i < CALLS_SUMS_PART; i++) {
			struct film_sum *before = &part->before[i], all, added;

			if (!read_sums(sums, part, i))
				continue;
			all = add_up(sums->read, sums->cpus);
			if (all.calls == before->calls)
				continue;
			added = difference(&all, before);
			*before = all;
			emit(context, first + i, sums->from, now, &added);
		}
		first += CALLS_SUMS_PART;
	}
	sums->from = now;
}
