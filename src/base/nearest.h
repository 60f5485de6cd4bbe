/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/*
 * Which of several names was meant by one that is none of them: "did you mean 'record'?".
 *
 *	struct nearest nearest = {.given = "recrod"};
 *	nearest_offer(&nearest, "record");
 *	if (nearest.name) …
 */
struct nearest {
	const char *given;
	const char *name; /* the nearest one that was offered; null: none is near */
	size_t distance;  /* of that */
};

/*
 * name must outlive nearest. Near is what few changes of a letter make: one added, left out,
 * replaced, or two exchanged; up to a third of the letters. Names of more than 100 bytes are not
 * near to any.
 */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
