/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_KNOWN_H
#define FILM_KNOWN_H

#include "base/vec.h"
#include "film/arena.h"
#include "film/intern.h"

/* What a thing is: two numbers, or one and a text. Those of one table are all of one sort. */
struct known_key {
	uint64_t a, b;
	const char *text; /* null: b counts */
};

/* A thing that is known. */
struct known_thing {
	uint64_t a;
	union {
		uint64_t b;
		const char *text;
	};
	uint32_t id;
};

/*
 * Ids of things by what they are, so that a thing that a film has is not written again as long as
 * it is in use. What was not used for long is forgotten: there are two generations, what is found
 * in the old one is copied to the young one, and when that has as many things as the limit, it
 * becomes the old one, and the one before is gone. So a thing is known until at least as many
 * others as the limit were used after it. All zero is empty, and forgets nothing.
 */
struct known {
	size_t limit; /* 0: none */
	struct known_generation {
		struct intern index; /* the place in things, from 1 */
		vec(struct known_thing) things;
		struct arena texts;
	} young, old;
};

/* The id of a thing; 0: it is not known, or not any more. */
uint32_t known_find(struct known *k, const struct known_key *key);

/* Adds one that was not found. The text is copied. False: no memory. */
bool known_add(struct known *k, const struct known_key *key, uint32_t id);

/* Forgets all; the limit stays. */
void known_clear(struct known *k);

#endif
