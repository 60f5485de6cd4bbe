// SPDX-License-Identifier: Apache-2.0
#include "record/relief.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/privileges.h"
#include "base/thread.h"

/*
 * How often rings are emptied once the recorder is late: each CPU may hand over a stack of 64 KiB a
 * thousand times a second.
 */
#define AGAIN_NS 10000000l

struct relief {
	struct rings *rings;
	struct sideband *sideband;
	int late; /* a timer: the recorder has not read in time */
	int stop, epoll;
	pthread_t thread;
	bool runs;
};

static int watch(struct relief *relief, struct fail *why)
{
	const int fds[] = {relief->late, relief->stop, sideband_poll_fd(relief->sideband)};

	if (relief->epoll < 0 || relief->late < 0 || relief->stop < 0)
		return fail_errno(why, -errno, NULL, "cannot wait for a slow recorder");
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};

		if (epoll_ctl(relief->epoll, EPOLL_CTL_ADD, fds[i], &event))
			return fail_errno(why, -errno, NULL, "cannot wait for a slow recorder");
	}
	return 0;
}

/* False: it is to stop. */
static bool await(struct relief *relief, bool *is_late)
{
	struct epoll_event events[4];
	int n = epoll_wait(relief->epoll, events, 4, -1);
	uint64_t times;

	*is_late = false;
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == relief->stop)
			return false;
		/* it may have been set anew meanwhile */
		if (events[i].data.fd == relief->late)
			*is_late = read(relief->late, &times, sizeof(times)) == sizeof(times);
	}
	return n >= 0 || errno == EINTR;
}

static void *empty(void *context)
{
	struct relief *relief = context;
	bool is_late;

	pthread_setname_np(pthread_self(), "relief");
	/* all that it needs is open */
	privileges_drop_here();
	while (await(relief, &is_late)) {
		sideband_relieve(relief->sideband);
		if (is_late)
			rings_relieve(relief->rings);
	}
	return NULL;
}

static int start(struct relief *relief, struct fail *why)
{
	int err = thread_spawn(&relief->thread, empty, relief);

	relief->runs = !err;
	return err ? fail_errno(why, err, NULL, "cannot start a thread") : 0;
}

int relief_new(struct rings *rings, struct sideband *sideband, struct relief **result,
	       struct fail *why)
{
	struct relief *relief = calloc(1, sizeof(*relief));
	int err;

	if (!relief)
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	relief->rings = rings;
	relief->sideband = sideband;
	relief->epoll = epoll_create1(EPOLL_CLOEXEC);
	relief->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	relief->late = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(relief, why);
	if (!err)
		err = start(relief, why);
	if (err)
		relief_free(relief);
	else
		*result = relief;
	return err;
}

void relief_free(struct relief *relief)
{
	if (!relief)
		return;
	if (relief->runs) {
		eventfd_write(relief->stop, 1);
		pthread_join(relief->thread, NULL);
	}
	if (relief->epoll >= 0)
		close(relief->epoll);
	if (relief->stop >= 0)
		close(relief->stop);
	if (relief->late >= 0)
		close(relief->late);
	free(relief);
}

void relief_expect(struct relief *relief, uint64_t ns)
{
	struct itimerspec when = {
		.it_interval.tv_nsec = AGAIN_NS,
		.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)},
	};

	if (relief)
		timerfd_settime(relief->late, 0, &when, NULL);
}
