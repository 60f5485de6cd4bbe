/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/*
 * Finds the known name that is most similar to an unknown one: "did you mean 'record'?".
 *
 *	struct nearest nearest = {.given = "recrod"};
 *	nearest_offer(&nearest, "record");
 *	if (nearest.name) …
 */
struct nearest {
	const char *given;
	const char *name; /* the most similar name that was offered; null: no name is similar */
	size_t distance;  /* number of changes between given and name */
};

/*
 * Compares another known name, which must outlive nearest. Two names are similar if few changes
 * turn one into the other: at most a third of the letters added, removed, replaced, or swapped with
 * the next one. Names of more than 100 bytes are never similar.
 */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
