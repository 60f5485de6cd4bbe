/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_CALLED_H
#define SOURCES_INSPECT_CALLED_H

#include <stdint.h>

#include "symbol/symbols.h"

/* Names of functions that objects call, by their addresses: std::function. */
struct inspect_called;

/* symbols must live as long. Null: no memory. */
struct inspect_called *inspect_called_new(struct symbols *symbols);
void inspect_called_free(struct inspect_called *called);

/* Of an image, and how far in a process its addresses are above those of its file. */
struct inspect_names {
	struct inspect_called *called;
	struct symbol_image image;
	uint32_t number; /* of the image */
	uint64_t bias;
};

/* As struct inspect_contents has it (decode.h); names: a struct inspect_names. */
const char *inspect_called_name(void *names, uint64_t address, uint64_t held);

#endif
