// SPDX-License-Identifier: Apache-2.0
/* What machines did beside the threads of the timeline: CPUs, disks, network, memory. */
#include <inttypes.h>
#include <stdio.h>

#include "film/events.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "show/machine.h"
#include "store/machine.h"

#define STEPS_USUAL 600

int api_timeline_machine(const struct http_request *request, struct answer *answer,
			 struct fail *why)
{
	struct json j = {.out = answer->out};
	struct server_ask ask;
	struct machine machine = {0};
	struct store_sum sum = {0};
	uint64_t steps = 0;
	char base[24];
	int err = ask_request(request, "steps", &ask, why);

	if (!err && !ask.ask.event)
		ask.ask.event = event_type(EVENT_THREADS)->name;
	if (!err)
		err = ask_number(request->url, "steps", 1, MACHINE_STEPS_MAX, STEPS_USUAL, &steps,
				 why);
	machine.steps = steps;
	if (!err)
		err = store_machine(request->store, &ask.ask, &machine, &sum, why);
	if (!err) {
		snprintf(base, sizeof(base), "%" PRIu64, machine.from);
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &sum);
		json_text(&j, "base", base);
		json_u64(&j, "length", machine.to - machine.from);
		json_u64(&j, "step", machine.step);
		json_bool(&j, "cut", machine.is_cut);
		json_put_machine(&j, &machine, true);
		json_close(&j, '}');
	}
	machine_free(&machine);
	ask_free(&ask);
	return err;
}
