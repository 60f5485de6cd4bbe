/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LOSS_COUNTS_H
#define SOURCES_LOSS_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "film/writer.h"

/* The count of losses with one reason. */
struct loss_count {
	const char *words;
	uint64_t count;
};

/* Writes all counts other than 0 to the film, as losses of one event. */
void loss_counts_emit(struct film_writer *film, uint32_t event, const struct loss_count *losses,
		      size_t count);

/* The same for an array of them. */
#define loss_counts_emit_all(film, event, losses) \
	loss_counts_emit(film, event, losses, sizeof(losses) / sizeof((losses)[0]))

#endif
