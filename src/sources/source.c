// SPDX-License-Identifier: Apache-2.0
#include "sources/source.h"

#include <string.h>

#include "attach/filter.h"

void source_add_events(struct source *source, const enum event_id *ids, unsigned int count,
		       const char *how, uint32_t *of_film)
{
	unsigned int also = 0;

	source->event = 0;
	memset(source->also, 0, sizeof(source->also));
	for (unsigned int i = 0; i < count; i++) {
		struct film_event event = event_from(ids[i], how);

		of_film[i] =
			source_wants(source, i) ? film_add_event(source->host->film, &event) : 0;
		if (!source->event)
			source->event = of_film[i];
		else if (of_film[i] && also < SOURCE_ALSO_MAX)
			source->also[also++] = of_film[i];
	}
}

bool source_is_meant(struct source *source, const struct capture_identity *identity)
{
	bool gone;

	if (!identity->undecided)
		return true;
	if (filter_decide(source->host->probes, source->host->selection, (pid_t)identity->pid,
			  identity->comm, &gone))
		return true;
	source->undecidable += gone;
	return false;
}

uint32_t source_first_thread(void *context, uint32_t pid)
{
	const struct source *source = context;
	const struct process *process = samples_process(source->host->samples, (pid_t)pid);

	return process ? samples_other_thread(source->host->samples, (pid_t)pid, (pid_t)pid,
					      process->start, process->comm)
		       : 0;
}
