// SPDX-License-Identifier: Apache-2.0
#include "host/until.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/notify.h"

#define MILLISECOND_NS 1000000u

int until_block_signals(struct fail *why)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? fail_errno(why, -errno, NULL, "cannot wait for signals") : fd;
}

void until_let_signals_end(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* The recorder's own time goes on if it lives: it looks at its rings some times a second. */
static void feed_watchdog(struct recorder *recorder, double *pulse)
{
	struct recorder_state state;

	if (recorder) {
		recorder_state(recorder, &state);
		if (state.cpu_seconds <= *pulse)
			return;
		*pulse = state.cpu_seconds;
	}
	notify("WATCHDOG=1");
}

/* How long poll() may wait, in ms. */
static int time_left(const struct until *until, uint64_t passed, uint64_t watchdog)
{
	uint64_t left = watchdog ? watchdog / 3 : UINT64_MAX;

	if (until->duration && until->duration - passed < left)
		left = until->duration - passed;
	if (left == UINT64_MAX)
		return -1;
	left = left / MILLISECOND_NS + 1;
	return left < INT_MAX ? (int)left : INT_MAX;
}

int until_end(const struct until *until)
{
	struct pollfd fds[] = {{.fd = until->signals, .events = POLLIN},
			       {.fd = recorder_ended(until->recorder), .events = POLLIN},
			       {.fd = until->beside, .events = POLLIN}};
	const uint64_t watchdog = notify_watchdog(), begin = clock_ns();
	struct signalfd_siginfo signal;
	double pulse = 0;

	for (;;) {
		uint64_t passed = clock_ns() - begin;
		int count;

		if (until->duration && passed >= until->duration)
			return 0;
		count = poll(fds, sizeof(fds) / sizeof(fds[0]), time_left(until, passed, watchdog));
		if (count < 0 && errno != EINTR)
			return -errno;
		if (watchdog)
			feed_watchdog(until->recorder, &pulse);
		/* why, recorder_join() says */
		if (count > 0 && fds[1].revents)
			return 0;
		if (count > 0 && fds[2].revents) {
			fds[2].fd = -1;
			until->beside_ended(until->context);
		}
		if (count <= 0 || !fds[0].revents ||
		    read(until->signals, &signal, sizeof(signal)) != sizeof(signal))
			continue;
		if (signal.ssi_signo != SIGHUP)
			return 0;
		until->reload(until->context);
	}
}
