// SPDX-License-Identifier: Apache-2.0
/*
 * Which processes say what service they are (otel_resource.h): asked when their first sample comes,
 * and again after pauses that double, as a program publishes it some time after its start.
 */
#include <errno.h>

#include "base/clock.h"
#include "resolve/otel_resource.h"
#include "resolve/samples_state.h"

#define PAUSE_FIRST SECOND_NS
#define PAUSE_MOST  (512 * SECOND_NS)
/* What asking may take of a second, and at the end of a recording. */
#define ASK_NS	    5000000ull
#define ASK_LAST_NS 50000000ull

#define UNREAD	    "service that a program says it is: what it publishes as OTEL_CTX cannot be read"

struct asking {
	struct samples *samples;
	uint64_t now, until;
	bool is_last;
};

static void ask(struct asking *asking, struct filmed_process *filmed, struct process *process)
{
	struct samples *samples = asking->samples;
	char text[OTEL_RESOURCE_SIZE];
	int err = otel_resource_read(process, text);

	if (!err && !process_set_resource(process, text)) {
		catalogue_process_changed(samples->catalogue, &filmed->row, process);
		return;
	}
	filmed->resource_pause = filmed->resource_pause ? 2 * filmed->resource_pause : PAUSE_FIRST;
	if (filmed->resource_pause > PAUSE_MOST)
		filmed->resource_pause = PAUSE_MOST;
	filmed->resource_next = asking->now + filmed->resource_pause;
	if (err == -ENOENT || err == -ESRCH || filmed->resource_failed)
		return;
	filmed->resource_failed = true;
	film_loss(samples->film, 0, UNREAD, ++samples->resources_unread);
}

static void ask_in_time(void *context, const struct process *process)
{
	struct filmed_process *filmed = process->owner;
	struct asking *asking = context;
	struct process *own;

	/* kernel threads map nothing */
	if (!filmed || process->end || *process->resource || !process->mapping_count ||
	    (!asking->is_last && asking->now < filmed->resource_next) || clock_ns() > asking->until)
		return;
	own = targets_find(asking->samples->targets, process->pid);
	if (own == process)
		ask(asking, filmed, own);
}

void samples_ask_resources(struct samples *samples, bool is_last)
{
	uint64_t now = clock_ns();
	struct asking asking = {samples, now, now + (is_last ? ASK_LAST_NS : ASK_NS), is_last};

	targets_each(samples->targets, ask_in_time, &asking);
}
