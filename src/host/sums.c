// SPDX-License-Identifier: Apache-2.0
#include "host/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/say.h"
#include "store/fleet/export.h"

/*
 * The hour that is not over is sent again each time. Where ClickHouse is away it is asked soon, and
 * then less often.
 */
enum {
	PAUSE_MS = 300000,
	RETRY_MS = 10000,
};

struct sums_sender {
	struct fleet *fleet;
	struct fleet_export *export;
	pthread_t thread;
	int end; /* eventfd: it is to end */
	atomic_bool stop;
	bool failed, is_first_done;
	int pause; /* ms */
	uint64_t lost;
};

static void report_lost(struct sums_sender *s)
{
	uint64_t lost = fleet_sent(s->fleet).lost;

	if (lost > s->lost)
		host_say("ClickHouse was away for too long: the sums of %" PRIu64
			 " samples were lost, as their films were removed meanwhile",
			 lost - s->lost);
	s->lost = lost;
}

static void send_sums(struct sums_sender *s)
{
	struct fail why = {0};
	int err = fleet_export_round(s->export, clock_wall(), &why);

	report_lost(s);
	/* it ends; or the index was just made anew */
	if (err == -ECANCELED || err == -EAGAIN) {
		s->pause = RETRY_MS;
		return;
	}
	if (err) {
		if (!s->failed)
			host_say_fail(&why, "; sums wait until it works");
		s->pause = !s->failed		     ? RETRY_MS
			   : s->pause < PAUSE_MS / 2 ? 2 * s->pause
						     : PAUSE_MS;
		s->failed = true;
		return;
	}
	if (s->failed || !s->is_first_done)
		host_say("ClickHouse has all sums of this store");
	s->is_first_done = true;
	s->failed = false;
	s->pause = PAUSE_MS;
}

static void *run(void *context)
{
	struct sums_sender *s = context;
	struct pollfd end = {.fd = s->end, .events = POLLIN};

	pthread_setname_np(pthread_self(), "sums");
	do
		send_sums(s);
	while (poll(&end, 1, s->pause) <= 0);
	return NULL;
}

int sums_sender_start(struct store *store, struct sums_sender **result, struct fail *why)
{
	struct sums_sender *s;
	int err;

	*result = NULL;
	if (!store_fleet(store))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail_errno(why, -ENOMEM, NULL, "cannot start a thread");
	s->fleet = store_fleet(store);
	s->end = -1;
	err = fleet_export_new(store, &s->stop, &s->export, why);
	if (!err) {
		s->end = eventfd(0, EFD_CLOEXEC);
		err = s->end < 0 ? -errno : -pthread_create(&s->thread, NULL, run, s);
		if (err)
			fail_errno(why, err, NULL, "cannot start a thread");
	}
	if (!err) {
		*result = s;
		return 0;
	}
	if (s->end >= 0)
		close(s->end);
	fleet_export_free(s->export);
	free(s);
	return err;
}

void sums_sender_stop(struct sums_sender *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	eventfd_write(s->end, 1);
}

void sums_sender_free(struct sums_sender *s)
{
	if (!s)
		return;
	sums_sender_stop(s);
	pthread_join(s->thread, NULL);
	close(s->end);
	fleet_export_free(s->export);
	free(s);
}
