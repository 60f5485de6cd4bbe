// SPDX-License-Identifier: Apache-2.0
#include "protocol/waiting_answers.h"

void waiting_answers_add(struct waiting_answers *waiting, uint8_t flags)
{
	if (waiting->count == WAITING_ANSWERS_MAX)
		waiting_answers_pop(waiting);
	waiting->flags[(waiting->first + waiting->count++) % WAITING_ANSWERS_MAX] = flags;
}

uint8_t waiting_answers_pop(struct waiting_answers *waiting)
{
	uint8_t flags = waiting_answers_first(waiting);

	if (!waiting->count)
		return 0;
	waiting->first = (waiting->first + 1) % WAITING_ANSWERS_MAX;
	waiting->count--;
	return flags;
}
