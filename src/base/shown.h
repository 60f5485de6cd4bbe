/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * Values of a program as they are shown: a tree of nodes, parents before their children. What could
 * not be had has a status instead of a value, never a guess. Names, types and texts come from the
 * program and may hold anything.
 *
 * Films have the numbers of both enumerations: new ones come at the end (film/film.h).
 */
enum shown_kind {
	SHOWN_NOTHING, /* the status says why */
	SHOWN_SIGNED,
	SHOWN_UNSIGNED,
	SHOWN_REAL,
	SHOWN_BOOL,
	SHOWN_CHAR,
	SHOWN_TEXT,
	SHOWN_NAME,    /* of an enumeration; number is what it stands for */
	SHOWN_ADDRESS, /* a pointer that was not followed */
	SHOWN_OBJECT,  /* members */
	SHOWN_VARIANT, /* one child, whose name chooses what it is */
	SHOWN_LIST,
	SHOWN_PAIRS, /* a map: keys and values in turn */
};

enum shown_status {
	SHOWN_VALUE,
	SHOWN_NIL,
	SHOWN_TRUNCATED,
	SHOWN_NOT_RESIDENT,
	SHOWN_OPTIMISED_OUT,
	SHOWN_FLOAT_REGISTER,
	SHOWN_NO_ROOM,	 /* the limit of an event was reached */
	SHOWN_NOT_KNOWN, /* where it is */
	SHOWN_LEFT,	 /* the function ended by a jump to another one */
	SHOWN_REDACTED,
	SHOWN_NOT_FOLLOWED, /* beyond the depth that is read */
	SHOWN_NOT_YET,	    /* declared further down */
	SHOWN_MAY_BE_OLD,   /* with its value: optimised code may store it later */
	SHOWN_NO_ELEMENT,   /* the list is shorter */
	SHOWN_NO_MEMBER,    /* there is nothing of that name */
	SHOWN_OF_NO_KIND,   /* values of its type are not read */
	SHOWN_STATUSES
};

/* "not resident" */
const char *shown_status_words(enum shown_status status);

struct shown {
	enum shown_kind kind;
	enum shown_status status;
	const char *name, *type; /* null: none */
	uint64_t number;	 /* signed ones as two's complement */
	double real;
	const char *text;  /* bytes, not terminated */
	size_t size;	   /* of text */
	uint64_t length;   /* of lists and maps: elements that there are */
	uint32_t children; /* nodes right below it */
};

struct shown_tree {
	vec(struct shown) nodes;
	bool failed; /* no memory */
};

#endif
