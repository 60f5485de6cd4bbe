// SPDX-License-Identifier: Apache-2.0
#include "sources/loss_counts.h"

void loss_counts_emit(struct film_writer *film, uint32_t event, const struct loss_count *losses,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (losses[i].count)
			film_loss(film, event, losses[i].words, losses[i].count);
}
