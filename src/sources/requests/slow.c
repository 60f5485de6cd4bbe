// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum {
	PARTS = 4, /* of each power of two */
	BUCKETS = 64 * PARTS,
	SLOTS = 2 * SLOW_REQUESTS_ENDPOINTS,
};

struct slow_endpoint {
	uint64_t key; /* hash of its text; 0: the slot is free */
	uint32_t count;
	uint16_t *counts; /* BUCKETS; no count reaches SLOW_REQUESTS_MOST */
};

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int power = ns < PARTS ? 2 : 63 - (unsigned int)__builtin_clzll(ns);

	return power * PARTS + (unsigned int)(ns < PARTS ? ns : ns >> (power - 2) & (PARTS - 1));
}

/* What all of a bucket are below. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int power = bucket / PARTS, part = bucket % PARTS + 1;

	if (bucket == BUCKETS - 1)
		return UINT64_MAX;
	return power < 2 ? 0 : (1ull << power) + ((uint64_t)part << (power - 2));
}

/* Null: no room, or no memory. */
static struct slow_endpoint *endpoint_of(struct slow_requests *requests, const char *program,
					 const char *endpoint)
{
	uint64_t key = (hash_u64(hash_bytes(program, strlen(program))) ^
			hash_bytes(endpoint, strlen(endpoint))) |
		       1;
	struct slow_endpoint *slot;

	if (!requests->endpoints)
		requests->endpoints = calloc(SLOTS, sizeof(*requests->endpoints));
	if (!requests->endpoints)
		return NULL;
	for (uint64_t i = key;; i++) {
		slot = &requests->endpoints[i % SLOTS];
		if (!slot->key || slot->key == key)
			break;
	}
	if (slot->key || requests->count == SLOW_REQUESTS_ENDPOINTS)
		return slot->key ? slot : NULL;
	slot->counts = calloc(BUCKETS, sizeof(*slot->counts));
	if (!slot->counts)
		return NULL;
	slot->key = key;
	requests->count++;
	return slot;
}

static uint64_t p99_of(const struct slow_endpoint *endpoint)
{
	uint32_t wanted = endpoint->count - endpoint->count / 100, seen = 0;

	if (endpoint->count < SLOW_REQUESTS_LEAST)
		return 0;
	for (unsigned int i = 0; i < BUCKETS; i++) {
		seen += endpoint->counts[i];
		if (seen >= wanted)
			return bucket_end(i);
	}
	return UINT64_MAX;
}

static void halve(struct slow_endpoint *endpoint)
{
	endpoint->count = 0;
	for (unsigned int i = 0; i < BUCKETS; i++) {
		endpoint->counts[i] /= 2;
		endpoint->count += endpoint->counts[i];
	}
}

uint64_t slow_requests_add(struct slow_requests *requests, const char *program,
			   const char *endpoint, uint64_t ns)
{
	struct slow_endpoint *one = endpoint_of(requests, program, endpoint);
	uint64_t p99;

	if (!one)
		return 0;
	p99 = p99_of(one);
	one->counts[bucket_of(ns)]++;
	if (++one->count == SLOW_REQUESTS_MOST - 1)
		halve(one);
	return p99;
}

uint64_t slow_requests_usual(struct slow_requests *requests, const char *program,
			     const char *endpoint)
{
	const struct slow_endpoint *one = endpoint_of(requests, program, endpoint);

	return one ? p99_of(one) : 0;
}

void slow_requests_free(struct slow_requests *requests)
{
	for (uint32_t i = 0; requests->endpoints && i < SLOTS; i++)
		free(requests->endpoints[i].counts);
	free(requests->endpoints);
	*requests = (struct slow_requests){0};
}
