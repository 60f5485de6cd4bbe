// SPDX-License-Identifier: Apache-2.0
#include "host/lookout.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/accept_queues.h"
#include "host/cpu_jumps.h"
#include "host/pressure.h"
#include "host/say.h"

#define TICK_MS 1000

struct lookout {
	struct happening_listener listener;
	struct accept_queues *queues; /* null: not wanted */
	struct cpu_jumps *jumps;      /* the same */
	struct pressure pressure;
	uint32_t pressed; /* percent beyond what is usual; 0: not wanted */
	pthread_t thread;
	bool runs, failed;
	int end; /* eventfd: it is to end */
};

static void look(struct lookout *lookout)
{
	struct fail why = {0};
	int err = 0;

	if (lookout->queues)
		err = accept_queues_look(lookout->queues, clock_ns(), &lookout->listener, &why);
	if (lookout->pressed)
		pressure_look(&lookout->pressure, "/proc/pressure", clock_ns(), lookout->pressed,
			      &lookout->listener);
	if (!err && lookout->jumps)
		err = cpu_jumps_look(lookout->jumps, clock_ns(), &lookout->listener, &why);
	if (err && !lookout->failed)
		host_say_fail(&why, "; tried again until it works");
	lookout->failed = err != 0;
}

static void *run(void *context)
{
	struct lookout *lookout = context;
	struct pollfd end = {.fd = lookout->end, .events = POLLIN};

	pthread_setname_np(pthread_self(), "lookout");
	do
		look(lookout);
	while (poll(&end, 1, TICK_MS) <= 0);
	return NULL;
}

int lookout_start(const struct lookout_options *options, struct lookout **result, struct fail *why)
{
	struct lookout *lookout;
	int err;

	*result = NULL;
	if (!options->queue && !options->cpu && !options->pressure)
		return 0;
	lookout = calloc(1, sizeof(*lookout));
	if (!lookout)
		return fail_errno(why, -ENOMEM, NULL, "cannot start a thread");
	lookout->listener = options->listener;
	lookout->pressed = options->pressure;
	lookout->end = eventfd(0, EFD_CLOEXEC);
	err = lookout->end < 0 ? fail_errno(why, -errno, NULL, "cannot start a thread") : 0;
	if (!err && options->queue)
		err = accept_queues_new(options->programs, options->queue, &lookout->queues, why);
	if (!err && options->cpu) {
		lookout->jumps = cpu_jumps_new(options->programs, options->cpu);
		if (!lookout->jumps)
			err = fail_errno(why, -ENOMEM, NULL, "cannot look for jumps of CPU");
	}
	if (!err) {
		err = -pthread_create(&lookout->thread, NULL, run, lookout);
		lookout->runs = !err;
		if (err)
			fail_errno(why, err, NULL, "cannot start a thread");
	}
	if (err) {
		lookout_free(lookout);
		return err;
	}
	*result = lookout;
	return 0;
}

void lookout_free(struct lookout *lookout)
{
	if (!lookout)
		return;
	if (lookout->runs) {
		eventfd_write(lookout->end, 1);
		pthread_join(lookout->thread, NULL);
	}
	accept_queues_free(lookout->queues);
	cpu_jumps_free(lookout->jumps);
	if (lookout->end >= 0)
		close(lookout->end);
	free(lookout);
}
