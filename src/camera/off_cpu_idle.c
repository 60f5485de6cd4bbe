// SPDX-License-Identifier: Apache-2.0
#include "camera/off_cpu_idle.h"

#include <stddef.h>
#include <sys/syscall.h>

/* System calls that wait for something to be done; others may wait for anything. */
static const long calls[] = {
	SYS_epoll_wait,	   SYS_epoll_pwait,	SYS_epoll_pwait2,  SYS_poll,
	SYS_ppoll,	   SYS_select,		SYS_pselect6,	   SYS_accept,
	SYS_accept4,	   SYS_io_getevents,	SYS_io_pgetevents, SYS_io_uring_enter,
	SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_pause,
};

bool off_cpu_is_idle(const struct off_cpu_wait *wait)
{
	if (!(wait->state & OFF_CPU_STATE_ANY))
		return false;
	if (wait->is_frozen ||
	    wait->state & (OFF_CPU_STATE_STOPPED | OFF_CPU_STATE_TRACED | OFF_CPU_STATE_FROZEN))
		return true;
	if (wait->in_iowait)
		return false;
	if (wait->is_kernel_thread)
		return wait->state & (OFF_CPU_STATE_NO_LOAD | OFF_CPU_STATE_SLEEPS);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (wait->call == calls[i])
			return true;
	return false;
}
