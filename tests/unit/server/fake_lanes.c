// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that answers the timeline: one thread with a hostile name. */
#include <errno.h>
#include <string.h>

#include "fake_store.h"
#include "film/film.h"
#include "store/devices.h"
#include "store/lanes.h"
#include "store/logs.h"
#include "store/machine.h"

static int refuse(const struct store_ask *ask, struct fail *why)
{
	if (ask->event && !strcmp(ask->event, "missing"))
		return fail(why, -ENOENT, NULL, "the store has no event '%s'", ask->event);
	return 0;
}

/* It runs for 1 us, and then waits for 2. */
int store_lanes(struct store *store, const struct store_ask *ask, struct lanes *lanes,
		struct store_sum *sum, struct fail *why)
{
	struct lane lane = {.host = "host1",
			    .comm = fake_hostile,
			    .process = fake_hostile,
			    .command = fake_hostile,
			    .service = fake_hostile,
			    .kind = "thread",
			    .pid = 10,
			    .tid = 11,
			    .ns = {1000, [SLICE_WAIT + WAIT_LOCK] = 2000},
			    .slices = {1, [SLICE_WAIT + WAIT_LOCK] = 1}};
	int err = refuse(ask, why);

	(void)store;
	*sum = (struct store_sum){.samples = 2, .unit = "ns"};
	lanes->from = ask->from ? ask->from : 1732199520000000000ull;
	lanes->to = lanes->from + 3000;
	if (err)
		return err;
	lanes->running = calloc(lanes->steps + 1, sizeof(*lanes->running));
	lanes->ready = calloc(lanes->steps + 1, sizeof(*lanes->ready));
	lanes->states[SLICE_ON_CPU] = (struct lane_state){.count = 1, .sum = 1000, .longest = 1000};
	if (lanes->pixel && (!lane_runs_add(&lane.runs, lanes->pixel, lanes->from,
					    lanes->from + 1000, SLICE_ON_CPU) ||
			     !lane_runs_end(&lane.runs)))
		err = -ENOMEM;
	if (!vec_push(&lanes->all, lane))
		err = -ENOMEM;
	return err;
}

/* One line with a hostile text, by each thread that is asked for. */
int store_logs(struct store *store, const struct store_ask *ask, struct store_logs *logs,
	       struct store_sum *sum, struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	*sum = (struct store_sum){.unit = "ns"};
	logs->from = ask->from ? ask->from : 1732199520000000000ull;
	logs->to = logs->from + 3000;
	logs->left = 7;
	if (err || (logs->find && !strstr(fake_hostile, logs->find)))
		return err;
	return vec_push(&logs->lines, (struct log_shown){.time = logs->from + 5,
							 .host = "host1",
							 .comm = fake_hostile,
							 .stream = fake_hostile,
							 .text = fake_hostile,
							 .bytes = strlen(fake_hostile),
							 .size = 20000,
							 .pid = 10,
							 .tid = 11,
							 .writer = 12,
							 .matched = LOG_BY_THREAD_NAME,
							 .kind = FILM_LOG_FILE,
							 .level = 4,
							 .flags = FILM_LOG_CUT})
		       ? 0
		       : -ENOMEM;
}

void store_logs_free(struct store_logs *logs)
{
	vec_free(&logs->lines);
}

/* One gauge of a device with a hostile name, of which only the first step is known. */
int store_machine(struct store *store, const struct store_ask *ask, struct machine *machine,
		  struct store_sum *sum, struct fail *why)
{
	struct machine_gauge gauge = {.type = film_gauge_type(FILM_GAUGE_DISK_READ),
				      .kind = FILM_GAUGE_DISK_READ,
				      .host = "host1",
				      .object = fake_hostile,
				      .total = 4096,
				      .count = 1,
				      .average = 2048.5};
	struct machine_gauge by = {.type = film_gauge_type(FILM_GAUGE_DISK_READ_BY),
				   .kind = FILM_GAUGE_DISK_READ_BY,
				   .host = "host1",
				   .object = fake_hostile,
				   .comm = fake_hostile,
				   .pid = 10,
				   .tid = 11,
				   .total = 4096};
	int err = refuse(ask, why);

	(void)store;
	*sum = (struct store_sum){.unit = "ns"};
	machine->from = ask->from ? ask->from : 1732199520000000000ull;
	machine->to = machine->from + 3000;
	if (err)
		return err;
	machine->step = (3000 + machine->steps - 1) / machine->steps;
	gauge.sums = calloc(machine->steps + 1, sizeof(*gauge.sums));
	gauge.spans = calloc(machine->steps + 1, sizeof(*gauge.spans));
	if (!gauge.sums || !gauge.spans)
		return -ENOMEM;
	gauge.sums[0] = gauge.spans[0] = 1;
	return vec_push(&machine->all, gauge) && vec_push(&machine->all, by) &&
			       vec_push(&machine->notes, fake_hostile)
		       ? 0
		       : -ENOMEM;
}

/* A kernel with a hostile name, which a thread with such a name launched 5 ns before. */
int store_devices(struct store *store, const struct store_ask *ask, struct device_lanes *lanes,
		  struct store_sum *sum, struct fail *why)
{
	struct device_stream stream = {.host = "host1",
				       .process = fake_hostile,
				       .pid = 10,
				       .stream = 7,
				       .kernels_ns = 1000,
				       .idle_ns = 2000,
				       .kernels = 1};
	int err = refuse(ask, why);

	(void)store;
	*sum = (struct store_sum){.samples = 1, .unit = "ns"};
	lanes->from = ask->from;
	lanes->to = ask->from + 3000;
	if (err)
		return err;
	if (!vec_push(&stream.runs, (struct device_run){.start = lanes->from + 10,
							.end = lanes->from + 1010,
							.busy = 1000,
							.dominant = 1000,
							.launch = lanes->from + 5,
							.thread = 1,
							.count = 1}))
		return -ENOMEM;
	return vec_push(&lanes->streams, stream) &&
			       vec_push(&lanes->names,
					(struct device_name){fake_hostile, DEVICE_RUN_KERNEL}) &&
			       vec_push(&lanes->threads,
					(struct device_thread){fake_hostile, fake_hostile, 10, 11})
		       ? 0
		       : -ENOMEM;
}

/* Its stack has a frame without a name, and one with a hostile one. */
int store_slice(struct store *store, const struct store_ask *ask, const struct lane_id *lane,
		int (*emit)(void *context, const struct film *film, const struct lane_slice *found),
		void *context, struct fail *why)
{
	struct film_process processes[] = {{0}, {.pid = 10}};
	struct film_thread threads[] = {{0}, {.process = 1, .tid = 11, .comm = fake_hostile}};
	struct film_image images[] = {{.path = ""}, {.path = fake_hostile}};
	struct film_function functions[] = {{.name = ""}, {.name = fake_hostile}};
	struct film_frame frames[] = {{0},
				      {.image = 1, .kind = FILM_FRAME_NATIVE, .function = 1},
				      {.image = 1, .kind = FILM_FRAME_NATIVE, .address = 0x1230}};
	struct film_stack stacks[] = {{0}, {0, 1, FILM_HOW_EXACT}, {1, 2, FILM_HOW_FRAME_POINTER}};
	const struct film film = {.info = {.arch = "x86_64"},
				  .processes = processes,
				  .threads = threads,
				  .images = images,
				  .functions = functions,
				  .frames = frames,
				  .stacks = stacks};
	const struct lane_slice found = {.slice = {.start = ask->from - 1000,
						   .end = ask->from + 5,
						   .thread = 1,
						   .kind = SLICE_WAIT + WAIT_LOCK,
						   .call = 203,
						   .state = 'S',
						   .waker = 1,
						   .stack = 2,
						   .object = 1,
						   .context = FILM_WAIT_BY_TIMER},
					 .evidence = {.arguments = {UINT64_MAX}},
					 .is_found = true};
	int err = refuse(ask, why);

	(void)store;
	if (err || lane->tid == 12)
		return err;
	return emit(context, &film, &found);
}
