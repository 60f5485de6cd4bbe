// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/off_cpu_row.h"

static bool is_in_order(const struct off_cpu_wait *wait)
{
	return (!(wait->reports & OFF_CPU_REPORTS_WAIT) || wait->out <= wait->woken) &&
	       (!(wait->reports & OFF_CPU_REPORTS_READY) || wait->woken <= wait->in);
}

const struct off_cpu_wait *off_cpu_wait_of(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	size_t behind = sizeof(*record) + frames * sizeof(uint64_t);
	const struct off_cpu_wait *wait =
		(const struct off_cpu_wait *)((const uint64_t *)(record + 1) + frames);

	if (record->head.size < behind + sizeof(*wait) ||
	    record->head.size != behind + off_cpu_words(wait) * sizeof(uint64_t))
		return NULL;
	return is_in_order(wait) ? wait : NULL;
}

static uint8_t state_of(const struct off_cpu_wait *wait)
{
	uint32_t state = wait->state;

	if (!(state & OFF_CPU_STATE_ANY))
		return FILM_WAIT_READY;
	/* these count as frozen, too */
	if (state & OFF_CPU_STATE_STOPPED)
		return FILM_WAIT_STOPPED;
	if (state & OFF_CPU_STATE_TRACED)
		return FILM_WAIT_TRACED;
	if (wait->is_frozen || state & OFF_CPU_STATE_FROZEN)
		return FILM_WAIT_FROZEN;
	if (state & OFF_CPU_STATE_NO_LOAD)
		return FILM_WAIT_IDLE;
	return state & OFF_CPU_STATE_BLOCKED ? FILM_WAIT_BLOCKED : FILM_WAIT_SLEEPS;
}

uint8_t off_cpu_context(uint8_t waker_context)
{
	static const uint8_t contexts[] = {
		[OFF_CPU_BY_NOBODY] = FILM_WAIT_BY_NONE,
		[OFF_CPU_BY_THREAD] = FILM_WAIT_BY_THREAD,
		[OFF_CPU_BY_INTERRUPT] = FILM_WAIT_BY_INTERRUPT,
		[OFF_CPU_BY_SOFTIRQ] = FILM_WAIT_BY_SOFTIRQ,
		[OFF_CPU_BY_UNKNOWN] = FILM_WAIT_BY_EITHER,
		[OFF_CPU_BY_TIMER] = FILM_WAIT_BY_TIMER,
	};

	return waker_context < sizeof(contexts) ? contexts[waker_context] : FILM_WAIT_BY_NONE;
}

static uint8_t descriptor_of(const struct off_cpu_wait *wait)
{
	static const uint8_t kinds[] = {
		[OFF_CPU_FD_NONE] = FILM_FD_NONE,
		[OFF_CPU_FD_FILE] = FILM_FD_FILE,
		[OFF_CPU_FD_DIRECTORY] = FILM_FD_DIRECTORY,
		[OFF_CPU_FD_BLOCK_DEVICE] = FILM_FD_BLOCK_DEVICE,
		[OFF_CPU_FD_DEVICE] = FILM_FD_DEVICE,
		[OFF_CPU_FD_PIPE] = FILM_FD_PIPE,
		[OFF_CPU_FD_SOCKET] = FILM_FD_SOCKET,
		[OFF_CPU_FD_UNIX_SOCKET] = FILM_FD_UNIX_SOCKET,
		[OFF_CPU_FD_EVENT] = FILM_FD_EVENT,
		[OFF_CPU_FD_TIMER] = FILM_FD_TIMER,
		[OFF_CPU_FD_SIGNAL] = FILM_FD_SIGNAL,
		[OFF_CPU_FD_EPOLL] = FILM_FD_EPOLL,
		[OFF_CPU_FD_NOTIFY] = FILM_FD_NOTIFY,
		[OFF_CPU_FD_PROCESS] = FILM_FD_PROCESS,
		[OFF_CPU_FD_IO_URING] = FILM_FD_IO_URING,
		[OFF_CPU_FD_OTHER] = FILM_FD_OTHER,
		[OFF_CPU_FD_PATH] = FILM_FD_PATH,
	};

	return wait->descriptor < sizeof(kinds) ? kinds[wait->descriptor] : FILM_FD_NONE;
}

struct film_wait off_cpu_evidence(const struct off_cpu_wait *wait)
{
	return (struct film_wait){
		.count = 1,
		.call = wait->call >= 0 && wait->call < UINT16_MAX ? (uint16_t)(wait->call + 1) : 0,
		.state = state_of(wait),
		.descriptor = descriptor_of(wait),
		.flags = (wait->in_iowait ? FILM_WAIT_IOWAIT : 0u) |
			 (wait->is_kernel_thread ? FILM_WAIT_KERNEL : 0u),
	};
}

struct film_wait off_cpu_row(const struct off_cpu_wait *wait, const struct samples_place *place)
{
	struct film_wait row = off_cpu_evidence(wait);

	row.thread = place->thread;
	row.stack = place->stack;
	for (int i = 0; row.call && i < FILM_WAIT_ARGUMENTS; i++)
		row.arguments[i] = wait->arguments[i];
	return row;
}
