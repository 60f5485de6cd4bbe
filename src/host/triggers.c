// SPDX-License-Identifier: Apache-2.0
#include "host/triggers.h"

#include "base/clock.h"

static const struct trigger triggers[] = {
	{HAPPENING_DEATH, 10 * SECOND_NS, trigger_death},
	{HAPPENING_HANG, 120 * SECOND_NS, trigger_hang},
	{HAPPENING_QUEUE, 120 * SECOND_NS, trigger_queue},
	{HAPPENING_CPU, 120 * SECOND_NS, trigger_cpu},
	{HAPPENING_PRESSURE, 120 * SECOND_NS, trigger_pressure},
	{HAPPENING_REQUEST, 120 * SECOND_NS, trigger_request},
};

const struct trigger *trigger_of(const struct happening *happening, char *words, size_t size)
{
	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++)
		if (triggers[i].kind == happening->kind &&
		    triggers[i].words(happening, words, size))
			return &triggers[i];
	return NULL;
}
