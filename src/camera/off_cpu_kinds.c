// SPDX-License-Identifier: Apache-2.0
#include "camera/off_cpu_kinds.h"

#include <stddef.h>
#include <sys/syscall.h>

/* System calls whose waits are told by their number; the others may wait for anything. */
static const struct {
	long call;
	enum off_cpu_kind kind;
} calls[] = {
	{SYS_epoll_wait, OFF_CPU_NEW_WORK},
	{SYS_epoll_pwait, OFF_CPU_NEW_WORK},
	{SYS_epoll_pwait2, OFF_CPU_NEW_WORK},
	{SYS_poll, OFF_CPU_NEW_WORK},
	{SYS_ppoll, OFF_CPU_NEW_WORK},
	{SYS_select, OFF_CPU_NEW_WORK},
	{SYS_pselect6, OFF_CPU_NEW_WORK},
	{SYS_accept, OFF_CPU_NEW_WORK},
	{SYS_accept4, OFF_CPU_NEW_WORK},
	{SYS_io_getevents, OFF_CPU_NEW_WORK},
	{SYS_io_pgetevents, OFF_CPU_NEW_WORK},
	{SYS_io_uring_enter, OFF_CPU_NEW_WORK},
	{SYS_rt_sigtimedwait, OFF_CPU_NEW_WORK},
	{SYS_rt_sigsuspend, OFF_CPU_NEW_WORK},
	{SYS_pause, OFF_CPU_NEW_WORK},
	{SYS_nanosleep, OFF_CPU_SLEEP},
	{SYS_clock_nanosleep, OFF_CPU_SLEEP},
	{SYS_wait4, OFF_CPU_CHILD},
	{SYS_waitid, OFF_CPU_CHILD},
	{SYS_futex, OFF_CPU_FUTEX},
#ifdef SYS_futex_waitv
	{SYS_futex_waitv, OFF_CPU_FUTEX},
#endif
};

static enum off_cpu_kind kind_of_call(long call)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].call == call)
			return calls[i].kind;
	return OFF_CPU_OTHER;
}

enum off_cpu_kind off_cpu_kind(const struct off_cpu_wait *wait, bool is_kernel_thread)
{
	if (!(wait->state & OFF_CPU_STATE_ANY))
		return OFF_CPU_READY;
	if (wait->is_frozen ||
	    wait->state & (OFF_CPU_STATE_STOPPED | OFF_CPU_STATE_TRACED | OFF_CPU_STATE_FROZEN))
		return OFF_CPU_STOPPED;
	if (wait->in_iowait)
		return wait->call < 0 && !is_kernel_thread ? OFF_CPU_FAULT : OFF_CPU_DISK;
	/* one that waits for work, not for what it has asked for */
	if (is_kernel_thread)
		return wait->state & OFF_CPU_STATE_NO_LOAD || wait->state & OFF_CPU_STATE_SLEEPS
			       ? OFF_CPU_NEW_WORK
			       : OFF_CPU_OTHER;
	if (wait->call < 0)
		return OFF_CPU_FAULT;
	return kind_of_call(wait->call);
}

bool off_cpu_is_idle(enum off_cpu_kind kind)
{
	return kind == OFF_CPU_NEW_WORK || kind == OFF_CPU_STOPPED;
}
