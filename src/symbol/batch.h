/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_BATCH_H
#define SYMBOL_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbols.h"

/*
 * A batch of addresses, sorted and each one once, so that a pass over a table of symbols in any
 * order finds with one binary search whom a symbol concerns.
 */

/* What is compared when several symbols hold one address. Kinds: larger is believed more. */
enum symbol_kind {
	SYMBOL_LABEL = 1, /* no type: hand-written assembly */
	SYMBOL_FUNCTION,
};

struct symbol_claim {
	uint64_t start;
	enum symbol_kind kind;
	bool resolver; /* STT_GNU_IFUNC: the name of what it chooses, not of itself */
	bool sizeless;
	uint8_t binding; /* 2 global, 1 weak, 0 local */
};

struct question {
	uint64_t address;
	uint64_t start;	       /* of the function around it, as far as it is known */
	uint64_t border;       /* the last one before it, in any table of symbols */
	size_t first, repeats; /* its places in batch->places */
	char *name;	       /* the best one so far, as the table spells it; null: none */
	struct symbol_claim claim;
	bool settled; /* name is final: sources of lower standing are not asked */
	bool go;      /* Go's own table has named it: not mangled, with lines */
};

struct batch {
	struct question *at;
	size_t count;
	size_t *places; /* places in the caller's array, grouped by question */
	size_t text;	/* bytes of names that may still be kept */
	uint64_t work;	/* comparisons that are left; see batch_offer() */
};

/* Returns 0 or -ENOMEM; then *b is empty. */
int batch_make(struct batch *b, const uint64_t *addresses, size_t count);
void batch_free(struct batch *b);

/* The place of the first question whose address is not below address; count: there is none. */
size_t batch_find(const struct batch *b, uint64_t address);

/* Names found so far stand. Returns the number of questions that have none. */
size_t batch_settle(struct batch *b);

/*
 * Sets name, which the caller must have allocated and loses in any case, for a question if it has
 * no better one.
 */
void batch_set_name(struct question *q, const struct symbol_claim *claim, char *name);

/* Whether a claim could win, before its name is read. */
bool batch_wants(const struct question *q, const struct symbol_claim *claim);

/* Calls found() for all places of a question. */
void batch_emit(const struct batch *b, const struct question *q, const struct symbol_name *names,
		size_t count, symbol_found *found, void *context);

#endif
