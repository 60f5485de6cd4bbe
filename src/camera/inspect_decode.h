/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_INSPECT_DECODE_H
#define CAMERA_INSPECT_DECODE_H

#include "base/shown.h"
#include "camera/inspect_steps.h"

/*
 * What a record holds, as values: the bytes that the steps of its plan have read, by their types.
 * They come from the target's memory and may be anything; the tree's texts point into them.
 */
struct inspect_taken {
	const struct values *values;
	const struct inspect_plan *plan;
	const struct inspect_limits *limits;
	const struct inspect_redaction *redaction;
	const uint8_t *bytes; /* behind the record */
	uint32_t size;
	uint64_t bias; /* of the image in the process: what addresses are above those of its file */
	bool is_left;  /* the function has jumped to another one, which returns its result */
};

/* Adds the values of the parameters, or of the results, to the tree, each as a node of its own. */
void inspect_decode(const struct inspect_taken *taken, const struct value_param *params,
		    size_t count, bool results, struct shown_tree *tree);

#endif
