/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * Values of a program, as they are displayed: a tree of nodes, parents before their children. A
 * value that could not be read has a status instead, never a guess. Names, types and texts come
 * from the target and may contain any bytes.
 *
 * Films store the numbers of both enumerations (film/film.h): append new ones at the end.
 */
enum shown_kind {
	SHOWN_NOTHING, /* no value: status says why */
	SHOWN_SIGNED,
	SHOWN_UNSIGNED,
	SHOWN_REAL,
	SHOWN_BOOL,
	SHOWN_CHAR,
	SHOWN_TEXT,
	SHOWN_NAME,    /* name of an enumerator; number is its value */
	SHOWN_ADDRESS, /* a pointer that was not dereferenced */
	SHOWN_OBJECT,  /* the children are members */
	SHOWN_VARIANT, /* one child, whose name is that of the active variant */
	SHOWN_LIST,
	SHOWN_PAIRS, /* a map: keys and values alternate */
};

enum shown_status {
	SHOWN_VALUE,
	SHOWN_NIL,
	SHOWN_TRUNCATED,
	SHOWN_NOT_RESIDENT,
	SHOWN_OPTIMISED_OUT,
	SHOWN_FLOAT_REGISTER,
	SHOWN_NO_ROOM,	 /* the size limit of an event was reached */
	SHOWN_NOT_KNOWN, /* the value's location is not known */
	SHOWN_LEFT,	 /* the function ended with a jump to another one (a tail call) */
	SHOWN_REDACTED,
	SHOWN_NOT_FOLLOWED, /* nested deeper than the limit */
	SHOWN_NOT_YET,	    /* the variable is declared later in the function */
	/* has a value, but optimised code may not have stored the new one yet */
	SHOWN_MAY_BE_OLD,
	SHOWN_NO_ELEMENT, /* the index is beyond the end of the list */
	SHOWN_NO_MEMBER,  /* the type has no member of that name */
	SHOWN_OF_NO_KIND, /* values of this type are not supported */
	SHOWN_STATUSES
};

/* The status in words: "not resident". */
const char *shown_status_words(enum shown_status status);

struct shown {
	enum shown_kind kind;
	enum shown_status status;
	const char *name, *type; /* null: none */
	uint64_t number;	 /* signed numbers in two's complement */
	double real;
	const char *text; /* size bytes, not terminated */
	size_t size;	  /* bytes in text */
	/* number of elements of a list or map in the target; there may be fewer children */
	uint64_t length;
	uint32_t children; /* number of direct children */
};

struct shown_tree {
	vec(struct shown) nodes;
	bool failed; /* ran out of memory */
};

#endif
